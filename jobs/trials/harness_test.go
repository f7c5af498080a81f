//go:build linux

// Package trials lets the real dispatcher execute programs that misbehave:
// jobs, service, database, runner and shim as in the server.
package trials

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskyard/db/dbtest"
	"taskyard/internal/agentfile"
	"taskyard/internal/testkit"
	"taskyard/jobs"
	"taskyard/runner"
	"taskyard/runner/command"
	"taskyard/runner/supervise"
	"taskyard/runner/tree"
	"taskyard/service"
	"taskyard/task"
)

const patience = 3 * time.Minute // the machine may be busy, and a flood takes long

var (
	maya       = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}
	instanceID = fmt.Sprintf("trials-%d-%d", os.Getpid(), time.Now().UnixNano())
)

func TestMain(m *testing.M) {
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	if len(os.Args) > 2 && os.Args[1] == agentArg {
		agent(os.Args[2], os.Args[3:])
		testkit.EndHelper(0)
	}
	supervise.SetInstance(instanceID)
	goleak.VerifyTestMain(m)
}

// part is an agent with the arguments of its program.
type part struct {
	limits string // lines of its definition
	args   []string
	grace  time.Duration // 0: as in the server
}

// instance is a server without its surfaces. Run IDs are unique only within an
// instance, so two at the same time would stop each other's processes.
type instance struct {
	svc  *service.Service
	runs string // contains the runs' folders
}

func newInstance(t *testing.T, parts map[string]part) *instance {
	t.Helper()
	quiet, dir := slog.New(slog.DiscardHandler), t.TempDir()
	runners, kinds := map[string]service.Runner{}, map[string]task.RunnerKind{}
	for name, p := range parts {
		runners[name] = service.Runner{Executor: &command.Runner{Program: supervise.Program{
			Argv: append([]string{os.Args[0], agentArg}, p.args...), Grace: p.grace,
		}}}
		kinds[name] = task.RunnerKind{}
		text := "---\nname: " + name + "\ndescription: misbehaves\ntools: read\nmax_parallel: 20\nrunner: " +
			name + "\n" + p.limits + "\n---\nWork.\n"
		testkit.WriteAgents(t, dir, map[string]string{name: text})
	}
	agents := testkit.OpenAgents(t, dir, &agentfile.Options{Runners: kinds})
	rules := testkit.Rules()
	rules.Wakes, rules.MaxParallel, rules.Attempts = true, 20, 1
	svc := service.New(dbtest.New(t), agents, service.Config{
		Rules: rules, Log: quiet, Runner: func(name string) service.Runner { return runners[name] },
	})
	inst := &instance{svc, t.TempDir()}
	j, err := jobs.New(jobs.Options{
		Service: svc, RunsDir: inst.runs, Plan: jobs.Plan{Cron: "0 0 1 1 *", Location: time.UTC}, Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := j.Stop(ctx); err != nil {
			t.Error(err)
		}
		if left := tree.Marked("TASKYARD_YARD_ID=" + instanceID); len(left) > 0 {
			t.Errorf("%d processes remain: %v", len(left), left)
		}
	})
	return inst
}

// begin creates a task for an agent and returns the task and its run.
func (inst *instance) begin(t *testing.T, agent string) (*task.Task, task.ID) {
	t.Helper()
	tk, err := inst.svc.CreateTask(t.Context(), maya, task.New{Title: "Misbehave", Owner: agent})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := inst.svc.Runs(t.Context(), maya, task.RunFilter{TaskID: tk.ID, Limit: 5})
	if err != nil || len(runs) != 1 {
		t.Fatalf("got %d runs, %v; want 1", len(runs), err)
	}
	return tk, runs[0].ID
}

func (inst *instance) run(t *testing.T, id task.ID) *task.Run {
	t.Helper()
	r, err := inst.svc.Run(t.Context(), maya, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// transcript returns the texts of a run.
func (inst *instance) transcript(t *testing.T, id task.ID) (texts []string) {
	t.Helper()
	for after := task.ID(0); ; {
		list, err := inst.svc.Transcript(t.Context(), maya, id, after, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return texts
		}
		for _, m := range list {
			texts = append(texts, m.Content)
			after = m.ID
		}
	}
}

// alive returns the living processes of a run: those with its markers in their
// environment, and those that lost it but have a marker in their arguments.
func alive(id task.ID) []tree.Proc {
	found := tree.Marked("TASKYARD_RUN_ID="+id.String(), "TASKYARD_YARD_ID="+instanceID)
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		words, _ := os.ReadFile(f)
		if !strings.Contains(string(words), runMarker(id.String(), instanceID)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if p, ok := tree.Read(pid); ok && !p.Dead {
			found = append(found, p)
		}
	}
	return found
}
