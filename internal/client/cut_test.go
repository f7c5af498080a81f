package client

import (
	"bytes"
	"strings"
	"testing"
)

func TestCutOutputIsReportedOnStderr(t *testing.T) {
	t.Parallel()
	list := `{"tasks":[{"id":"1","title":"a","owner":"x","status":"active"}],"runs":[],"messages":[{"id":"9","role":"assistant","type":"text","content":"abc","contentCut":7}],"events":[],"items":["a"],"ok":true,"next":"abc","cutBySize":true}`
	answers := map[string]string{
		"GET /api/tasks": list, "GET /api/tasks/history": list, "GET /api/runs": list, "GET /api/runs/7/messages": list, "GET /api/events": list,
		"GET /api/agents/x/queue": list, "GET /api/tasks/42": `{"id":"42","title":"a","status":"done","cut":["comments","details"]}`,
	}
	for name, c := range map[string]struct {
		cmd  interface{ Run(e *Env) error }
		want []string
	}{
		"tasks":       {&TaskList{}, []string{"was cut off", "1 MiB", "abc"}},
		"history":     {&TaskHistory{}, []string{"was cut off", "abc"}},
		"queue":       {&AgentQueue{OneAgent: OneAgent{"x"}}, []string{"was cut off", "abc"}},
		"runs":        {&RunList{}, []string{"was cut off", "abc"}},
		"transcripts": {&RunLog{OneRun: OneRun{"7"}}, []string{"was cut off", "abc"}},
		"events":      {&Events{}, []string{"was cut off", "abc"}},
		"a task":      {&TaskShow{OneTask{"42"}}, []string{"task 42", "comments, details", "/api/tasks/42/comments", "/api/tasks/42/steps/N"}},
	} {
		for _, asJSON := range []bool{false, true} {
			e, out := onPaper(t, answers)
			var errs bytes.Buffer
			e.Stderr, e.JSON = &errs, asJSON
			if err := c.cmd.Run(e); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, w := range c.want {
				if !strings.Contains(errs.String(), w) {
					t.Errorf("%s, json %t: no %q in %q", name, asJSON, w, errs.String())
				}
			}
			if asJSON && !strings.Contains(out.String(), `"cut`) {
				t.Errorf("%s: the field is missing: %s", name, out)
			}
			if !asJSON && name == "transcripts" && !strings.Contains(errs.String(), "/api/runs/7/messages/9?from=3") {
				t.Errorf("the cut line is not reported: %s", errs.String())
			}
		}
	}
	e, _ := onPaper(t, map[string]string{"GET /api/tasks": `{"tasks":[],"next":"abc"}`})
	var errs bytes.Buffer
	e.Stderr = &errs
	if err := (&TaskList{}).Run(e); err != nil || strings.Contains(errs.String(), "early") {
		t.Errorf("a full page is reported as cut: %v %s", err, errs.String())
	}
}
