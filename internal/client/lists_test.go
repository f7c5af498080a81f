package client

import (
	"bytes"
	"strings"
	"testing"

	"taskyard/task"
)

func TestTheListOfAgentsSaysWhatTheirRunnersEnforce(t *testing.T) {
	t.Parallel()
	runners := []task.RunnerInfo{
		{Name: "claude", Installed: true, ProbedAt: 1, EnforcesTools: true},
		{Name: "script", Installed: true, ProbedAt: 1},
		{Name: "gone", ProbedAt: 1},
	}
	const gap = "It can read every file."
	for want, a := range map[string]agentLine{
		"pull-only":                {Agent: task.Agent{Runner: "none", PullOnly: true}},
		"claude":                   {Agent: task.Agent{Runner: "claude"}},
		"claude (partly enforced)": {Agent: task.Agent{Runner: "claude"}, EnforcementGap: gap},
		"script (not enforced)":    {Agent: task.Agent{Runner: "script"}, EnforcementGap: gap},
		"gone (not ready)":         {Agent: task.Agent{Runner: "gone"}, EnforcementGap: gap},
	} {
		if got := a.runner(runners); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAQuietListPrintsOnlyIDs(t *testing.T) {
	t.Parallel()
	c, _, _ := answering(t, 200, "application/json",
		`{"runs":[{"id":"7","taskId":"2","status":"completed","phase":"ended"},{"id":"5","taskId":"1","status":"canceled","phase":"by"}]}`)
	for quiet, want := range map[bool]string{
		true:  "7\n5\n",
		false: "RUN  STATE      TASK  AGENT  CAUSE  CREATED  TITLE\n7    completed  #2\n5    canceled   #1\n",
	} {
		var out bytes.Buffer
		e := &Env{Ctx: t.Context(), Stdout: &out, client: c}
		if err := (&RunList{Quiet: Quiet{quiet}}).Run(e); err != nil || out.String() != want {
			t.Errorf("quiet %v: got %q, %v; want %q", quiet, out.String(), err, want)
		}
	}
}

func TestTheMergeQueueShowsAReasonOnOneLine(t *testing.T) {
	t.Parallel()
	e, out := onPaper(t, map[string]string{"GET /api/merges": `{"queue":[],"ended":[{"id":"3","taskId":"2","taskTitle":"Fix it",
"state":"failed","reason":"check test failed:\n\n  exit status 1\n"}]}`})
	if err := (&MergeList{}).Run(e); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "Fix it: check test failed: exit status 1\n") {
		t.Errorf("%q", out)
	}
}

func TestFurtherLinesOfARefusalAreIndented(t *testing.T) {
	t.Parallel()
	err := &ResponseError{Status: 409, Code: "run_ended", Detail: "run 7 is failed: exit status 1\nno such file\n"}
	if got, want := err.Error(), "run 7 is failed: exit status 1\n  no such file (409 run_ended)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheInboxListsMergesThatWait(t *testing.T) {
	t.Parallel()
	e, out := onPaper(t, map[string]string{"GET /api/inbox": `{"alerts":[{"job":"merge","text":"#2 into main: no such repository",
"at":"2026-01-02T03:04:05Z"},{"job":"backup","text":"disk full","at":"2026-01-02T03:04:05Z"}],"totals":{}}`})
	if err := (InboxList{}).Run(e); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "a merge waits (2026-01-02T03:04:05") || !strings.Contains(got, "#2 into main: no such") ||
		!strings.Contains(got, "the last scheduled backup failed") {
		t.Errorf("%q", got)
	}
}

func TestATranscriptShowsUsageAndTheArgumentsOfCalls(t *testing.T) {
	t.Parallel()
	const when = `"createdAt":"2026-01-02T03:04:05Z"`
	e, out := onPaper(t, map[string]string{"GET /api/runs/7/messages": `{"messages":[
{"id":"1","role":"system","type":"usage","content":"","data":{"tokensIn":1200,"tokensOut":80,"costUsd":0.0123,"estimated":true},` + when + `},
{"id":"2","role":"agent","type":"tool_call","content":"read","data":{"id":"a","tool":"read","input":{"path":"main.go", "from":1}},` + when + `},
{"id":"3","role":"agent","type":"tool_call","content":"look","data":{"arguments":"{\"n\":1}"},` + when + `},
{"id":"4","role":"agent","type":"tool_call","content":"todo_lpop","data":{"input":{}},` + when + `},
{"id":"5","role":"system","type":"usage","content":"3 turns","data":{"tokensIn":5},` + when + `},
{"id":"6","role":"system","type":"usage","content":"",` + when + `}]}`})
	if err := (&RunLog{OneRun: OneRun{"7"}}).Run(e); err != nil {
		t.Fatal(err)
	}
	const want = `TIME system usage
  ≈1200 tokens in, ≈80 out, ≈$0.01
TIME agent tool_call
  read {"path":"main.go","from":1}
TIME agent tool_call
  look {"n":1}
TIME agent tool_call
  todo_lpop
TIME system usage
  3 turns
`
	if got := strings.ReplaceAll(out.String(), at(task.Time(1767323045000)), "TIME"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestUsageHasTitlesOnlyPerTask(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{
		"day":  "DAY    RUNS  CALLS  TOKENS IN  OUT  COST\nx      1     0      0          0    $0.00\ntotal  1     0      0          0    $0.00\n",
		"task": "TASK   RUNS  CALLS  TOKENS IN  OUT  COST   TITLE\nx      1     0      0          0    $0.00  Fix it\ntotal  1     0      0          0    $0.00\n",
	} {
		title := map[string]string{"task": `"title":"Fix it",`}[by]
		e, out := onPaper(t, map[string]string{"GET /api/usage": `{"rows":[{"key":"x",` + title + `"runs":1}],"total":{"key":"total","runs":1}}`})
		if err := (&UsageReport{By: by}).Run(e); err != nil || out.String() != want {
			t.Errorf("%s: got %q, %v; want %q", by, out.String(), err, want)
		}
	}
}

func TestAnInboxWithAWaitingMergeIsNotEmpty(t *testing.T) {
	t.Parallel()
	const alert = `"alerts":[{"job":"merge","at":"2026-07-01T12:00:00.000Z","text":"#8 into main: its index is locked"}],`
	for alerts, want := range map[string]string{
		alert: "a merge waits (2026-07-01T12:00:00.000Z): #8 into main: its index is locked\n",
		"":    "nothing is waiting for people\n",
	} {
		e, out := onPaper(t, map[string]string{"GET /api/inbox": `{` + alerts + `"totals":{}}`})
		if err := (InboxList{}).Run(e); err != nil || out.String() != want {
			t.Errorf("%q, %v; want %q", out.String(), err, want)
		}
	}
}
