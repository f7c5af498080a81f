package service

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

// hold reserves a turn of a run, which must not have to wait.
func (inst *instance) hold(st *Start, want task.Turn) task.TurnGrant {
	inst.t.Helper()
	grant, freed, err := inst.s.holdTurn(inst.ctx(), st.Run.ID, st.Run.Lease, want)
	ok(inst.t, err)
	equal(inst.t, "must wait", freed != nil, false)
	return grant
}

func TestTurnsSideBySideNeverUseMoreThanTheirTreeMay(t *testing.T) {
	t.Parallel()
	const reply = 300
	turn := task.Turn{In: 200, Out: reply}
	pair := func(t *testing.T) (inst *instance, boss, a, b *Start) { // boss: 1000 tokens, 2 USD
		inst = delegating(t, func(c *Config) { c.MaxParallel = 16 })
		_, boss, own := inst.inRun("boss")
		inst.delegate(own, task.Delegation{})
		a = inst.start()
		inst.delegate(own, task.Delegation{})
		return inst, boss, a, inst.start()
	}
	t.Run("a reply is as long as what the turns beside it leave", func(t *testing.T) {
		inst, _, a, b := pair(t)
		equal(t, "first", inst.hold(a, task.Turn{In: 200, Out: 340}), task.TurnGrant{Out: 340})
		equal(t, "second", inst.hold(b, task.Turn{In: 200, Out: 340}), task.TurnGrant{Out: 260, Phase: ""})
	})
	t.Run("a turn waits for one that holds what it needs, and begins when that was shorter", func(t *testing.T) {
		inst, boss, a, b := pair(t)
		inst.uses(boss, 200, 0)
		inst.hold(a, turn)
		_, freed, err := inst.s.holdTurn(inst.ctx(), b.Run.ID, b.Run.Lease, turn)
		ok(t, err)
		equal(t, "waits", freed != nil, true)
		got := make(chan task.TurnGrant)
		go func() {
			grant, err := inst.s.HoldTurn(inst.ctx(), b.Run.ID, b.Run.Lease, turn)
			if err != nil {
				grant.Reason = err.Error()
			}
			got <- grant
		}()
		inst.uses(a, 210, 0)
		inst.s.ReleaseTurn(a.Run.ID)
		<-freed
		equal(t, "granted", <-got, task.TurnGrant{Out: reply})
	})
	t.Run("without a turn beside it that one ends which has no room", func(t *testing.T) {
		inst, boss, a, b := pair(t)
		inst.uses(boss, 200, 0)
		inst.hold(a, turn)
		inst.uses(a, 500, 0)
		inst.s.ReleaseTurn(a.Run.ID)
		grant := inst.hold(b, turn)
		equal(t, "phase", grant.Phase, task.PhaseTokens)
		equal(t, "reason", grant.Reason, "Run 1, by which it was delegated, was given a limit for all of that. "+
			"Its next turn could use 456 tokens or more, and 700 of at most 1000 are used")
		grant = inst.hold(boss, turn)
		equal(t, "phase of the parent", grant.Phase, task.PhaseTokens)
		equal(t, "reason of the parent", strings.HasSuffix(grant.Reason, "700 of at most 1000 are used, what it delegated included"), true)
	})
	t.Run("cost is held like tokens", func(t *testing.T) {
		inst, _, a, b := pair(t)
		dear := task.Turn{In: 10, Out: reply, CostIn: 0.5, CostOut: 1}
		equal(t, "first", inst.hold(a, dear).Out, reply)
		_, freed, err := inst.s.holdTurn(inst.ctx(), b.Run.ID, b.Run.Lease, dear) // 0.5 USD are left: the input alone
		ok(t, err)
		equal(t, "waits", freed != nil, true)
		inst.uses(a, 10, 1.2)
		inst.s.ReleaseTurn(a.Run.ID)
		grant := inst.hold(b, dear)
		equal(t, "phase", grant.Phase, task.PhaseCost)
		equal(t, "reason", strings.Contains(grant.Reason, "could cost 0.5000 USD or more, and 1.2000 of at most 2.0000 are used"), true)
	})
	t.Run("a run that is alone is not refused", func(t *testing.T) {
		inst := delegating(t)
		_, boss, _ := inst.inRun("boss")
		equal(t, "grant", inst.hold(boss, task.Turn{In: 5000, Out: reply}), task.TurnGrant{Out: reply})
	})
	t.Run("who waits ends with its run", func(t *testing.T) {
		inst, boss, a, b := pair(t)
		inst.uses(boss, 200, 0)
		inst.hold(a, turn)
		ctx, cancel := context.WithCancelCause(inst.ctx())
		got := make(chan error)
		go func() {
			_, err := inst.s.HoldTurn(ctx, b.Run.ID, b.Run.Lease, turn)
			got <- err
		}()
		cancel(ErrStopCanceled)
		equal(t, "error", <-got, ErrStopCanceled)
		must(inst.s.CancelRun(inst.ctx(), maya, b.Run.ID, ""))
		_, err := inst.s.HoldTurn(inst.ctx(), b.Run.ID, b.Run.Lease, turn)
		refused(t, err, task.CodeStaleLease)
	})
}
