package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// workerRegistry knows the workers that have asked lately. It is only in memory: after
// a restart they ask again.
type workerRegistry struct {
	bell    broadcast // of a run that may be startable
	mu      sync.Mutex
	workers map[string]*knownWorker
}

// knownWorker is one worker: a token under one name, with what it offers.
type knownWorker struct {
	token  task.ID
	labels []string
	runs   []string // runners; empty: any
	at     task.Time
}

const (
	maxKnownWorkers = 1000            // workers remembered
	workerAwayAfter = 2 * time.Minute // without a word a worker counts as away
)

func (c *workerRegistry) noteAsk(a task.Actor, ask task.WorkerAsk, now task.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workers == nil {
		c.workers = map[string]*knownWorker{}
	}
	key := fmt.Sprintf("%d %q %q %q", a.TokenID, ask.Name, ask.Labels, ask.Runners) // machines may share token and name
	if c.workers[key] == nil && len(c.workers) >= maxKnownWorkers {
		c.forgetOldest()
	}
	c.workers[key] = &knownWorker{a.TokenID, ask.Labels, ask.Runners, now}
}

func (c *workerRegistry) forgetOldest() {
	oldest := ""
	for key, w := range c.workers {
		if oldest == "" || w.at < c.workers[oldest].at {
			oldest = key
		}
	}
	delete(c.workers, oldest)
}

// heartbeat records a heartbeat of the workers that use a token.
func (c *workerRegistry) heartbeat(token task.ID, now task.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.workers {
		if h.token == token {
			h.at = now
		}
	}
}

// last returns when a worker that fits was last heard of, or 0.
func (c *workerRegistry) last(runner string, labels []string) (at task.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.workers {
		if workerMatches(h.labels, h.runs, runner, labels) {
			at = max(at, h.at)
		}
	}
	return at
}

// workerMatches reports whether a worker may execute runs of a runner.
func workerMatches(has, runners []string, runner string, labels []string) bool {
	if len(runners) > 0 && !slices.Contains(runners, runner) {
		return false
	}
	return !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) })
}

// runsOnWorkers reports whether workers execute the runs of an agent.
func (s *Service) runsOnWorkers(def task.Agent) bool { return s.runner(def.Runner).Worker }

// checkReachesRepository refuses runs of a task of a project that workers would execute: the
// repository is on the server, and they cannot reach it.
func (s *Service) checkReachesRepository(rx *db.Rx, def task.Agent, project string) error {
	if project == "" || !s.runsOnWorkers(def) {
		return nil
	}
	p, err := rx.Project(project)
	if err != nil || p.Repository == "" {
		return err
	}
	return task.Errorf(task.Conflict, task.CodeRepository,
		"%s cannot work on tasks of project %s: workers on other machines execute its runs, and they cannot reach the repository. "+
			"Choose an agent that runs on the server", def.ID, project)
}

// checkCanWorkOn refuses runs of a task of a project that the definition of an agent
// leaves out, or whose repository its runs cannot reach.
func (tx *txn) checkCanWorkOn(def task.Agent, tk *task.Task) error {
	if err := checkWorksOn(def, tk); err != nil {
		return err
	}
	return tx.s.checkReachesRepository(&tx.Rx, def, tk.Project)
}

// checkFitsProject is checkReachesRepository for the owner of a task, which field names.
func (tx *txn) checkFitsProject(field, owner, project string) error {
	def, _ := tx.s.agents.Agent(owner)
	err := tx.s.checkReachesRepository(&tx.Rx, def, project)
	if e, ok := errors.AsType[*task.Error](err); ok && e.Code == task.CodeRepository {
		return &task.Error{Kind: task.Invalid, Code: e.Code, Field: field, Message: e.Message}
	}
	return err
}

// noWorkerReason returns why no worker executes the runs of an agent, or "" when
// one may.
func (s *Service) noWorkerReason(agent string, now task.Time) string {
	def, ok := s.agents.Agent(agent)
	if !ok {
		return ""
	}
	return s.noWorkerReasonForRunner(def.Runner, now)
}

// NoWorkerReason returns why no worker executes the runs of a runner, or ""
// when one may, or it needs none.
func (s *Service) NoWorkerReason(name string) string { return s.noWorkerReasonForRunner(name, s.Now()) }

func (s *Service) noWorkerReasonForRunner(name string, now task.Time) string {
	r := s.runner(name)
	if !r.Worker {
		return ""
	}
	at := s.workers.last(name, r.Labels)
	if at != 0 && now.Sub(at) < workerAwayAfter {
		return ""
	}
	subject := "no worker for the runner " + name
	if len(r.Labels) > 0 {
		subject += " with the labels " + strings.Join(r.Labels, ", ")
	}
	if at == 0 {
		return subject + " has asked since the server started"
	}
	return fmt.Sprintf("%s has asked for %d min", subject, int(now.Sub(at).Minutes()))
}

func checkAsk(ask task.WorkerAsk) error {
	var p task.Problems
	if ask.Name != "" {
		p.CheckLine("name", ask.Name, 100)
	}
	for field, list := range map[string][]string{"labels": ask.Labels, "runners": ask.Runners} {
		if len(list) > task.MaxWorkerTags {
			p.Add(field, "must be at most %d, not %d", task.MaxWorkerTags, len(list))
			continue
		}
		for _, l := range list {
			p.CheckLine(field, l, 63)
		}
	}
	return p.Err()
}

// LeaseRun claims the next queued run that a worker may execute, or returns
// nil when none came in the time that it waits. A worker that is gone by then
// leaves the run in the queue. Errors: not a worker, invalid fields.
func (s *Service) LeaseRun(ctx context.Context, a task.Actor, ask task.WorkerAsk) (*task.Leased, error) {
	if err := checkPerm(a, task.Execute); err != nil {
		return nil, err
	}
	if err := checkAsk(ask); err != nil {
		return nil, err
	}
	ctx = WithIdempotency(ctx, nil) // the answer holds a secret, which must not be stored
	takes := func(def task.Agent, r Runner) bool {
		return r.Worker && workerMatches(ask.Labels, ask.Runners, def.Runner, r.Labels)
	}
	ctx, end := s.WhileValid(ctx, a)
	defer end()
	over := time.After(min(max(ask.Wait, 0), task.MaxWait))
	for {
		s.workers.noteAsk(a, ask, s.Now())
		bell := s.workers.bell.listen()
		start, later, err := s.nextRun(ctx, a, ask.Parent, nil, takes)
		if err != nil {
			return nil, err
		}
		if start != nil {
			return s.deliver(ctx, a, start)
		}
		var soon <-chan time.Time
		if later != 0 {
			soon = time.After(max(later.Sub(s.Now()), 10*time.Millisecond))
		}
		select {
		case <-bell:
		case <-soon:
		case <-over:
			return nil, nil
		case <-s.hub.Done():
			return nil, nil
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, errTokenEnded) {
				return nil, err
			}
			return nil, nil // nobody hears the answer
		}
	}
}

// deliver hands a started run to its worker, or queues it again if the worker has left.
func (s *Service) deliver(ctx context.Context, a task.Actor, start *Start) (*task.Leased, error) {
	r := start.Run
	if ctx.Err() != nil {
		return nil, change(context.WithoutCancel(ctx), s, task.SystemActor, func(tx *txn) error {
			now, err := tx.leasedRun(r.ID, r.Lease)
			if err != nil {
				return err
			}
			return tx.requeue(now, "the worker disconnected")
		})
	}
	folders, err := s.RunFolders(context.WithoutCancel(ctx), r)
	if err != nil {
		s.log.ErrorContext(ctx, "failed to find the folders of the run", "run_id", r.ID, "error", err)
	}
	s.log.InfoContext(ctx, "run leased", "run_id", r.ID, "task_id", r.TaskID, "agent", r.Agent, "worker", a.Name)
	return &task.Leased{
		RunID: r.ID, TaskID: r.TaskID, Attempt: r.Attempt, Lease: r.Lease, Spec: start.Spec,
		Token: start.Token, RunFolders: folders, Seconds: int(s.config().RunLease.Seconds()),
	}, nil
}
