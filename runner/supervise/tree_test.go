//go:build linux

package supervise_test

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
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/runner/tree"
	"taskyard/task"
)

func TestTheCauseOfAStopDecidesTheOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		cause  error
		phase  task.Phase
		reason string
	}{
		{"canceled by a person", fmt.Errorf("%w by maya", supervise.ErrCanceled), task.PhaseBy, "canceled by maya"},
		{"the task was closed", supervise.ErrTaskClosed, task.PhaseTaskClosed, "closed"},
		{"the server stops", supervise.ErrShutdown, task.PhaseShutdown, "stopping"},
		{"a plain cancel counts as a shutdown", nil, task.PhaseShutdown, "stopping"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, r := runnertest.CancelAt(t, "ready", tt.cause)
			out := runnertest.RunWith(t, ctx, sh("echo ready; sleep 600"), runnertest.NewSpec(t), r)
			runnertest.WantState(t, out, task.RunCanceled, tt.phase, tt.reason)
		})
	}
	t.Run("an ended context starts nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(supervise.ErrTaskClosed)
		r := &runnertest.Recorder{OnStart: func(supervise.Process) error { t.Error("started"); return nil }}
		out := runnertest.RunWith(t, ctx, sh("echo ready"), runnertest.NewSpec(t), r)
		runnertest.WantState(t, out, task.RunCanceled, task.PhaseTaskClosed, "")
	})
}

// signalShim sends a signal to the shim of a run.
func signalShim(t *testing.T, r *runnertest.Recorder, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(r.Process().PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

func TestAStopEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	t.Run("a program that ignores TERM is killed", func(t *testing.T) {
		ctx, r := runnertest.CancelAt(t, "ready", supervise.ErrCanceled)
		runnertest.WantState(t, runnertest.RunWith(t, ctx, play("deaf"), runnertest.NewSpec(t), r), task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a program that handles TERM may end cleanly", func(t *testing.T) {
		ctx, r := runnertest.CancelAt(t, "ready", supervise.ErrCanceled)
		c := sh(`trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.1; done`)
		c.Grace = runnertest.Deadline / 2
		runnertest.WantState(t, runnertest.RunWith(t, ctx, c, runnertest.NewSpec(t), r), task.RunCanceled, task.PhaseBy, "")
		if got := strings.Join(r.Texts(supervise.EventText), " "); got != "ready bye" {
			t.Errorf("got text %q", got)
		}
	})
	t.Run("a stopped program is ended", func(t *testing.T) {
		ctx, r := runnertest.CancelAt(t, "ready", supervise.ErrCanceled)
		out := runnertest.RunWith(t, ctx, sh("echo ready; kill -STOP $$"), runnertest.NewSpec(t), r)
		runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a process in another session without a parent and an environment is ended", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &runnertest.Recorder{OnEvent: func(e supervise.Event) {
			if strings.HasPrefix(e.Text, "self ") {
				cancel(supervise.ErrCanceled)
			}
		}}
		runnertest.WantState(t, runnertest.RunWith(t, ctx, play("daemon", "stay"), runnertest.NewSpec(t), r), task.RunCanceled, task.PhaseBy, "")
		if pid := runnertest.PIDAfter(t, r.Texts(supervise.EventText), "pid"); !runnertest.HasEnded(pid) {
			t.Errorf("process %d is still running", pid)
		}
	})
	t.Run("a thousand processes are ended", func(t *testing.T) {
		ctx, r := runnertest.CancelAt(t, "ready", supervise.ErrCanceled)
		c := sh(`i=0; while [ $i -lt 1000 ]; do sleep 600 & i=$((i+1)); done; echo ready; wait`)
		runnertest.WantState(t, runnertest.RunWith(t, ctx, c, runnertest.NewSpec(t), r), task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a stopped shim continues", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &runnertest.Recorder{}
		r.OnEvent = func(supervise.Event) { signalShim(t, r, syscall.SIGSTOP); cancel(supervise.ErrCanceled) }
		out := runnertest.RunWith(t, ctx, sh(`echo ready; sleep 600`), runnertest.NewSpec(t), r)
		runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a repeatedly stopped shim is killed with its tree", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended, r := make(chan struct{}), &runnertest.Recorder{}
		var stopping sync.WaitGroup
		r.OnEvent = func(supervise.Event) {
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
			cancel(supervise.ErrCanceled)
		}
		out := runnertest.RunWith(t, ctx, sh(`trap '' TERM; echo ready; while :; do sleep 1; done`), runnertest.NewSpec(t), r)
		close(ended)
		stopping.Wait()
		runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "")
	})
	t.Run("a sink that blocks does not keep the tree alive", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		spec, blocked, release := runnertest.NewSpec(t), make(chan struct{}, 100), make(chan struct{})
		r := &runnertest.Recorder{OnEvent: func(supervise.Event) { blocked <- struct{}{}; <-release }}
		ended := make(chan supervise.Outcome, 1)
		go func() { o, _ := sh("echo ready; sleep 600").Run(ctx, spec, r); ended <- o }()
		<-blocked
		cancel(supervise.ErrCanceled)
		testkit.EventuallyWithin(t, runnertest.Deadline, "the tree is gone", func() bool {
			return len(supervise.ProcessesOfRun(spec.RunID)) == 0
		})
		close(release)
		runnertest.WantState(t, <-ended, task.RunCanceled, task.PhaseBy, "")
	})
}

func TestTheEndOfAProgramEndsWhatItLeft(t *testing.T) {
	t.Parallel()
	t.Run("a child that keeps stdout open does not block the run", func(t *testing.T) {
		out, r := runnertest.Run(t, sh("sleep 600 & echo done"), runnertest.NewSpec(t))
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if logs := r.Texts(supervise.EventLog); len(logs) != 1 || !strings.Contains(logs[0], "stopped: 1") {
			t.Errorf("got notes %q", logs)
		}
	})
	t.Run("a child that ignores TERM and keeps stdout open is killed", func(t *testing.T) {
		c := sh(strings.Join(runnertest.Agent("deaf").Argv, " ") + " & echo $!; sleep 1; echo done")
		out, _ := runnertest.Run(t, c, runnertest.NewSpec(t))
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	})
	t.Run("a daemon is ended", func(t *testing.T) {
		out, r := runnertest.Run(t, play("daemon"), runnertest.NewSpec(t))
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if pid := runnertest.PIDAfter(t, r.Texts(supervise.EventText), "pid"); !runnertest.HasEnded(pid) {
			t.Errorf("process %d is still running", pid)
		}
	})
	t.Run("a program whose shim is killed ends with everything it started", func(t *testing.T) {
		r := &runnertest.Recorder{}
		r.OnEvent = func(supervise.Event) { signalShim(t, r, syscall.SIGKILL) }
		out := runnertest.RunWith(t, t.Context(), sh("sleep 600 & echo hello; sleep 600"), runnertest.NewSpec(t), r)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseCrash, "supervising process")
	})
	t.Run("a process whose first thread has ended is ended", func(t *testing.T) {
		out, r := runnertest.Run(t, play("headless"), runnertest.NewSpec(t))
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
		if pid := runnertest.PIDAfter(t, r.Texts(supervise.EventText), "pid"); syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d is still running", pid)
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
			"a program that is silent for too long", "echo one; sleep 600",
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
			spec := runnertest.NewSpec(t)
			spec.Plan.Limits = tt.limits
			out, _ := runnertest.Run(t, sh(tt.script), spec)
			runnertest.WantState(t, out, task.RunFailed, tt.phase, tt.reason)
		})
	}
	t.Run("one byte on stderr is progress", func(t *testing.T) {
		t.Parallel()
		spec := runnertest.NewSpec(t)
		spec.Plan.Limits.IdleTimeoutSeconds = 3
		out, _ := runnertest.Run(t, sh(`for i in 1 2 3 4 5 6 7 8 9 10; do printf . >&2; sleep 0.5; done; echo done`), spec)
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	})
}

func TestAnErrorOfStartedStopsTheRun(t *testing.T) {
	t.Parallel()
	lost := errors.New("lease lost")
	r := &runnertest.Recorder{OnStart: func(supervise.Process) error { return lost }}
	out, err := sh("echo hello; sleep 600").Run(t.Context(), runnertest.NewSpec(t), r)
	if !errors.Is(err, lost) || len(r.Events) > 0 {
		t.Errorf("got error %v, events %v", err, r.Events)
	}
	runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "")
}

func TestTheDeathOfTheServerEndsTheTree(t *testing.T) {
	t.Parallel()
	id := task.ID(2_000_000)
	program := runnertest.Agent("server", supervise.CurrentInstance(), id.String(), t.TempDir())
	server := exec.Command(program.Argv[0], program.Argv[1:]...)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	testkit.NoError(t, err)
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
		pid := runnertest.PIDAfter(t, said, word)
		testkit.EventuallyWithin(t, runnertest.Deadline, word+" is gone", func() bool { return runnertest.HasEnded(pid) })
	}
	if left := supervise.ProcessesOfRun(id); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestKillOrphan(t *testing.T) {
	t.Parallel()
	sleeper := func(t *testing.T, env ...string) (*exec.Cmd, supervise.Process) {
		t.Helper()
		c := exec.Command("/bin/sh", "-c", "sleep 600 & wait")
		c.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
		testkit.NoError(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		p, err := supervise.ProcessFromPID(c.Process.Pid)
		testkit.NoError(t, err)
		testkit.EventuallyWithin(t, runnertest.Deadline, "the sleeper has a child", func() bool { return len(tree.Descendants(p.PID)) == 1 })
		t.Cleanup(func() {
			for _, d := range tree.Descendants(p.PID) {
				d.Signal(syscall.SIGKILL)
			}
		})
		return c, p
	}
	kill := func(t *testing.T, p supervise.Process, id task.ID, want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), runnertest.Deadline)
		defer cancel()
		if n, err := supervise.KillOrphan(ctx, p, id); n != want || err != nil {
			t.Errorf("got %d killed, %v; want %d", n, err, want)
		}
		if runnertest.HasEnded(p.PID) != (want > 0) {
			t.Errorf("got process gone = %v", runnertest.HasEnded(p.PID))
		}
	}
	t.Run("the tree of the process is killed", func(t *testing.T) {
		_, p := sleeper(t)
		kill(t, p, 3_000_001, 2)
	})
	t.Run("a reused PID is left alone", func(t *testing.T) {
		_, p := sleeper(t)
		p.Start += "0"
		kill(t, p, 3_000_002, 0)
	})
	t.Run("a PID from before the last boot is left alone", func(t *testing.T) {
		_, p := sleeper(t)
		p.BootID = "another"
		kill(t, p, 3_000_003, 0)
	})
	t.Run("a process with the marks of the run is killed", func(t *testing.T) {
		_, p := sleeper(t, supervise.EnvRunID+"=3000004", supervise.EnvInstanceID+"="+supervise.CurrentInstance())
		p.Start = ""
		kill(t, p, 3_000_004, 2)
	})
	t.Run("the same run of another instance is left alone", func(t *testing.T) {
		_, p := sleeper(t, supervise.EnvRunID+"=3000005", supervise.EnvInstanceID+"=another")
		p.Start = ""
		kill(t, p, 3_000_005, 0)
	})
	t.Run("it is killed if the run belonged to that instance", func(t *testing.T) {
		_, p := sleeper(t, supervise.EnvRunID+"=3000006", supervise.EnvInstanceID+"=another")
		p.Start, p.Instance = "", "another"
		kill(t, p, 3_000_006, 2)
	})
}

func TestStartedNamesTheProcess(t *testing.T) {
	t.Parallel()
	var at time.Time
	r := &runnertest.Recorder{OnStart: func(p supervise.Process) error {
		at = time.Now()
		if len(supervise.ProcessTree(p)) == 0 {
			t.Errorf("%+v is not a process", p)
		}
		return nil
	}}
	runnertest.RunWith(t, t.Context(), sh("cat >/dev/null; echo done; sleep 0.2"), runnertest.NewSpec(t), r)
	if at.IsZero() || supervise.ProcessTree(r.Process()) != nil {
		t.Errorf("got started at %v, left behind %v", at, supervise.ProcessTree(r.Process()))
	}
}

// A worker records the start after its server answers. The program's output is
// read in the meantime.
func TestAProgramWhoseStartIsNotRecordedYetIsNotIdle(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Plan.Limits.IdleTimeoutSeconds = 1
	r := &runnertest.Recorder{OnStart: func(supervise.Process) error {
		<-time.After(3 * time.Second)
		return nil
	}}
	out := runnertest.RunWith(t, t.Context(), sh("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done"), spec, r)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
}
