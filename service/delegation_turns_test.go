package service

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

// hold reserves a turn of a run, which must not have to wait.
func (y *instance) hold(st *Start, want task.Turn) task.TurnGrant {
	y.t.Helper()
	grant, freed, err := y.s.holdTurn(y.ctx(), st.Run.ID, st.Run.Lease, want)
	ok(y.t, err)
	equal(y.t, "must wait", freed != nil, false)
	return grant
}

func TestTurnsSideBySideNeverUseMoreThanTheirTreeMay(t *testing.T) {
	t.Parallel()
	const reply = 300
	turn := task.Turn{In: 200, Out: reply}
	pair := func(t *testing.T) (y *instance, boss, a, b *Start) { // boss: 1000 tokens, 2 USD
		y = delegating(t, func(c *Config) { c.MaxParallel = 16 })
		_, boss, own := y.inRun("boss")
		y.delegate(own, task.Delegation{})
		a = y.start()
		y.delegate(own, task.Delegation{})
		return y, boss, a, y.start()
	}
	t.Run("a reply is as long as what the turns beside it leave", func(t *testing.T) {
		y, _, a, b := pair(t)
		equal(t, "first", y.hold(a, task.Turn{In: 200, Out: 340}), task.TurnGrant{Out: 340})
		equal(t, "second", y.hold(b, task.Turn{In: 200, Out: 340}), task.TurnGrant{Out: 260, Phase: ""})
	})
	t.Run("a turn waits for one that holds what it needs, and begins when that was shorter", func(t *testing.T) {
		y, boss, a, b := pair(t)
		y.uses(boss, 200, 0)
		y.hold(a, turn)
		_, freed, err := y.s.holdTurn(y.ctx(), b.Run.ID, b.Run.Lease, turn)
		ok(t, err)
		equal(t, "waits", freed != nil, true)
		got := make(chan task.TurnGrant)
		go func() {
			grant, err := y.s.HoldTurn(y.ctx(), b.Run.ID, b.Run.Lease, turn)
			if err != nil {
				grant.Reason = err.Error()
			}
			got <- grant
		}()
		y.uses(a, 210, 0)
		y.s.ReleaseTurn(a.Run.ID)
		<-freed
		equal(t, "granted", <-got, task.TurnGrant{Out: reply})
	})
	t.Run("without a turn beside it that one ends which has no room", func(t *testing.T) {
		y, boss, a, b := pair(t)
		y.uses(boss, 200, 0)
		y.hold(a, turn)
		y.uses(a, 500, 0)
		y.s.ReleaseTurn(a.Run.ID)
		grant := y.hold(b, turn)
		equal(t, "phase", grant.Phase, task.PhaseTokens)
		equal(t, "reason", grant.Reason, "Run 1, by which it was delegated, was given a limit for all of that. "+
			"Its next turn could use 456 tokens or more, and 700 of at most 1000 are used")
		grant = y.hold(boss, turn)
		equal(t, "phase of the parent", grant.Phase, task.PhaseTokens)
		equal(t, "reason of the parent", strings.HasSuffix(grant.Reason, "700 of at most 1000 are used, what it delegated included"), true)
	})
	t.Run("cost is held like tokens", func(t *testing.T) {
		y, _, a, b := pair(t)
		dear := task.Turn{In: 10, Out: reply, CostIn: 0.5, CostOut: 1}
		equal(t, "first", y.hold(a, dear).Out, reply)
		_, freed, err := y.s.holdTurn(y.ctx(), b.Run.ID, b.Run.Lease, dear) // 0.5 USD are left: the input alone
		ok(t, err)
		equal(t, "waits", freed != nil, true)
		y.uses(a, 10, 1.2)
		y.s.ReleaseTurn(a.Run.ID)
		grant := y.hold(b, dear)
		equal(t, "phase", grant.Phase, task.PhaseCost)
		equal(t, "reason", strings.Contains(grant.Reason, "could cost 0.5000 USD or more, and 1.2000 of at most 2.0000 are used"), true)
	})
	t.Run("a run that is alone is not refused", func(t *testing.T) {
		y := delegating(t)
		_, boss, _ := y.inRun("boss")
		equal(t, "grant", y.hold(boss, task.Turn{In: 5000, Out: reply}), task.TurnGrant{Out: reply})
	})
	t.Run("who waits ends with its run", func(t *testing.T) {
		y, boss, a, b := pair(t)
		y.uses(boss, 200, 0)
		y.hold(a, turn)
		ctx, cancel := context.WithCancelCause(y.ctx())
		got := make(chan error)
		go func() {
			_, err := y.s.HoldTurn(ctx, b.Run.ID, b.Run.Lease, turn)
			got <- err
		}()
		cancel(ErrStopCanceled)
		equal(t, "error", <-got, ErrStopCanceled)
		must(y.s.CancelRun(y.ctx(), maya, b.Run.ID, ""))
		_, err := y.s.HoldTurn(y.ctx(), b.Run.ID, b.Run.Lease, turn)
		refused(t, err, task.CodeStaleLease)
	})
}
