//go:build linux

package builtin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestTheBuiltinAgentUsesTheToolsOfItsTask(t *testing.T) {
	t.Parallel()
	srv, url := newFakeServer(t)
	l := newLoop(t, "openai", calls("add_comment", `{"taskId":7,"content":"hm"}`),
		calls("complete_task", `{"taskId":7,"summary":"The gate is built."}`))
	spec := newSpec(t)
	spec.URL = url
	out, r := l.play(t, spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if out.Summary != "The gate is built." {
		t.Errorf("got the summary %q", out.Summary)
	}
	t.Run("no closing turn follows the completion", func(t *testing.T) {
		if n := len(l.server.Turns()); n != 2 {
			t.Errorf("got %d turns", n)
		}
	})
	t.Run("it is offered only those of its task", func(t *testing.T) {
		if got := strings.Join(l.server.Turns()[0].Tools, " "); got != "read create complete_task add_comment" {
			t.Errorf("got the tools %s", got)
		}
	})
	t.Run("it calls them with the token of the run", func(t *testing.T) {
		want := "Bearer ty_token-of-this-run profile=core tools/list\n" +
			`Bearer ty_token-of-this-run  tools/call add_comment {"taskId":7,"content":"hm"}` + "\n" +
			`Bearer ty_token-of-this-run  tools/call complete_task {"taskId":7,"summary":"The gate is built."}`
		if got := strings.Join(srv.asked, "\n"); got != want {
			t.Errorf("got the requests\n%s", got)
		}
	})
	t.Run("what the server refuses is reported", func(t *testing.T) {
		if got := r.Texts(supervise.EventToolResult); got[0] != "Task 7 is archived" {
			t.Errorf("got the results %q", got)
		}
	})
}

func TestACallThatWasCutBeforeItsArgumentsIsNotMade(t *testing.T) {
	t.Parallel()
	srv, url := newFakeServer(t)
	cut := calls("complete_task", " ")
	cut.Stop = "length"
	l := newLoop(t, "anthropic", cut, modeltest.Step{Text: "Not done yet."}, modeltest.Step{Text: "Not done."})
	spec := newSpec(t)
	spec.URL = url
	_, r := l.play(t, spec)
	if len(srv.asked) != 1 {
		t.Errorf("got the requests\n%s", strings.Join(srv.asked, "\n"))
	}
	if got := r.Texts(supervise.EventToolResult); len(got) != 1 || !strings.Contains(got[0], "no JSON object") {
		t.Errorf("got the results %q", got)
	}
}

func TestAnAgentThatMayDelegateIsOfferedTheTools(t *testing.T) {
	t.Parallel()
	srv, url := newFakeServer(t)
	l := newLoop(t, "openai", modeltest.Step{Text: "Done."}, modeltest.Step{Text: "Done."})
	spec := newSpec(t)
	spec.URL, spec.Plan.Tools = url, []string{"task"}
	l.play(t, spec)
	if got := strings.Join(l.server.Turns()[0].Tools, " "); got != "complete_task task add_comment" {
		t.Errorf("got the tools %s", got)
	}
	if !strings.Contains(srv.asked[0], "profile= ") {
		t.Errorf("got the requests %q", srv.asked)
	}
}

func TestAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	t.Run("fails the run if it does not list its tools", func(t *testing.T) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "closed", http.StatusServiceUnavailable)
		}))
		t.Cleanup(srv.Close)
		l, spec := newLoop(t, "openai"), newSpec(t)
		spec.URL = srv.URL
		out, _ := l.play(t, spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "The tools of the server could not be listed: it answered 503 Service Unavailable: closed")
	})
	t.Run("is reported to the model if it does not accept a call", func(t *testing.T) {
		srv, url := newFakeServer(t)
		srv.reply["complete_task"] = "broken"
		l, spec := newLoop(t, "openai", calls("complete_task", `{"taskId":7}`), modeltest.Step{Text: "Done."}, modeltest.Step{Text: "Done."}),
			newSpec(t)
		spec.URL = url
		out, r := l.play(t, spec)
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if got := r.Texts(supervise.EventToolResult); len(got) != 1 || !strings.HasPrefix(got[0], "the server did not accept the call") {
			t.Errorf("got the results %q", got)
		}
	})
}
