package client

import (
	"bytes"
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
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAQuietListIsItsIDs(t *testing.T) {
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
			t.Errorf("%v: %q, %v; want %q", quiet, out.String(), err, want)
		}
	}
}
