package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"taskyard/db"
	"taskyard/task"
)

// AskPermission asks people whether a working run may make a tool call, and
// returns at once: with a decision where a person let the run call this tool
// until it ends, else with what now waits for one. Errors: stale lease, a
// field that cannot be shown to a reviewer, the run asks already.
func (s *Service) AskPermission(ctx context.Context, run task.ID, lease int64, ask task.Permission) (*task.Permission, error) {
	if err := ask.Check(); err != nil {
		return nil, err
	}
	return mutate(ctx, s, task.SystemActor, func(tx *txn) (*task.Permission, error) {
		r, err := tx.leasedRun(run, lease)
		if err != nil {
			return nil, err
		}
		if p, err := tx.Granted(run, ask.Tool); p != nil || err != nil {
			return p, err
		}
		return tx.ask(r, ask)
	})
}

func (tx *txn) ask(r *task.Run, p task.Permission) (*task.Permission, error) {
	p.Run, p.AskedAt, p.ExpiresAt = r.ID, tx.Now, tx.Now.Add(tx.s.config().ApprovalExpires)
	if !r.State().CanMove(task.State{Status: task.RunRunning, Phase: task.PhasePermission}) {
		return nil, task.Errorf(task.Conflict, task.CodeRunOpen, "Run %d is %s: it cannot ask for permission now", r.ID, r.State())
	}
	err := tx.enterPhase(r, task.PhasePermission)
	if err != nil {
		return nil, err
	}
	if p.N, err = tx.InsertPermission(&p); err != nil {
		return nil, err
	}
	if err := tx.addPermissionLine(r, "Asks for permission to call "+p.Tool, changes{"n": p.N, "tool": p.Tool}); err != nil {
		return nil, err
	}
	if err := tx.notifyRun(r, "asks to call "+p.Tool); err != nil {
		return nil, err
	}
	return &p, tx.runEvent(task.EvPermitAsked, r, changes{"n": p.N, "tool": p.Tool})
}

// addPermissionLine adds a line about permissions to a run's transcript.
func (tx *txn) addPermissionLine(r *task.Run, text string, data changes) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = tx.InsertMessage(task.Message{
		TaskID: r.TaskID, RunID: r.ID, Kind: task.KindRun, Role: task.SpeakerSystem, Type: "permission",
		Author: tx.actor.Name, Content: text, Data: b,
	})
	return err
}

// AwaitPermission waits until the permission that a run asked for is decided.
// It fails only if ctx ends or the server stops; expiry counts as a decision.
func (s *Service) AwaitPermission(ctx context.Context, run task.ID, n int) (*task.Permission, error) {
	sub := s.hub.Subscribe("run:" + run.String())
	defer sub.Close()
	for {
		p, err := read(ctx, s, func(rx *db.Rx) (*task.Permission, error) { return rx.Permission(run, n) })
		switch {
		case err != nil:
			return nil, err
		case p == nil:
			return nil, noPermissionError(run, n)
		case !p.IsPending():
			return p, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-sub.Done():
			return nil, task.Errorf(task.Unavailable, task.CodeUnavailable, "the server is stopping")
		case <-sub.C:
		}
	}
}

func noPermissionError(run task.ID, n int) error {
	return task.Errorf(task.NotFound, task.CodeNotFound, "Run %d has not asked for a permission %d", run, n)
}

// AllowPermission lets a run make the call that it asks for, once or, with
// task.ScopeRun, with every later call of that tool until the run ends; ""
// means once. Errors: not a reviewer, unknown scope, unknown, decided already.
func (s *Service) AllowPermission(ctx context.Context, a task.Actor, run task.ID, n int, scope task.Scope) (*task.Run, error) {
	scope = cmp.Or(scope, task.ScopeOnce)
	if scope != task.ScopeOnce && scope != task.ScopeRun {
		return nil, task.FieldErrorf("scope", "must be once or run")
	}
	return s.decidePermission(ctx, a, run, n, func(p *task.Permission) { p.Decision, p.Scope = task.PermissionAllowed, scope })
}

// DenyPermission refuses the call that a run asks for; the run continues, and
// its agent gets the reason. Errors: not a reviewer, blank reason, unknown,
// decided already.
func (s *Service) DenyPermission(ctx context.Context, a task.Actor, run task.ID, n int, reason string) (*task.Run, error) {
	var p task.Problems
	if p.CheckText("reason", reason, task.MaxReason*4) && strings.TrimSpace(reason) == "" {
		p.Add("reason", "is required: it is sent to the agent")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return s.decidePermission(ctx, a, run, n,
		func(p *task.Permission) { p.Decision, p.Message = task.PermissionDenied, strings.TrimSpace(reason) })
}

func (s *Service) decidePermission(ctx context.Context, a task.Actor, run task.ID,
	n int, decide func(*task.Permission),
) (*task.Run, error) {
	if err := s.allowed(a, task.Decide); err != nil {
		return nil, err
	}
	return mutate(ctx, s, a, func(tx *txn) (*task.Run, error) {
		r, err := tx.Run(run)
		if err != nil {
			return nil, err
		}
		p, err := tx.Permission(run, n)
		switch {
		case err != nil:
			return nil, err
		case p == nil:
			return nil, noPermissionError(run, n)
		case !p.IsPending():
			return nil, task.Errorf(task.Conflict, task.CodeRunDecided, "%s", p.Outcome())
		case p.ExpiresAt <= tx.Now:
			return nil, task.Errorf(task.Conflict, task.CodeRunDecided,
				"Permission %d of run %d expired at %s: nobody decided in time", n, run, p.ExpiresAt.Minute())
		}
		decide(p)
		if err := tx.settlePermission(r, p); err != nil {
			return nil, err
		}
		now, err := tx.Run(run)
		if err == nil {
			now.Permission, err = tx.Permission(run, n)
		}
		return now, err
	})
}

// settlePermission writes a decision and lets the run work on.
func (tx *txn) settlePermission(r *task.Run, p *task.Permission) error {
	p.By = tx.actor.Name
	if ok, err := tx.DecidePermission(p); err != nil || !ok {
		return errorOrEnded(r, err)
	}
	if err := tx.enterPhase(r, task.PhaseWorking); err != nil {
		return err
	}
	kind := map[string]string{
		task.PermissionAllowed: task.EvPermitAllowed, task.PermissionDenied: task.EvPermitDenied, task.PermissionExpired: task.EvPermitExpired,
	}[p.Decision]
	c := changes{"n": p.N, "tool": p.Tool}
	if p.Scope != "" {
		c["scope"] = p.Scope
	}
	if p.Message != "" {
		c["reason"] = p.Message
	}
	if err := tx.addPermissionLine(r, decisionLine(p), c); err != nil {
		return err
	}
	return tx.runEvent(kind, r, c)
}

func decisionLine(p *task.Permission) string {
	switch p.Decision {
	case task.PermissionAllowed:
		if p.Scope == task.ScopeRun {
			return fmt.Sprintf("%s may be called until this run ends, by %s", p.Tool, task.ActorLabel(p.By))
		}
		return fmt.Sprintf("This call of %s is allowed by %s", p.Tool, task.ActorLabel(p.By))
	case task.PermissionDenied:
		return fmt.Sprintf("This call of %s is denied by %s: %s", p.Tool, task.ActorLabel(p.By), p.Message)
	}
	return "Nobody decided in time: this call of " + p.Tool + " is denied"
}

// voidPermission closes what a run asks for that ends or starts again.
func (tx *txn) voidPermission(r *task.Run) error {
	if r.Phase != task.PhasePermission {
		return nil
	}
	p, err := tx.LastPermission(r.ID)
	if err != nil || p == nil || !p.IsPending() {
		return err
	}
	p.Decision, p.By = task.PermissionVoid, tx.actor.Name
	tx.inboxIf(true)
	_, err = tx.DecidePermission(p)
	return err
}

// expirePermissions denies what nobody decided on in time.
func (tx *txn) expirePermissions() (int, error) {
	list, err := tx.RunsAwaitingPermission(100) // the first to expire first
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range list {
		if r.Permission.ExpiresAt > tx.Now {
			break
		}
		r.Permission.Decision = task.PermissionExpired
		if err := tx.settlePermission(r, r.Permission); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Asking returns the first runs that wait for a permission, those that expire
// first, each with what it asks. Error: may not read.
func (s *Service) Asking(ctx context.Context, a task.Actor) ([]*task.Run, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]*task.Run, error) { return rx.RunsAwaitingPermission(listedRuns) })
}

// LastPermission returns what a run asked for last, or nil. Error: may not
// read.
func (s *Service) LastPermission(ctx context.Context, a task.Actor, run task.ID) (*task.Permission, error) {
	if err := s.allowed(a, task.Read); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) (*task.Permission, error) { return rx.LastPermission(run) })
}
