package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
	"taskyard/service"
	"taskyard/task"
)

type permitted struct {
	answer supervise.PermissionAnswer
	err    error
}

// requestPermission asks for a tool call, as a runner does.
func (f *manualRun) requestPermission(tool string) <-chan permitted {
	got := make(chan permitted, 1)
	go func() {
		request := supervise.PermissionRequest{Tool: tool, Input: json.RawMessage(`{"command":"make"}`)}
		a, err := f.sink.(supervise.Permitter).Permit(f.ctx, request)
		got <- permitted{a, err}
	}()
	return got
}

func TestPeopleAnswerARunnersPermissionRequests(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{})
	inst.create("coder")
	f := inst.next()
	f.sink.Event(supervise.Event{Type: supervise.EventText, Text: "I will build it."})
	got := f.requestPermission("bash")
	r := inst.awaitRun(f.RunID, "running/permission")
	t.Run("earlier output comes before the request in the transcript", func(t *testing.T) {
		var types []string
		for _, m := range inst.transcript(f.RunID) {
			types = append(types, m.Type)
		}
		if n := len(types); n < 2 || types[n-1] != "permission" || types[n-2] != supervise.EventText {
			t.Errorf("got transcript %v", types)
		}
	})
	t.Run("a second request waits for the first", func(t *testing.T) {
		second := f.requestPermission("edit")
		decide(t, inst, r, "")
		if p := <-got; p.err != nil || !p.answer.Allow {
			t.Fatalf("got %+v", p)
		}
		testkit.EventuallyWithin(inst.t, patience, "the second request is pending", func() bool { r = inst.run(f.RunID); return r.Permission != nil && r.Permission.Tool == "edit" })
		if _, err := inst.svc.DenyPermission(t.Context(), maya, r.ID, r.Permission.N, "no edits"); err != nil {
			t.Fatal(err)
		}
		if p := <-second; p.err != nil || p.answer.Allow || p.answer.Message != "A person denied this call: no edits" {
			t.Fatalf("got %+v", p)
		}
	})
	t.Run("permission for the whole run is requested once", func(t *testing.T) {
		got := f.requestPermission("bash")
		decide(t, inst, inst.awaitRun(f.RunID, "running/permission"), task.ScopeRun)
		for _, c := range []<-chan permitted{got, f.requestPermission("bash"), f.requestPermission("bash")} {
			if p := <-c; p.err != nil || !p.answer.Allow {
				t.Fatalf("got %+v", p)
			}
		}
	})
	f.complete()
	inst.awaitRun(f.RunID, "completed/ended")
}

func decide(t *testing.T, inst *instance, r *task.Run, scope task.Scope) {
	t.Helper()
	if _, err := inst.svc.AllowPermission(t.Context(), maya, r.ID, r.Permission.N, scope); err != nil {
		t.Fatal(err)
	}
}

func TestARunCanceledWhileItAsksGetsNoAnswer(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{})
	inst.create("coder")
	f := inst.next()
	got := f.requestPermission("bash")
	r := inst.awaitRun(f.RunID, "running/permission")
	if _, err := inst.svc.CancelRun(context.Background(), maya, r.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	p := <-got
	if p.err == nil || p.answer.Allow || !errors.Is(p.err, supervise.ErrCanceled) &&
		!task.IsCode(p.err, task.CodeRunEnded) && !errors.Is(p.err, context.Canceled) {
		t.Fatalf("got %+v", p)
	}
	f.finish(stoppedBy(f))
}

func TestAPermissionThatNobodyDecidesIsDenied(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{cfg: func(c *service.Config) { c.ApprovalExpires = 1 }}) // a nanosecond: at once
	inst.create("coder")
	f := inst.next()
	got := f.requestPermission("bash")
	inst.awaitRun(f.RunID, "running/permission")
	if err := inst.jobs.RunJob("approvals"); err != nil {
		t.Fatal(err)
	}
	if p := <-got; p.err != nil || p.answer.Allow || p.answer.Message == "" {
		t.Fatalf("got %+v", p)
	}
	// Time limits are paused while people are asked, so a program that asks again and
	// again would never end.
	if p := <-f.requestPermission("bash"); p.err != nil || p.answer.Allow || !strings.Contains(p.answer.Message, "an earlier call") {
		t.Errorf("request after one that nobody decided: got %+v", p)
	}
	f.complete()
}
