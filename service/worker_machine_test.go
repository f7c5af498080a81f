package service

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"taskyard/task"
)

// rapidTB passes failures of helpers that take a testing.TB to the rapid test, so that
// it is shrunk.
type rapidTB struct {
	testing.TB
	rt *rapid.T
}

func (r rapidTB) Helper()                   { r.rt.Helper() }
func (r rapidTB) Fatal(args ...any)         { r.rt.Fatal(args...) }
func (r rapidTB) Fatalf(s string, a ...any) { r.rt.Fatalf(s, a...) }

// machine drives the real instance and the model side by side.
type machine struct {
	*instance
	m        *model
	exact    bool // wakes are disabled, so the model is exact
	versions map[task.ID]int64
	ended    map[task.ID]task.State
	free     map[string][]task.ID // what a signup would find after the last action
	waiters  map[string]*waiter   // one per agent, always waiting
}

var modelOwners = []string{"coder", "planner", "reviewer", "pull"}

func TestTheServiceMatchesTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { drive(t, rt, true) })
}

func TestInvariantsHoldWithWakes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { drive(t, rt, false) })
}

func drive(t *testing.T, rt *rapid.T, exact bool) {
	inst := newInstance(t, func(c *Config) { c.Wakes, c.EqualFailures = !exact, 0 })
	inst.t = rapidTB{t, rt}
	s := &machine{
		instance: inst, m: &model{now: inst.s.Now()}, exact: exact, versions: map[task.ID]int64{},
		ended: map[task.ID]task.State{}, waiters: map[string]*waiter{},
	}
	for i, owner := range modelOwners { // tasks to act on, also in short sequences
		s.add(&mTask{id: task.ID(i + 1), owner: owner, byAgent: i%2 == 0, status: task.Active})
	}
	rt.Repeat(map[string]func(*rapid.T){
		"create":     s.doCreate,
		"subtask":    s.doSubtask,
		"patch":      s.doPatch,
		"owner":      s.doOwner,
		"signup":     s.doSignup,
		"move":       s.doMove,
		"complete":   s.doComplete,
		"talk":       s.doTalk,
		"beat":       s.doBeat,
		"block":      s.doBlock,
		"block too":  s.doBlock,
		"run":        s.doRun,
		"run too":    s.doRun,
		"decide":     s.doDecide,
		"decide too": s.doDecide,
		"start":      s.doStart,
		"start too":  s.doStart,
		"end":        s.doEnd,
		"rounds":     s.doRounds,
		"wait":       s.doWait,
		"":           s.check,
	})
	inst.checkChain()
	ok(inst.t, inst.db.Close())
}

// expect compares an error with that of the model.
func (s *machine) expect(err error, want task.Code) {
	s.t.Helper()
	if err != nil && want != "" && s.exact {
		refused(s.t, err, want)
	}
	if s.exact && (err == nil) != (want == "") {
		s.t.Fatalf("got error %v, want code %q", err, want)
	}
	if err != nil && task.IsCode(err, task.CodeInternal) {
		s.t.Fatalf("internal error: %v", err)
	}
}

func (s *machine) pick(rt *rapid.T) *mTask {
	if len(s.m.tasks) == 0 {
		rt.Skip("no task")
	}
	return s.m.tasks[rapid.IntRange(0, len(s.m.tasks)-1).Draw(rt, "task")]
}

func (s *machine) pickRun(rt *rapid.T, want func(*mRun) bool) *mRun {
	var list []*mRun
	for _, r := range s.m.runs {
		if want(r) {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		rt.Skip("no such run")
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(rt, "run")]
}

func (s *machine) doCreate(rt *rapid.T) {
	if len(s.m.tasks) > 8 {
		rt.Skip("enough")
	}
	tk := &mTask{
		id: task.ID(len(s.m.tasks) + 1), owner: rapid.SampledFrom(modelOwners).Draw(rt, "owner"),
		byAgent: rapid.Bool().Draw(rt, "by an agent"),
	}
	tk.status = rapid.SampledFrom([]task.Status{task.Active, task.Active, task.Draft}).Draw(rt, "status")
	s.add(tk)
}

func (s *machine) add(tk *mTask) {
	s.t.Helper()
	a := maya
	if tk.byAgent {
		a = planner
	}
	got := s.create(a, tk.owner, steps("a", "b"), func(in *task.New) { in.Status = tk.status })
	equal(s.t, "id", got.ID, tk.id)
	s.m.tasks = append(s.m.tasks, tk)
}

func (s *machine) doSubtask(rt *rapid.T) {
	p := s.pick(rt)
	owner := rapid.SampledFrom(modelOwners).Draw(rt, "owner")
	got, err := s.s.CreateSubtask(s.ctx(), maya, p.id, 0,
		task.New{Title: "part", Owner: owner, Steps: []task.Step{{Title: "a"}, {Title: "b"}}})
	var want task.Code
	switch {
	case p.status.Archived():
		want = task.CodeArchived
	case p.linked:
		want = task.CodeStepLinked
	}
	if want == "" && nesting(p) >= task.MaxNesting {
		want = task.CodeNestingLimit
	}
	s.expect(err, want)
	if err == nil {
		p.linked = true
		p.words++
		p.child = &mTask{id: got.ID, owner: owner, status: task.Active, parent: p}
		s.m.tasks = append(s.m.tasks, p.child)
		equal(s.t, "id", got.ID, task.ID(len(s.m.tasks)))
	}
}

func nesting(tk *mTask) (n int) {
	for p := tk.parent; p != nil; p = p.parent {
		n++
	}
	return n
}

func (s *machine) doPatch(rt *rapid.T) {
	tk := s.pick(rt)
	status := rapid.SampledFrom([]string{"draft", "active", "done", "canceled", "working", "idle", "complete"}).Draw(rt, "status")
	_, err := s.patchStatus(tk.id, status)
	s.expect(err, s.m.patch(tk, status))
}

func (s *machine) doOwner(rt *rapid.T) {
	tk, to := s.pick(rt), rapid.SampledFrom(modelOwners).Draw(rt, "to")
	_, err := s.s.UpdateTask(s.ctx(), maya, tk.id, task.Patch{Owner: &to})
	if tk.status.Archived() {
		s.expect(err, task.CodeArchived)
		return
	}
	s.expect(err, "")
	if to != tk.owner {
		s.m.transfer(tk, to)
	}
}

func (s *machine) doSignup(rt *rapid.T) {
	agent := rapid.SampledFrom(modelOwners).Draw(rt, "agent")
	list, err := s.s.Signup(s.ctx(), agentActor(agent), agent, 1)
	want, code := s.m.signup(agent)
	s.expect(err, code)
	if !s.exact || err != nil {
		return
	}
	equal(s.t, "something is given", len(list) == 1, want != nil)
	if want != nil {
		equal(s.t, "task", list[0].ID, want.id)
	}
}

// doBlock blocks a task by up to two random others.
func (s *machine) doBlock(rt *rapid.T) {
	tk, byAgent := s.pick(rt), rapid.Bool().Draw(rt, "by its owner")
	set := rapid.SliceOfNDistinct(rapid.IntRange(0, len(s.m.tasks)-1), 0, 2, rapid.ID).Draw(rt, "blockers")
	slices.Sort(set)
	var blockers []*mTask
	var ids []task.ID
	for _, i := range set {
		blockers, ids = append(blockers, s.m.tasks[i]), append(ids, s.m.tasks[i].id)
	}
	a := maya
	if byAgent {
		a = agentActor(tk.owner)
	}
	_, err := s.s.SetBlockedBy(s.ctx(), a, tk.id, ids)
	s.expect(err, s.m.block(tk, blockers, byAgent))
	if byAgent && !tk.status.Archived() && err == nil && s.m.live(tk) {
		tk.expires = s.m.now.Add(modelLease)
	}
}

// drawClaim draws no claim ID, the current one, or an old one.
func drawClaim(rt *rapid.T, tk *mTask) int64 {
	return rapid.SampledFrom([]int64{0, tk.seq, max(0, tk.seq-1)}).Draw(rt, "claim")
}

func (s *machine) doMove(rt *rapid.T) {
	tk, to := s.pick(rt), rapid.SampledFrom(modelOwners).Draw(rt, "to")
	from, claim := rapid.SampledFrom([]string{tk.owner, tk.owner, "coder"}).Draw(rt, "from"), drawClaim(rt, tk)
	_, err := s.s.MoveTask(s.ctx(), maya, Move{TaskID: tk.id, CurrentAgent: from, NewAgent: to, Comment: "x", Claim: claim})
	s.expect(err, s.m.move(tk, from, to, claim))
}

func (s *machine) doComplete(rt *rapid.T) {
	tk := s.pick(rt)
	claim := drawClaim(rt, tk)
	_, err := s.s.CompleteTask(s.ctx(), maya, tk.id, "done", claim)
	switch {
	case tk.status.Archived():
		s.expect(err, task.CodeArchived)
	case tk.status == task.Draft:
		s.expect(err, task.CodeTransition)
	case claim != 0 && (!s.m.live(tk) || claim != tk.seq):
		s.expect(err, task.CodeStaleClaim)
	default:
		s.expect(err, "")
		s.m.complete(tk)
	}
}

func (s *machine) doTalk(rt *rapid.T) {
	tk := s.pick(rt)
	var err error
	want := map[bool]task.Code{true: task.CodeArchived}[tk.status.Archived()]
	switch what := rapid.SampledFrom([]string{"comment", "ask", "reply"}).Draw(rt, "what"); what {
	case "comment":
		_, err = s.s.Comment(s.ctx(), maya, tk.id, "news")
	case "ask":
		_, err = s.s.Ask(s.ctx(), agentActor(tk.owner), tk.id, "?", false)
		switch {
		case want != "":
		case tk.question:
			want = task.CodeQuestionOpen
		case tk.status != task.Active:
			want = task.CodeTaskNotActive
		default:
			tk.question = true
			tk.spoke = append(tk.spoke, tk.owner)
			if s.m.live(tk) && s.m.open(tk) == nil {
				tk.release() // the answer brings it back
			} else if s.m.live(tk) {
				tk.expires = s.m.now.Add(modelLease)
			}
		}
	case "reply":
		_, err = s.s.Reply(s.ctx(), oleg, tk.id, "!")
		switch {
		case want != "":
		case !tk.question:
			want = task.CodeNoQuestion
		default:
			tk.question = false
			tk.resume()
		}
	}
	s.expect(err, want)
	if want == "" {
		tk.words++
	}
}

func (s *machine) doBeat(rt *rapid.T) {
	tk := s.pick(rt)
	claim, release := drawClaim(rt, tk), rapid.Bool().Draw(rt, "release")
	act := s.s.Heartbeat
	if release {
		act = s.s.ReleaseClaim
	}
	_, err := act(s.ctx(), agentActor(tk.owner), tk.id, claim)
	switch {
	case tk.status.Archived():
		s.expect(err, task.CodeArchived)
	case claim != 0 && (!s.m.live(tk) || claim != tk.seq):
		s.expect(err, task.CodeStaleClaim)
	case !s.m.live(tk):
		s.expect(err, task.CodeNotWorking)
	case release:
		s.expect(err, "")
		tk.release()
	default:
		s.expect(err, "")
		tk.expires = s.m.now.Add(modelLease)
	}
}

func (s *machine) doWait(rt *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		time.Second, 31 * time.Second, 2 * time.Minute,
		time.Hour, 2 * time.Hour, 13 * time.Hour,
	}).Draw(rt, "time")
	s.Forward(d)
	s.m.now = s.s.Now()
}
