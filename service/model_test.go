package service

import (
	"slices"
	"strconv"
	"time"

	"taskyard/task"
)

// model is the instance in memory, without wakes, as the design tells it. Each
// method does one act and returns the code of the refusal, "" for none.
type model struct {
	now   task.Time
	tasks []*mTask // by id, the first is 1
	runs  []*mRun  // by id, the first is 1
}

type mTask struct {
	id       task.ID
	owner    string
	byAgent  bool
	grant    string   // "", or the owner for whom a reviewer approved all runs
	agreed   bool     // a person consented to an agent's task
	spoke    []string // agents that spoke since
	status   task.Status
	parent   *mTask
	linked   bool
	child    *mTask // its subtask
	last     *mRun  // its newest run
	resumes  bool   // comes first in its queue
	seq      int64  // id of the last claim
	holder   string
	expires  task.Time
	question bool
	blockers []*mTask // by id
	failures int
	words    int // moves with everything else that a prompt shows
}

type mRun struct {
	id        task.ID
	task      *mTask
	agent     string
	state     task.State
	cause     task.Cause
	notBefore task.Time
	claim     int64
	lease     int64
	beats     task.Time // end of the lease
	expires   task.Time // of the wait for approval
	approved  bool
	scope     task.Scope
	frozen    string // prompt at the time of the freeze
}

const (
	modelLease    = 2 * time.Hour
	modelRunLease = time.Minute
	modelAttempts = 3
)

func (m *model) live(k *mTask) bool { return k.holder != "" && k.expires > m.now }

func (m *model) open(k *mTask) *mRun {
	for _, r := range m.runs {
		if r.task == k && !r.state.Status.Final() {
			return r
		}
	}
	return nil
}

// held reports whether a task in its set is not done; lost, whether one never
// will be.
func (k *mTask) held() bool {
	return slices.ContainsFunc(k.blockers, func(b *mTask) bool { return b.status != task.Done })
}

func (k *mTask) lost() bool {
	return slices.ContainsFunc(k.blockers, func(b *mTask) bool { return b.status == task.Canceled })
}

// reaches reports whether k waits for to, through open tasks.
func (k *mTask) reaches(to *mTask) bool {
	return slices.ContainsFunc(k.blockers, func(b *mTask) bool {
		return b == to || !b.status.Archived() && b.reaches(to)
	})
}

// block sets the tasks that must be done before k.
func (m *model) block(k *mTask, set []*mTask, byAgent bool) task.Code {
	if k.status.Archived() {
		return task.CodeArchived
	}
	if slices.Equal(set, k.blockers) {
		return ""
	}
	for _, b := range set {
		if b == k {
			return task.CodeDependencyCycle
		}
	}
	for _, b := range k.blockers {
		if byAgent && b.status == task.Canceled && !slices.Contains(set, b) {
			return task.CodeForbidden
		}
	}
	for _, b := range set {
		if !b.status.Archived() && b.reaches(k) {
			return task.CodeDependencyCycle
		}
	}
	k.blockers = set
	return ""
}

func (m *model) claim(k *mTask) {
	k.seq++
	k.holder, k.expires, k.resumes = k.owner, m.now.Add(modelLease), false
}

// resume puts a task first in its queue, unless somebody has it.
func (k *mTask) resume() {
	if k != nil && k.status == task.Active && k.holder == "" {
		k.resumes = true
	}
}

func (k *mTask) release() { k.holder, k.expires = "", 0 }

// end ends a run; its own claim ends with it, if it still holds.
func (m *model) end(r *mRun, s task.State) {
	r.state = s
	if k := r.task; r.claim != 0 && m.live(k) && k.seq == r.claim {
		k.release()
	}
}

func (m *model) closeRun(k *mTask) {
	if r := m.open(k); r != nil {
		m.end(r, task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
	}
}

func (m *model) archive(k *mTask, s task.Status) {
	m.closeRun(k)
	k.status, k.question, k.grant = s, false, ""
	k.release()
}

func (m *model) complete(k *mTask) {
	m.archive(k, task.Done)
	k.parent.resume()
}

func (m *model) cancel(k *mTask) {
	for _, c := range m.tasks {
		for p := c.parent; p != nil; p = p.parent {
			if p == k && !c.status.Archived() {
				m.archive(c, task.Canceled)
			}
		}
	}
	m.archive(k, task.Canceled)
	k.parent.resume()
}

func (m *model) patch(k *mTask, status string) task.Code {
	switch {
	case k.status.Archived():
		return task.CodeArchived
	case status == string(k.status):
		return ""
	case status == "canceled":
		m.cancel(k)
		return ""
	case status == "active":
		k.status = task.Active
		k.agree("")
		k.words++
		return ""
	case k.status == task.Draft || status == "draft":
		return task.CodeTransition
	}
	switch status {
	case "done", "complete":
		m.complete(k)
	case "working":
		switch {
		case m.live(k):
			return task.CodeClaimed
		case m.open(k) != nil, k.question, k.held():
			return task.CodeTaskGated
		}
		m.claim(k)
	case "idle":
		if !m.live(k) {
			return task.CodeNotWorking
		}
		k.release()
	}
	return ""
}

func (m *model) transfer(k *mTask, to string) {
	m.closeRun(k)
	k.owner, k.failures = to, 0
	k.release()
	k.words++
}

func (m *model) move(k *mTask, from, to string, claim int64) task.Code {
	switch {
	case k.status.Archived():
		return task.CodeArchived
	case k.owner != from:
		return task.CodeNotAssigned
	case !m.live(k):
		return task.CodeNotWorking
	case claim != 0 && claim != k.seq:
		return task.CodeStaleClaim
	}
	m.transfer(k, to)
	return ""
}

// signup returns the task that the agent gets, or nil.
func (m *model) signup(agent string) (*mTask, task.Code) {
	held := 0
	var first *mTask
	for _, k := range m.tasks {
		if k.owner != agent || k.status != task.Active {
			continue
		}
		if m.live(k) {
			held++
		}
		if k.holder == "" && !k.question && !k.held() && m.open(k) == nil && (first == nil || k.resumes && !first.resumes) {
			first = k
		}
	}
	if agent == "pull" && held >= 2 {
		return nil, task.CodeMaxClaims
	}
	if first != nil {
		m.claim(first)
	}
	return first, ""
}

func (m *model) runnable(k *mTask) task.Code {
	switch {
	case k.status.Archived():
		return task.CodeArchived
	case k.owner == "pull":
		return task.CodePullOnly
	case k.status != task.Active:
		return task.CodeTaskNotActive
	case m.open(k) != nil:
		return task.CodeRunOpen
	case m.live(k):
		return task.CodeClaimed
	case k.question, k.held():
		return task.CodeTaskGated
	}
	return ""
}

// agree is a person's consent to a task as it is, by a grant or without.
func (k *mTask) agree(grant string) { k.grant, k.agreed, k.spoke = grant, true, nil }

// waits reports whether not even a grant covers what agents did.
func (k *mTask) waits() bool {
	return k.byAgent && !k.agreed || slices.ContainsFunc(k.spoke, func(by string) bool {
		return by != k.owner && (k.owner == "coder" || k.owner == "planner") // the others have what all have
	})
}

func (k *mTask) mustApprove() bool { return k.waits() || k.grant != "" }

func (m *model) create(k *mTask, cause task.Cause, notBefore task.Time) {
	r := &mRun{id: task.ID(len(m.runs) + 1), task: k, agent: k.owner, state: queued, cause: cause, notBefore: notBefore}
	if k.mustApprove() {
		m.freeze(r)
	}
	m.runs = append(m.runs, r)
	k.last = r
}

func (m *model) freeze(r *mRun) {
	r.frozen = r.task.prompt()
	if r.task.grant == r.agent && !r.task.waits() {
		r.state, r.approved, r.scope = queued, true, task.ScopeTask
		return
	}
	m.refreeze(r)
}

func (m *model) refreeze(r *mRun) {
	r.frozen, r.state, r.approved, r.scope, r.expires = r.task.prompt(), waiting, false, "", m.now.Add(24*time.Hour)
}

// prompt stands for the bytes of the prompt, in which the subtask is, and its
// last run if that went badly: blockers that come and go leave no trace in it.
func (k *mTask) prompt() string {
	s := strconv.Itoa(k.words)
	for _, b := range k.blockers {
		s += "," + b.id.String()
	}
	if c := k.child; c != nil {
		s += "; " + c.owner + " " + string(c.status)
		if r := c.last; !c.status.Archived() && r != nil &&
			(r.state.Status == task.RunFailed || r.state.Phase == task.PhaseDenied || r.state.Phase == task.PhaseExpired) {
			s += " " + r.id.String()
		}
	}
	return s
}

func (m *model) approve(r *mRun, scope task.Scope) task.Code {
	switch {
	case r.state != waiting && r.state.Status.Final() && !r.approved &&
		!slices.Contains([]task.Phase{task.PhaseDenied, task.PhaseExpired}, r.state.Phase):
		return task.CodeRunEnded
	case r.state != waiting, r.expires <= m.now:
		return task.CodeRunDecided
	case r.frozen != r.task.prompt():
		m.refreeze(r)
		return task.CodeRunChanged
	}
	r.state, r.approved, r.scope = queued, true, scope
	if scope == task.ScopeTask {
		r.task.agree(r.agent)
	}
	return ""
}

func (m *model) refuse(r *mRun, phase task.Phase) {
	m.end(r, task.State{Status: task.RunCanceled, Phase: phase})
	r.task.words++ // the notice in the thread
	r.task.parent.resume()
}

// next is the run that starts, or nil; those that may not start are ended or
// sent back to the reviewers on the way.
func (m *model) next() *mRun {
	limit := map[string]int{"coder": 1, "planner": 1, "reviewer": 2}
	for {
		running, ticked, total := map[string]int{}, 0, 0
		for _, r := range m.runs {
			if r.state.Status == task.RunRunning {
				running[r.agent]++
				total++
				if r.cause == task.CauseTick {
					ticked++
				}
			}
		}
		i := slices.IndexFunc(m.runs, func(r *mRun) bool {
			return r.state == queued && r.notBefore <= m.now && running[r.agent] < limit[r.agent] && (ticked == 0 || r.cause != task.CauseTick)
		})
		if i < 0 || total >= 4 {
			return nil
		}
		r := m.runs[i]
		k := r.task
		switch {
		case m.live(k), k.question, k.held():
			m.end(r, task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
		case k.mustApprove() && (!r.approved || r.frozen != k.prompt() && (r.scope != task.ScopeTask || k.grant != r.agent || k.waits())):
			m.refreeze(r)
		default:
			m.claim(k)
			r.claim, r.lease, r.beats = k.seq, r.lease+1, m.now.Add(modelRunLease)
			r.state = task.State{Status: task.RunRunning, Phase: task.PhaseWorking}
			return r
		}
	}
}

func (m *model) finish(r *mRun, s task.State, permanent bool) {
	k := r.task
	m.end(r, s)
	if s.Status == task.RunCompleted {
		k.failures = 0
		return
	}
	if k.failures++; permanent {
		k.failures = max(k.failures, modelAttempts)
	}
	if k.failures >= modelAttempts || k.question || k.held() || k.owner == "pull" || k.owner != r.agent {
		return
	}
	at := m.now.Add(30 * time.Second << (k.failures - 1))
	if s.Phase == task.PhaseLost {
		at = 0
	}
	m.create(k, task.CauseRetry, at)
}

func (m *model) tick() (n int) {
	for _, k := range m.tasks {
		if m.runnable(k) == "" && k.failures < modelAttempts {
			m.create(k, task.CauseTick, 0)
			n++
		}
	}
	return n
}
