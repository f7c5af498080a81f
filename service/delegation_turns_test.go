package service

import (
	"context"
	"strings"
	"testing"

	"taskyard/task"
)

// reserveTurn reserves a turn of a run, without having to wait.
func (inst *instance) reserveTurn(st *Start, want task.Turn) task.TurnGrant {
	inst.t.Helper()
	grant, freed, err := inst.s.holdTurn(inst.ctx(), st.Run.ID, st.Run.Lease, want)
	ok(inst.t, err)
	equal(inst.t, "must wait", freed != nil, false)
	return grant
}

func TestConcurrentTurnsStayWithinTheLimitsOfTheirTree(t *testing.T) {
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
	t.Run("a reply is limited to what concurrent turns leave", func(t *testing.T) {
		inst, _, a, b := pair(t)
		equal(t, "first", inst.reserveTurn(a, task.Turn{In: 200, Out: 340}), task.TurnGrant{Out: 340})
		equal(t, "second", inst.reserveTurn(b, task.Turn{In: 200, Out: 340}), task.TurnGrant{Out: 260, Phase: ""})
	})
	t.Run("a turn waits for a reservation, and begins if less was used", func(t *testing.T) {
		inst, boss, a, b := pair(t)
		inst.reportUsage(boss, 200, 0)
		inst.reserveTurn(a, turn)
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
		inst.reportUsage(a, 210, 0)
		inst.s.ReleaseTurn(a.Run.ID)
		<-freed
		equal(t, "granted", <-got, task.TurnGrant{Out: reply})
	})
	t.Run("without a concurrent turn, a run without enough tokens ends", func(t *testing.T) {
		inst, boss, a, b := pair(t)
		inst.reportUsage(boss, 200, 0)
		inst.reserveTurn(a, turn)
		inst.reportUsage(a, 500, 0)
		inst.s.ReleaseTurn(a.Run.ID)
		grant := inst.reserveTurn(b, turn)
		equal(t, "phase", grant.Phase, task.PhaseTokens)
		equal(t, "reason", grant.Reason, "Run 1, by which it was delegated, was given a limit for all of that. "+
			"Its next turn could use 456 tokens or more, and 700 of at most 1000 are used")
		grant = inst.reserveTurn(boss, turn)
		equal(t, "phase of the parent", grant.Phase, task.PhaseTokens)
		equal(t, "reason of the parent", strings.HasSuffix(grant.Reason, "700 of at most 1000 are used, what it delegated included"), true)
	})
	t.Run("cost is reserved like tokens", func(t *testing.T) {
		inst, _, a, b := pair(t)
		dear := task.Turn{In: 10, Out: reply, CostIn: 0.5, CostOut: 1}
		equal(t, "first", inst.reserveTurn(a, dear).Out, reply)
		_, freed, err := inst.s.holdTurn(inst.ctx(), b.Run.ID, b.Run.Lease, dear) // 0.5 USD are left, enough only for the input
		ok(t, err)
		equal(t, "waits", freed != nil, true)
		inst.reportUsage(a, 10, 1.2)
		inst.s.ReleaseTurn(a.Run.ID)
		grant := inst.reserveTurn(b, dear)
		equal(t, "phase", grant.Phase, task.PhaseCost)
		equal(t, "reason", strings.Contains(grant.Reason, "could cost 0.5000 USD or more, and 1.2000 of at most 2.0000 are used"), true)
	})
	t.Run("a run without relatives is not refused", func(t *testing.T) {
		inst := delegating(t)
		_, boss, _ := inst.inRun("boss")
		equal(t, "grant", inst.reserveTurn(boss, task.Turn{In: 5000, Out: reply}), task.TurnGrant{Out: reply})
	})
	t.Run("a waiting turn ends with its run", func(t *testing.T) {
		inst, boss, a, b := pair(t)
		inst.reportUsage(boss, 200, 0)
		inst.reserveTurn(a, turn)
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
