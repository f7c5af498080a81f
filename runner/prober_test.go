//go:build linux

package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/acp"
	"taskyard/runner/command"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// held is a runner whose probes a test counts and blocks.
type held struct {
	asked chan struct{}
	hold  chan struct{}
}

func (f *held) Probe(ctx context.Context) supervise.Probe {
	f.asked <- struct{}{}
	select {
	case <-f.hold:
	case <-ctx.Done():
	}
	p := capabilities("command")
	p.Installed = ctx.Err() == nil
	if !p.Installed {
		p.Problem = "it does not answer"
	}
	return p
}

func (f *held) Run(context.Context, supervise.Spec, supervise.Sink) (supervise.Outcome, error) {
	return supervise.Outcome{}, nil
}

func TestProbesRunInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &held{asked: make(chan struct{}, 10), hold: make(chan struct{})}
		var notified atomic.Int64
		p := NewProber([]Source{{Name: "mine", Kind: "command", Runner: f}, {Name: "away", Kind: "worker"}}, func() { notified.Add(1) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx) }()
		synctest.Wait()
		mine := func() task.RunnerInfo { return p.Runners()[0] }
		if r := mine(); !r.Probing || r.State() != "unknown" || r.Tools == "" {
			t.Errorf("during the probe, got %+v", r)
		}
		if r := p.Runners()[1]; r.State() != "ready" {
			t.Errorf("got a runner without a probe %+v", r)
		}
		p.Refresh()
		p.Changed()
		synctest.Wait()
		if len(f.asked) != 1 {
			t.Errorf("got %d probes at the same time", len(f.asked))
		}
		time.Sleep(probeTime) // in the synctest bubble: no real time passes
		synctest.Wait()
		if r := mine(); r.State() != "missing" || r.Problem != "it does not answer" || r.Probing || notified.Load() != 3 {
			t.Errorf("a probe that hangs: got %+v, %d notifications", r, notified.Load())
		}
		close(f.hold)
		p.Changed()
		synctest.Wait()
		if len(f.asked) != 1 {
			t.Error("a runner was probed again right away")
		}
		time.Sleep(probeFresh)
		p.Changed()
		synctest.Wait()
		if r := mine(); len(f.asked) != 2 || r.State() != "ready" {
			t.Errorf("after a change of definitions: got %+v, %d probes", r, len(f.asked))
		}
		p.Refresh()
		synctest.Wait()
		if len(f.asked) != 3 || mine().Probing {
			t.Errorf("on request: got %d probes", len(f.asked))
		}
		cancel()
		<-ended
	})
}

func TestAChangedProgramIsProbedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "agent")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(program+".new", []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil { //nolint:gosec // must be executable
			t.Fatal(err)
		}
		testkit.NoError(t, os.Rename(program+".new", program))
	}
	argv := []string{program}
	p := NewProber([]Source{{
		Name: "mine", Kind: "acp", Argv: argv,
		Runner: &acp.Runner{Program: runnertest.Program(argv...)},
	}}, nil)
	// looked makes the probes that Run makes by itself after some time.
	looked := func() task.RunnerInfo {
		t.Helper()
		p.probeAll(t.Context(), p.hasChanged)
		p.flights.Wait()
		return p.Runners()[0]
	}
	p.probeAll(t.Context(), func(*probed) bool { return true })
	p.flights.Wait()
	t.Run("a missing program is reported, with a fix", func(t *testing.T) {
		r := looked()
		if r.State() != "missing" || !strings.Contains(r.Problem, program) || !strings.Contains(r.Remedy, "[runners.mine]") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("it is found once it is installed", func(t *testing.T) {
		write("echo 1.0")
		if r := looked(); r.State() != "ready" || r.Version != "1.0" || r.Path != program ||
			r.Problem != "" || r.Remedy != "" || r.EnforcesTools {
			t.Errorf("%+v", r)
		}
	})
	t.Run("an update is noticed, and an unchanged file is not probed again", func(t *testing.T) {
		write("echo asked >> " + dir + "/log; echo 2.0.1")
		if r := looked(); r.Version != "2.0.1" {
			t.Errorf("%+v", r)
		}
		looked()
		if log, err := os.ReadFile(filepath.Join(dir, "log")); string(log) != "asked\n" {
			t.Errorf("got the probes %q, %v", log, err)
		}
	})
	t.Run("a program whose probe fails may still work", func(t *testing.T) {
		write("echo no such flag >&2; exit 2")
		if r := looked(); r.State() != "ready" || !strings.Contains(r.Problem, "exit code 2") || r.Remedy == "" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a hanging program is ended with its children when the server stops", func(t *testing.T) {
		write("sleep 1000 & echo $! > " + dir + "/child; sleep 1000")
		ctx, cancel := context.WithCancel(t.Context())
		p.probeAll(ctx, p.hasChanged)
		testkit.EventuallyWithin(t, runnertest.Deadline, "it has started", func() bool {
			b, _ := os.ReadFile(filepath.Join(dir, "child"))
			return len(b) > 1
		})
		cancel()
		p.flights.Wait()
		b, err := os.ReadFile(filepath.Join(dir, "child"))
		testkit.NoError(t, err)
		pid := runnertest.PIDAfter(t, []string{"child " + string(b)}, "child")
		testkit.EventuallyWithin(t, runnertest.Deadline, "its child is gone", func() bool { return runnertest.HasEnded(pid) })
	})
}

func TestProbesDoNotEndOneAnother(t *testing.T) {
	t.Parallel()
	slow := &command.Runner{Program: runnertest.Program("/bin/sh")}
	slow.VersionArgs = []string{"-c", "sleep 0.5; echo slow"}
	got := make(chan supervise.Probe)
	go func() { got <- slow.Probe(t.Context()) }()
	for range 3 {
		quick := &command.Runner{Program: runnertest.Program("/bin/sh")}
		quick.VersionArgs = []string{"-c", "echo quick"}
		if p := quick.Probe(t.Context()); p.Version != "quick" {
			t.Errorf("%+v", p)
		}
	}
	if p := <-got; p.Version != "slow" {
		t.Errorf("%+v", p)
	}
}

func TestNewRunnersAreProbedImmediately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		former := &held{asked: make(chan struct{}, 10), hold: make(chan struct{})}
		p := NewProber([]Source{{Name: "former", Kind: "command", Runner: former}}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx) }()
		synctest.Wait()
		later := &held{asked: make(chan struct{}, 10), hold: make(chan struct{})}
		p.Use([]Source{{Name: "later", Kind: "command", Runner: later}, {Name: "away", Kind: "worker"}})
		if list := p.Runners(); len(list) != 2 || list[0].Name != "later" || !list[0].Probing || list[0].State() != "unknown" {
			t.Errorf("before the first probe: got %+v", list)
		}
		synctest.Wait()
		if len(later.asked) != 1 {
			t.Errorf("got %d probes", len(later.asked))
		}
		close(former.hold) // a probe of a removed runner ends late
		synctest.Wait()
		if list := p.Runners(); len(list) != 2 || list[0].Name != "later" || list[0].Installed {
			t.Errorf("after the late probe: got %+v", list)
		}
		close(later.hold)
		synctest.Wait()
		if list := p.Runners(); list[0].State() != "ready" || list[0].Probing || list[1].State() != "ready" {
			t.Errorf("after the probe: got %+v", list)
		}
		cancel()
		<-ended
	})
}
