package e2e

import (
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"taskyard/task"
)

// The operations of a client on one task.
const (
	doClaim     = "claim"
	doComplete  = "complete"
	doRelease   = "release"
	doRead      = "read"
	doLostClaim = "lost claim" // a sign-up whose response was lost
)

// act is one operation on one task, as the client requested it.
type act struct {
	Task  task.ID
	Kind  string
	Claim int64 // the fence that the client sent
}

// answer is what the client got. If the connection failed, it is not Known: the
// operation may have happened at any time since, or never.
type answer struct {
	Known, OK bool
	Done      bool  // from a read
	Claim     int64 // from a claim or a read: 0 for none
}

// holding is the state of one task as the queue sees it.
type holding struct {
	Seq  int64 // number of the current or last claim
	Held bool
	Done bool
}

// claimModel is a queue with claims: one holder at a time, each claim has the next
// number, and only the holder ends it. Each task is checked separately.
var claimModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byTask := map[task.ID][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(act).Task
			byTask[id] = append(byTask[id], op)
		}
		return slices.Collect(maps.Values(byTask))
	},
	Init: func() any { return holding{} },
	Step: func(state, input, output any) (bool, any) {
		ok, next := state.(holding).step(input.(act), output.(answer))
		return ok, next
	},
}

func (h holding) step(in act, out answer) (bool, holding) {
	free, mine := !h.Held && !h.Done, h.Held && !h.Done && h.Seq == in.Claim
	switch in.Kind {
	case doClaim:
		return free && out.Claim == h.Seq+1, holding{Seq: out.Claim, Held: true}
	case doLostClaim:
		if free {
			return true, holding{Seq: h.Seq + 1, Held: true}
		}
		return true, h
	case doRead:
		var claim int64
		if h.Held && !h.Done {
			claim = h.Seq
		}
		return out.Done == h.Done && out.Claim == claim, h
	}
	if out.Known && out.OK != mine {
		return false, h
	}
	if !mine {
		return true, h
	}
	return true, holding{Seq: h.Seq, Done: in.Kind == doComplete}
}

// history collects the operations of all clients.
type history struct {
	begin time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
	lost  []int64 // when each sign-up began whose response was lost
}

func newHistory() *history { return &history{begin: time.Now()} }

// now returns the time for a call or a return.
func (h *history) now() int64 { return int64(time.Since(h.begin)) }

func (h *history) add(client int, call int64, in act, out answer) {
	op := porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: h.now()}
	if !out.Known {
		op.Return = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

func (h *history) lostSignup(call int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = append(h.lost, call)
}

// explain adds a lost sign-up to each task that ended in a claim that no client
// knows. One lost sign-up explains at most one task.
func (h *history) explain(t *testing.T) {
	t.Helper()
	known := map[task.ID]int64{} // highest number that a client got
	for _, op := range h.ops {
		if in := op.Input.(act); in.Kind == doClaim {
			known[in.Task] = max(known[in.Task], op.Output.(answer).Claim)
		}
	}
	unexplained := 0
	for _, op := range slices.Clone(h.ops) {
		in, out := op.Input.(act), op.Output.(answer)
		if in.Kind != doRead || out.Claim <= known[in.Task] {
			continue
		}
		unexplained++
		if len(h.lost) > 0 {
			h.ops = append(h.ops, porcupine.Operation{
				Input:  act{Task: in.Task, Kind: doLostClaim},
				Output: answer{}, Call: slices.Min(h.lost), Return: math.MaxInt64,
			})
		}
	}
	if unexplained > len(h.lost) {
		t.Errorf("%d tasks have an unknown claim, but only %d sign-ups were lost", unexplained, len(h.lost))
	}
	t.Logf("%d operations, %d sign-ups without a response, of which %d had claimed a task", len(h.ops), len(h.lost), unexplained)
}

func (h *history) check() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(claimModel, h.ops, patience)
}

func TestClaimModel(t *testing.T) {
	t.Parallel()
	const end = math.MaxInt64
	op := func(call, ret int64, kind string, claim int64, out answer) porcupine.Operation {
		return porcupine.Operation{Input: act{Task: 1, Kind: kind, Claim: claim}, Output: out, Call: call, Return: ret}
	}
	got := func(claim int64) answer { return answer{Known: true, OK: true, Claim: claim} }
	yes, no, unknown := answer{Known: true, OK: true}, answer{Known: true}, answer{}
	for _, tt := range []struct {
		name string
		ops  []porcupine.Operation
		want porcupine.CheckResult
	}{
		{"claim, release, claim, complete is valid", []porcupine.Operation{
			op(1, 2, doClaim, 0, got(1)),
			op(3, 4, doRelease, 1, yes), op(5, 6, doClaim, 0, got(2)), op(7, 8, doComplete, 2, yes),
		}, porcupine.Ok},
		{"two holders at once are not", []porcupine.Operation{op(1, 4, doClaim, 0, got(1)), op(2, 3, doClaim, 0, got(2))}, porcupine.Illegal},
		{"one claim given to two is not", []porcupine.Operation{op(1, 4, doClaim, 0, got(1)), op(2, 3, doClaim, 0, got(1))}, porcupine.Illegal},
		{"a claim of a done task is not", []porcupine.Operation{
			op(1, 2, doClaim, 0, got(1)),
			op(3, 4, doComplete, 1, yes), op(5, 6, doClaim, 0, got(2)),
		}, porcupine.Illegal},
		{"a release without a response may have happened", []porcupine.Operation{
			op(1, 2, doClaim, 0, got(1)),
			op(3, end, doRelease, 1, unknown), op(5, 6, doClaim, 0, got(2)),
		}, porcupine.Ok},
		{"or it may not have happened", []porcupine.Operation{
			op(1, 2, doClaim, 0, got(1)), op(3, end, doRelease, 1, unknown),
			op(5, 6, doRead, 0, answer{Known: true, Claim: 1}),
		}, porcupine.Ok},
		{"accepting a stale fence is not valid", []porcupine.Operation{
			op(1, 2, doClaim, 0, got(1)), op(3, 4, doRelease, 1, yes),
			op(5, 6, doClaim, 0, got(2)), op(7, 8, doComplete, 1, yes),
		}, porcupine.Illegal},
		{
			"a current fence must not be refused",
			[]porcupine.Operation{op(1, 2, doClaim, 0, got(1)), op(3, 4, doComplete, 1, no)},
			porcupine.Illegal,
		},
		{"losing an acknowledged completion is not valid", []porcupine.Operation{
			op(1, 2, doClaim, 0, got(1)),
			op(3, 4, doComplete, 1, yes), op(5, 6, doRead, 0, answer{Known: true, Claim: 1}),
		}, porcupine.Illegal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &history{ops: tt.ops}
			if got := h.check(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
