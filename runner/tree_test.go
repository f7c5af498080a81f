//go:build linux

package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/tree"
	"taskyard/task"
)

// cancelAt returns a context that is canceled, with the cause, by an event
// whose text is word.
func cancelAt(t *testing.T, word string, cause error) (context.Context, *recorder) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, &recorder{on: func(e Event) {
		if e.Text == word {
			cancel(cause)
		}
	}}
}

func TestCauseOfAStopDecidesTheOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		cause  error
		phase  task.Phase
		reason string
	}{
		{"canceled by somebody", fmt.Errorf("%w by maya", ErrCanceled), task.PhaseBy, "canceled by maya"},
		{"the task was closed", ErrTaskClosed, task.PhaseTaskClosed, "closed"},
		{"the server stops", ErrShutdown, task.PhaseShutdown, "stopping"},
		{"a plain cancel counts as a stop of the server", nil, task.PhaseShutdown, "stopping"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := cancelAt(t, "ready", tt.cause)
			out := runWith(t, ctx, sh("echo ready; sleep 600"), newSpec(t), r)
			wantState(t, out, task.RunCanceled, tt.phase, tt.reason)
		})
	}
	t.Run("a context that is over starts nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ErrTaskClosed)
		r := &recorder{start: func(Process) error { t.Error("started"); return nil }}
		wantState(t, runWith(t, ctx, sh("echo ready"), newSpec(t), r), task.RunCanceled, task.PhaseTaskClosed, "")
	})
}

// signalShim sends a signal to the shim of a run.
func signalShim(t *testing.T, r *recorder, sig syscall.Signal) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := syscall.Kill(r.process.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

func TestStopEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	t.Run("a program that is deaf to TERM is killed", func(t *testing.T) {
		ctx, r := cancelAt(t, "ready", ErrCanceled)
		wantState(t, runWith(t, ctx, play("deaf"), newSpec(t), r), task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a program that hears TERM may end in order", func(t *testing.T) {
		ctx, r := cancelAt(t, "ready", ErrCanceled)
		c := sh(`trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.1; done`)
		c.Grace = deadline / 2
		wantState(t, runWith(t, ctx, c, newSpec(t), r), task.RunCanceled, task.PhaseBy, "")
		if got := strings.Join(r.texts(EventText), " "); got != "ready bye" {
			t.Errorf("text %q", got)
		}
	})
	t.Run("a stopped program is ended", func(t *testing.T) {
		ctx, r := cancelAt(t, "ready", ErrCanceled)
		wantState(t, runWith(t, ctx, sh("echo ready; kill -STOP $$"), newSpec(t), r), task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a process in another session without parent and environment is ended", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &recorder{on: func(e Event) {
			if strings.HasPrefix(e.Text, "self ") {
				cancel(ErrCanceled)
			}
		}}
		wantState(t, runWith(t, ctx, play("daemon", "stay"), newSpec(t), r), task.RunCanceled, task.PhaseBy, "")
		if pid := pidAfter(t, r.texts(EventText), "pid"); !gone(pid) {
			t.Errorf("process %d is alive", pid)
		}
	})
	t.Run("a thousand processes are ended", func(t *testing.T) {
		ctx, r := cancelAt(t, "ready", ErrCanceled)
		c := sh(`i=0; while [ $i -lt 1000 ]; do sleep 600 & i=$((i+1)); done; echo ready; wait`)
		wantState(t, runWith(t, ctx, c, newSpec(t), r), task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a stopped shim continues", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &recorder{}
		r.on = func(Event) { signalShim(t, r, syscall.SIGSTOP); cancel(ErrCanceled) }
		wantState(t, runWith(t, ctx, sh(`echo ready; sleep 600`), newSpec(t), r), task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a shim that is stopped again and again is killed with its tree", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended, r := make(chan struct{}), &recorder{}
		var stopping sync.WaitGroup
		r.on = func(Event) {
			stopping.Go(func() {
				for again := time.NewTicker(time.Millisecond); ; {
					signalShim(t, r, syscall.SIGSTOP)
					select {
					case <-again.C:
					case <-ended:
						return
					}
				}
			})
			cancel(ErrCanceled)
		}
		out := runWith(t, ctx, sh(`trap '' TERM; echo ready; while :; do sleep 1; done`), newSpec(t), r)
		close(ended)
		stopping.Wait()
		wantState(t, out, task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a sink that blocks does not keep the tree alive", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		spec, blocked, release := newSpec(t), make(chan struct{}, 100), make(chan struct{})
		r := &recorder{on: func(Event) { blocked <- struct{}{}; <-release }}
		ended := make(chan Outcome, 1)
		go func() { o, _ := sh("echo ready; sleep 600").Run(ctx, spec, r); ended <- o }()
		<-blocked
		cancel(ErrCanceled)
		testkit.EventuallyWithin(t, deadline, "the tree is gone", func() bool { return len(runProcesses(spec.RunID)) == 0 })
		close(release)
		wantState(t, <-ended, task.RunCanceled, task.PhaseBy, "")
	})
}

func TestEndOfTheProgramEndsWhatItLeft(t *testing.T) {
	t.Parallel()
	t.Run("a child that holds stdout does not hang the run", func(t *testing.T) {
		out, r := run(t, sh("sleep 600 & echo done"), newSpec(t))
		wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if logs := r.texts(EventLog); len(logs) != 1 || !strings.Contains(logs[0], "1 in all") {
			t.Errorf("notes %q", logs)
		}
	})
	t.Run("a child that is deaf to TERM and holds stdout is killed", func(t *testing.T) {
		c := sh(fmt.Sprintf("%s %s deaf & echo $!; sleep 1; echo done", os.Args[0], agentArg))
		out, _ := run(t, c, newSpec(t))
		wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	})
	t.Run("a daemon is ended", func(t *testing.T) {
		out, r := run(t, play("daemon"), newSpec(t))
		wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if pid := pidAfter(t, r.texts(EventText), "pid"); !gone(pid) {
			t.Errorf("process %d is alive", pid)
		}
	})
	t.Run("a program whose shim is killed dies with all it started", func(t *testing.T) {
		r := &recorder{}
		r.on = func(Event) { signalShim(t, r, syscall.SIGKILL) }
		out := runWith(t, t.Context(), sh("sleep 600 & echo hello; sleep 600"), newSpec(t), r)
		wantState(t, out, task.RunFailed, task.PhaseCrash, "supervising process")
	})
	t.Run("a process whose first thread has ended is ended", func(t *testing.T) {
		out, r := run(t, play("headless"), newSpec(t))
		wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if pid := pidAfter(t, r.texts(EventText), "pid"); syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d is alive", pid)
		}
	})
}

func TestLimitsEndARun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		limits       task.Limits
		phase        task.Phase
		reason       string
	}{
		{
			"a program that runs too long", "while :; do echo more; sleep 0.1; done",
			task.Limits{TimeoutSeconds: 1, IdleTimeoutSeconds: 30},
			task.PhaseTimeout, "time limit of 1 s",
		},
		{
			"a program that is silent too long", "echo one; sleep 600",
			task.Limits{TimeoutSeconds: 50, IdleTimeoutSeconds: 1},
			task.PhaseIdle, "nothing for 1 s",
		},
		{
			"a program that uses too many tokens", `echo '{"type":"usage","data":{"tokensIn":90,"tokensOut":20}}'; sleep 600`,
			task.Limits{MaxTokens: 100},
			task.PhaseTokens, "110 tokens of at most 100",
		},
		{
			"a program that costs too much", `echo '{"type":"usage","data":{"costUsd":0.5}}'; sleep 600`,
			task.Limits{MaxCostUSD: 0.25},
			task.PhaseCost, "0.5000 USD",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := newSpec(t)
			spec.Plan.Limits = tt.limits
			out, _ := run(t, sh(tt.script), spec)
			wantState(t, out, task.RunFailed, tt.phase, tt.reason)
		})
	}
	t.Run("one byte on stderr is progress", func(t *testing.T) {
		t.Parallel()
		spec := newSpec(t)
		spec.Plan.Limits.IdleTimeoutSeconds = 3
		out, _ := run(t, sh(`for i in 1 2 3 4 5 6 7 8 9 10; do printf . >&2; sleep 0.5; done; echo done`), spec)
		wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	})
}

func TestErrorOfStartedStopsTheRun(t *testing.T) {
	t.Parallel()
	lost := errors.New("lease lost")
	r := &recorder{start: func(Process) error { return lost }}
	out, err := sh("echo hello; sleep 600").Run(t.Context(), newSpec(t), r)
	if !errors.Is(err, lost) || len(r.events) > 0 {
		t.Errorf("error %v, events %v", err, r.events)
	}
	wantState(t, out, task.RunFailed, task.PhaseError, "")
}

func TestDeathOfTheServerEndsTheTree(t *testing.T) {
	t.Parallel()
	id := task.ID(2_000_000)
	server := exec.Command(os.Args[0], serverArg, currentInstance(), id.String(), t.TempDir())
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.HasPrefix(lines.Text(), "self ") {
			break
		}
	}
	_ = server.Process.Signal(syscall.SIGKILL)
	_ = server.Wait()
	for _, word := range []string{"shim", "self", "pid"} {
		pid := pidAfter(t, said, word)
		testkit.EventuallyWithin(t, deadline, word+" is gone", func() bool { return gone(pid) })
	}
	if left := runProcesses(id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestKillOrphan(t *testing.T) {
	t.Parallel()
	sleeper := func(t *testing.T, env ...string) (*exec.Cmd, Process) {
		t.Helper()
		c := exec.Command("/bin/sh", "-c", "sleep 600 & wait")
		c.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		p, err := processOf(c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		testkit.EventuallyWithin(t, deadline, "the sleeper has a child", func() bool { return len(tree.Below(p.PID)) == 1 })
		t.Cleanup(func() {
			for _, d := range tree.Below(p.PID) {
				d.Signal(syscall.SIGKILL)
			}
		})
		return c, p
	}
	kill := func(t *testing.T, p Process, id task.ID, want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		if n, err := KillOrphan(ctx, p, id); n != want || err != nil {
			t.Errorf("killed %d, %v; want %d", n, err, want)
		}
		if gone(p.PID) != (want > 0) {
			t.Errorf("process gone: %v", gone(p.PID))
		}
	}
	t.Run("the tree of the process is killed", func(t *testing.T) {
		_, p := sleeper(t)
		kill(t, p, 3_000_001, 2)
	})
	t.Run("a reused pid is left alone", func(t *testing.T) {
		_, p := sleeper(t)
		p.Start += "0"
		kill(t, p, 3_000_002, 0)
	})
	t.Run("a pid from before the last boot is left alone", func(t *testing.T) {
		_, p := sleeper(t)
		p.BootID = "another"
		kill(t, p, 3_000_003, 0)
	})
	t.Run("a process with the marks of the run is killed", func(t *testing.T) {
		_, p := sleeper(t, envRunID+"=3000004", envInstanceID+"="+currentInstance())
		p.Start = ""
		kill(t, p, 3_000_004, 2)
	})
	t.Run("the same run of another instance is left alone", func(t *testing.T) {
		_, p := sleeper(t, envRunID+"=3000005", envInstanceID+"=another")
		p.Start = ""
		kill(t, p, 3_000_005, 0)
	})
}

func TestStartedNamesTheProcess(t *testing.T) {
	t.Parallel()
	var at time.Time
	r := &recorder{start: func(p Process) error {
		at = time.Now()
		if len(treeOf(p)) == 0 {
			t.Errorf("%+v is not a process", p)
		}
		return nil
	}}
	runWith(t, t.Context(), sh("cat >/dev/null; echo done; sleep 0.2"), newSpec(t), r)
	if at.IsZero() || treeOf(r.process) != nil {
		t.Errorf("started at %v, left %v", at, treeOf(r.process))
	}
}
