package service

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"taskyard/db"
	"taskyard/task"
)

// minReply is how many tokens of a reply must be left for a turn to be worth
// its input, where the turn wants as many.
const minReply = 256

// turnReservations holds what turns that are under way can still use, at most, by run:
// turns of this process, so that its end, however it comes, ends the holds too.
type turnReservations struct {
	mu    sync.Mutex
	byRun map[task.ID]turnReservation
	freed broadcast // of a hold that ends
}

type turnReservation struct {
	tokens int
	cost   float64
	tree   []task.ID // the run and all above it
}

// reservedByOthers sums what other turns hold in the tree below and with a run. mu is held.
func (h *turnReservations) reservedByOthers(own, above task.ID) (sum turnReservation) {
	for id, t := range h.byRun {
		if id != own && slices.Contains(t.tree, above) {
			sum.tokens += t.tokens
			sum.cost += t.cost
		}
	}
	return sum
}

// HoldTurn reserves the most that the next turn of a run can use, from its own
// limits and from those of all runs above it, so that parallel runs never use
// more together. While other turns have reserved what this one needs, it waits
// for them to end. The result says how long the reply may be, or which limit is
// used up. A run on its own is not refused: its runner enforces its limits.
// ReleaseTurn ends the reservation.
func (s *Service) HoldTurn(ctx context.Context, id task.ID, lease int64, want task.Turn) (task.TurnGrant, error) {
	for {
		grant, freed, err := s.holdTurn(ctx, id, lease, want)
		if ctx.Err() == nil && (err != nil || freed == nil) {
			return grant, err
		}
		select {
		case <-ctx.Done():
			return task.TurnGrant{}, context.Cause(ctx)
		case <-freed:
		}
	}
}

// holdTurn is one try; freed is set while it must wait.
func (s *Service) holdTurn(ctx context.Context, id task.ID, lease int64, want task.Turn) (
	grant task.TurnGrant, freed <-chan struct{}, err error,
) {
	h := &s.turnHolds
	h.mu.Lock()
	defer h.mu.Unlock()
	// What a turn used is written before its hold ends: who reads now misses
	// neither.
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		grant, freed = task.TurnGrant{Out: want.Out}, nil
		r, err := rx.Run(id)
		if err != nil {
			return err
		}
		if r.Lease != lease || r.Status != task.RunRunning {
			return staleLeaseError(r)
		}
		tree := []*task.Run{r}
		if err := aboveRun(rx, r, func(a *task.Run) error { tree = append(tree, a); return nil }); err != nil {
			return err
		}
		alone := r.TreeRun == 0
		hold := turnReservation{}
		for _, a := range tree {
			hold.tree = append(hold.tree, a.ID)
			below, n, err := rx.UseBelow(a.ID)
			if err != nil {
				return err
			}
			if alone = alone && n == 0; alone {
				continue
			}
			beside := h.reservedByOthers(id, a.ID)
			used := a.Usage.Add(below)
			out, phase := want.Fit(a.Limits, used.Tokens()+beside.tokens, used.CostUSD+beside.cost)
			if grant.Out = min(grant.Out, out); grant.Out >= min(want.Out, minReply) {
				continue
			}
			if beside.tokens > 0 {
				freed = h.freed.listen()
				return nil
			}
			grant = task.TurnGrant{Phase: phase, Reason: turnLimitReason(r, a, phase, used, n, want)}
			return nil
		}
		hold.tokens, hold.cost = want.Usage(grant.Out)
		h.byRun[id] = hold
		return nil
	})
	return grant, freed, err
}

// ReleaseTurn ends the hold of a run's turn, if there is one. What the turn
// used must have been written.
func (s *Service) ReleaseTurn(id task.ID) {
	h := &s.turnHolds
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.byRun[id]; ok {
		delete(h.byRun, id)
		h.freed.signal()
	}
}

// turnLimitReason says why a run must end before its next turn.
func turnLimitReason(r, above *task.Run, phase task.Phase, used task.Usage, below int, want task.Turn) string {
	text := fmt.Sprintf("Its next turn could use %d tokens or more, and %d of at most %d are used", want.In+min(want.Out, minReply),
		used.Tokens(), above.Limits.MaxTokens)
	if phase == task.PhaseCost {
		text = fmt.Sprintf("Its next turn could cost %.4f USD or more, and %.4f of at most %.4f are used", want.CostIn, used.CostUSD,
			above.Limits.MaxCostUSD)
	}
	switch {
	case r.ID == above.ID && below > 0:
		return text + ", what it delegated included"
	case r.ID == above.ID:
		return text
	}
	return fmt.Sprintf("Run %d, by which it was delegated, was given a limit for all of that. %s", above.ID, text)
}
