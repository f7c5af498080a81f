package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// asker is a sink that can ask; ask is what happens then.
type asker struct {
	nobody
	ask func(PermissionRequest) (PermissionAnswer, error)
}

func (a asker) Permit(_ context.Context, req PermissionRequest) (PermissionAnswer, error) {
	return a.ask(req)
}

func TestClocksStandStillWhileAPersonIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStopper()
		begin := time.Now()
		time.Sleep(10 * time.Second)
		sink := asker{ask: func(req PermissionRequest) (PermissionAnswer, error) {
			if req.Tool != "bash" {
				t.Errorf("asked for %q", req.Tool)
			}
			time.Sleep(time.Hour)
			if left, wait := st.wallLeft(begin, time.Minute); left != 50*time.Second || !wait {
				t.Errorf("while it waits %v are left, standing %v", left, wait)
			}
			if d := st.holds.idle(time.Hour); d != 0 {
				t.Errorf("idle for %v while it waits", d)
			}
			return PermissionAnswer{Allow: true}, nil
		}}
		a, err := st.permit(t.Context(), sink, PermissionRequest{Tool: "bash"})
		if err != nil || !a.Allow {
			t.Fatalf("%+v, %v", a, err)
		}
		time.Sleep(20 * time.Second)
		if left, wait := st.wallLeft(begin, time.Minute); left != 30*time.Second || wait {
			t.Errorf("afterwards %v are left, standing %v", left, wait)
		}
		if d := st.holds.idle(time.Hour + 20*time.Second); d != 20*time.Second {
			t.Errorf("idle for %v, want what came after the wait", d)
		}
	})
}

func TestASinkThatCannotAskIsAnError(t *testing.T) {
	if _, err := newStopper().permit(t.Context(), nobody{}, PermissionRequest{Tool: "bash"}); err == nil {
		t.Error("no error")
	}
}
