package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/internal/agentfile"
	"taskyard/internal/config"
	"taskyard/service"
	"taskyard/task"
)

// stamp is an agent's program: it prints when it has read its whole prompt, in
// nanoseconds since 1970.
const stamp = "cat >/dev/null\ndate +%s%N\n"

const stampAgent = "---\nname: stamp\ndescription: Says when it has its prompt.\ntools: " +
	"read\nrunner: stamp\napproval: never\n---\nTell the time.\n"

// measureDispatch starts runs one after another, and measures the time from the
// creation of a run until its process has read the prompt.
func measureDispatch(ctx context.Context, s *sheet, bin, folder string, runs int) error {
	inst, err := newInstance(bin, filepath.Join(folder, "dispatch"), nil)
	if err != nil {
		return err
	}
	script, err := filepath.Abs(filepath.Join(inst.data, "stamp.sh"))
	if err != nil {
		return err
	}
	config := fmt.Sprintf("[runners.stamp]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\n", script)
	err = errors.Join(inst.write("stamp.sh", stamp), inst.write("taskyard.toml", config), inst.write("agents/stamp.md", stampAgent))
	if err != nil {
		return err
	}
	if _, err := inst.start(ctx); err != nil {
		return err
	}
	l, err := inst.dispatch(ctx, runs)
	if err := errors.Join(err, inst.stop()); err != nil {
		return err
	}
	s.add("dispatch, run created until its process has the prompt: p50", "ms", atMost(50, 15), millis(l.percentile(0.5)))
	s.add("dispatch, run created until its process has the prompt: p99", "ms", none, millis(l.percentile(0.99)))
	return nil
}

func (inst *instance) dispatch(ctx context.Context, runs int) (l lap, err error) {
	token, err := inst.token(ctx)
	if err != nil {
		return l, err
	}
	w, err := dial(inst.addr)
	if err != nil {
		return l, err
	}
	defer w.close()
	for range runs {
		took, err := inst.oneRun(w, "Authorization: Bearer "+token)
		if err != nil {
			return l, err
		}
		l.took = append(l.took, took)
	}
	return l, nil
}

func (inst *instance) oneRun(w *wire, auth string) (time.Duration, error) {
	var made struct{ ID string }
	body, err := w.call(request("POST", "/api/tasks", inst.addr, `{"title":"tell the time","owner":"stamp"}`,
		auth, "Content-Type: application/json"))
	if err == nil {
		err = json.Unmarshal(body, &made)
	}
	if err != nil {
		return 0, err
	}
	poll := request("GET", "/api/tasks/"+made.ID+"/runs", inst.addr, "", auth)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var got struct{ Runs []task.Run }
		if body, err = w.call(poll); err == nil {
			err = json.Unmarshal(body, &got)
		}
		if err != nil {
			return 0, err
		}
		if len(got.Runs) != 1 || got.Runs[0].EndedAt == 0 {
			continue
		}
		return stamped(got.Runs[0])
	}
	return 0, errors.New("a run did not end within 10 s")
}

func stamped(r task.Run) (time.Duration, error) {
	nanos, err := strconv.ParseInt(strings.TrimSpace(r.Summary), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("run %d ended as %s without its time: %s %s", r.ID, r.Status, r.Reason, r.Summary)
	}
	return time.Unix(0, nanos).Sub(r.CreatedAt.Std()), nil
}

// measureTick measures one round of the scheduler for tasks that all get a run,
// and for tasks that are all skipped.
func measureTick(ctx context.Context, s *sheet, folder string, tasks int) error {
	for _, kind := range []struct{ what, runner string }{{"each gets a run", "stamp"}, {"none may run", agentfile.RunnerNone}} {
		dir, err := os.MkdirTemp(folder, "tick-")
		if err != nil {
			return err
		}
		svc, d, err := openService(ctx, dir, fmt.Sprintf("---\nname: bench\ndescription: Ticked.\ntools: "+
			"read\nrunner: %s\napproval: never\n---\nWork.\n", kind.runner), "")
		if err != nil {
			return err
		}
		err = inChunks(ctx, d, tasks, func(tx *db.Tx, _ int) error { return insert(tx, "bench") })
		var res service.TickResult
		begin := time.Now()
		if err == nil {
			res, err = svc.Tick(ctx, "bench")
		}
		took := time.Since(begin)
		if err == nil && res.Queued+res.Skipped != tasks {
			err = fmt.Errorf("the tick saw %d and %d tasks, not %d", res.Queued, res.Skipped, tasks)
		}
		if err := errors.Join(err, d.Close()); err != nil {
			return err
		}
		s.add(fmt.Sprintf("a tick over %s active tasks, %s", number(float64(tasks)), kind.what), "ms", atMost(500, 100), millis(took))
	}
	return nil
}

// openService opens an instance inside this process, with one agent "bench" and
// nothing that starts runs. Its database is that of url, or a file in dir.
func openService(ctx context.Context, dir, agent, url string) (*service.Service, *db.DB, error) {
	agents := filepath.Join(dir, "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(agents, "bench.md"), []byte(agent), 0o600); err != nil {
		return nil, nil, err
	}
	opt := &agentfile.Options{Runners: map[string]task.RunnerKind{"stamp": {}}}
	f, err := agentfile.Open(agents, func() *agentfile.Options { return opt }, nil)
	if err != nil {
		return nil, nil, err
	}
	d, err := db.Open(ctx, db.Options{Path: filepath.Join(dir, "taskyard.db"), URL: url})
	if err != nil {
		return nil, nil, err
	}
	c, _, err := config.Load(config.LoadOptions{File: os.DevNull})
	if err != nil {
		return nil, nil, err
	}
	return service.New(d, f, service.Config{Rules: c.Rules(), QueueLimit: 1 << 30}), d, nil
}
