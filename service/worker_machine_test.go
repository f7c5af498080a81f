package service

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"taskyard/task"
)

// rapidTB fails the rapid test, so that it is shrunk, with the helpers that
// take a testing.TB.
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
	exact    bool // wakes are off, so the model knows all that happens
	versions map[task.ID]int64
	ended    map[task.ID]task.State
	free     map[string][]task.ID // what a signup would find after the last act
	waiters  map[string]*waiter   // one of each agent, who always waits
}

var modelOwners = []string{"coder", "planner", "reviewer", "pull"}

func TestTheServiceBehavesLikeTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { drive(t, rt, true) })
}

func TestWithWakesTheInvariantsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { drive(t, rt, false) })
}

func drive(t *testing.T, rt *rapid.T, exact bool) {
	y := newInstance(t, func(c *Config) { c.Wakes, c.EqualFailures = !exact, 0 })
	y.t = rapidTB{t, rt}
	s := &machine{
		instance: y, m: &model{now: y.s.Now()}, exact: exact, versions: map[task.ID]int64{},
		ended: map[task.ID]task.State{}, waiters: map[string]*waiter{},
	}
	for i, owner := range modelOwners { // something to act on, also in short sequences
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
	y.chain()
	ok(y.t, y.db.Close())
}

// expect compares a refusal with that of the model.
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
	k := &mTask{
		id: task.ID(len(s.m.tasks) + 1), owner: rapid.SampledFrom(modelOwners).Draw(rt, "owner"),
		byAgent: rapid.Bool().Draw(rt, "by an agent"),
	}
	k.status = rapid.SampledFrom([]task.Status{task.Active, task.Active, task.Draft}).Draw(rt, "status")
	s.add(k)
}

func (s *machine) add(k *mTask) {
	s.t.Helper()
	a := maya
	if k.byAgent {
		a = planner
	}
	got := s.create(a, k.owner, steps("a", "b"), func(in *task.New) { in.Status = k.status })
	equal(s.t, "id", got.ID, k.id)
	s.m.tasks = append(s.m.tasks, k)
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

func nesting(k *mTask) (n int) {
	for p := k.parent; p != nil; p = p.parent {
		n++
	}
	return n
}

func (s *machine) doPatch(rt *rapid.T) {
	k := s.pick(rt)
	status := rapid.SampledFrom([]string{"draft", "active", "done", "canceled", "working", "idle", "complete"}).Draw(rt, "status")
	_, err := s.patchStatus(k.id, status)
	s.expect(err, s.m.patch(k, status))
}

func (s *machine) doOwner(rt *rapid.T) {
	k, to := s.pick(rt), rapid.SampledFrom(modelOwners).Draw(rt, "to")
	_, err := s.s.UpdateTask(s.ctx(), maya, k.id, task.Patch{Owner: &to})
	if k.status.Archived() {
		s.expect(err, task.CodeArchived)
		return
	}
	s.expect(err, "")
	if to != k.owner {
		s.m.transfer(k, to)
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

// doBlock has a task wait for up to two others, which are drawn among all.
func (s *machine) doBlock(rt *rapid.T) {
	k, byAgent := s.pick(rt), rapid.Bool().Draw(rt, "by its owner")
	set := rapid.SliceOfNDistinct(rapid.IntRange(0, len(s.m.tasks)-1), 0, 2, rapid.ID).Draw(rt, "blockers")
	slices.Sort(set)
	var blockers []*mTask
	var ids []task.ID
	for _, i := range set {
		blockers, ids = append(blockers, s.m.tasks[i]), append(ids, s.m.tasks[i].id)
	}
	a := maya
	if byAgent {
		a = agentActor(k.owner)
	}
	_, err := s.s.SetBlockedBy(s.ctx(), a, k.id, ids)
	s.expect(err, s.m.block(k, blockers, byAgent))
	if byAgent && !k.status.Archived() && err == nil && s.m.live(k) {
		k.expires = s.m.now.Add(modelLease)
	}
}

// claimOf draws no claim id, the present one, or an old one.
func claimOf(rt *rapid.T, k *mTask) int64 {
	return rapid.SampledFrom([]int64{0, k.seq, max(0, k.seq-1)}).Draw(rt, "claim")
}

func (s *machine) doMove(rt *rapid.T) {
	k, to := s.pick(rt), rapid.SampledFrom(modelOwners).Draw(rt, "to")
	from, claim := rapid.SampledFrom([]string{k.owner, k.owner, "coder"}).Draw(rt, "from"), claimOf(rt, k)
	_, err := s.s.MoveTask(s.ctx(), maya, Move{TaskID: k.id, CurrentAgent: from, NewAgent: to, Comment: "x", Claim: claim})
	s.expect(err, s.m.move(k, from, to, claim))
}

func (s *machine) doComplete(rt *rapid.T) {
	k := s.pick(rt)
	claim := claimOf(rt, k)
	_, err := s.s.CompleteTask(s.ctx(), maya, k.id, "done", claim)
	switch {
	case k.status.Archived():
		s.expect(err, task.CodeArchived)
	case k.status == task.Draft:
		s.expect(err, task.CodeTransition)
	case claim != 0 && (!s.m.live(k) || claim != k.seq):
		s.expect(err, task.CodeStaleClaim)
	default:
		s.expect(err, "")
		s.m.complete(k)
	}
}

func (s *machine) doTalk(rt *rapid.T) {
	k := s.pick(rt)
	var err error
	want := map[bool]task.Code{true: task.CodeArchived}[k.status.Archived()]
	switch what := rapid.SampledFrom([]string{"comment", "ask", "reply"}).Draw(rt, "what"); what {
	case "comment":
		_, err = s.s.Comment(s.ctx(), maya, k.id, "news")
	case "ask":
		_, err = s.s.Ask(s.ctx(), agentActor(k.owner), k.id, "?", false)
		switch {
		case want != "":
		case k.question:
			want = task.CodeQuestionOpen
		case k.status != task.Active:
			want = task.CodeTaskNotActive
		default:
			k.question = true
			k.spoke = append(k.spoke, k.owner)
			if s.m.live(k) && s.m.open(k) == nil {
				k.release() // it comes back with the answer
			} else if s.m.live(k) {
				k.expires = s.m.now.Add(modelLease)
			}
		}
	case "reply":
		_, err = s.s.Reply(s.ctx(), oleg, k.id, "!")
		switch {
		case want != "":
		case !k.question:
			want = task.CodeNoQuestion
		default:
			k.question = false
			k.resume()
		}
	}
	s.expect(err, want)
	if want == "" {
		k.words++
	}
}

func (s *machine) doBeat(rt *rapid.T) {
	k := s.pick(rt)
	claim, release := claimOf(rt, k), rapid.Bool().Draw(rt, "release")
	act := s.s.Heartbeat
	if release {
		act = s.s.ReleaseClaim
	}
	_, err := act(s.ctx(), agentActor(k.owner), k.id, claim)
	switch {
	case k.status.Archived():
		s.expect(err, task.CodeArchived)
	case claim != 0 && (!s.m.live(k) || claim != k.seq):
		s.expect(err, task.CodeStaleClaim)
	case !s.m.live(k):
		s.expect(err, task.CodeNotWorking)
	case release:
		s.expect(err, "")
		k.release()
	default:
		s.expect(err, "")
		k.expires = s.m.now.Add(modelLease)
	}
}

func (s *machine) doWait(rt *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		time.Second, 31 * time.Second, 2 * time.Minute,
		time.Hour, 2 * time.Hour, 13 * time.Hour,
	}).Draw(rt, "time")
	s.forward(d)
	s.m.now = s.s.Now()
}
