package service

import (
	"slices"
	"strconv"
	"time"

	"taskyard/task"
)

// model is the instance in memory, without wakes, as designed. Each method performs
// one action and returns the error code, or "" if it succeeds.
type model struct {
	now   task.Time
	tasks []*mTask // by ID, starting with 1
	runs  []*mRun  // by ID, starting with 1
}

type mTask struct {
	id       task.ID
	owner    string
	byAgent  bool
	grant    string   // "", or the owner for whom a reviewer approved all runs
	agreed   bool     // a person consented to an agent's task
	spoke    []string // agents that wrote text since
	status   task.Status
	parent   *mTask
	linked   bool
	child    *mTask // its subtask
	last     *mRun  // its newest run
	resumes  bool   // is first in its queue
	seq      int64  // ID of the last claim
	holder   string
	expires  task.Time
	question bool
	blockers []*mTask // by ID
	failures int
	words    int // changes with every other change of the prompt
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
	expires   task.Time // of the approval
	approved  bool
	scope     task.Scope
	frozen    string // prompt at the time of the freeze
}

const (
	modelLease    = 2 * time.Hour
	modelRunLease = time.Minute
	modelAttempts = 3
)

func (m *model) live(tk *mTask) bool { return tk.holder != "" && tk.expires > m.now }

func (m *model) open(tk *mTask) *mRun {
	for _, r := range m.runs {
		if r.task == tk && !r.state.Status.Final() {
			return r
		}
	}
	return nil
}

// held reports whether a task in the set is not done; lost reports whether one was
// canceled.
func (tk *mTask) held() bool {
	return slices.ContainsFunc(tk.blockers, func(b *mTask) bool { return b.status != task.Done })
}

func (tk *mTask) lost() bool {
	return slices.ContainsFunc(tk.blockers, func(b *mTask) bool { return b.status == task.Canceled })
}

// reaches reports whether k waits for to, through open tasks.
func (tk *mTask) reaches(to *mTask) bool {
	return slices.ContainsFunc(tk.blockers, func(b *mTask) bool {
		return b == to || !b.status.Archived() && b.reaches(to)
	})
}

// block sets the blockers of tk.
func (m *model) block(tk *mTask, set []*mTask, byAgent bool) task.Code {
	if tk.status.Archived() {
		return task.CodeArchived
	}
	if slices.Equal(set, tk.blockers) {
		return ""
	}
	for _, b := range set {
		if b == tk {
			return task.CodeDependencyCycle
		}
	}
	for _, b := range tk.blockers {
		if byAgent && b.status == task.Canceled && !slices.Contains(set, b) {
			return task.CodeForbidden
		}
	}
	for _, b := range set {
		if !b.status.Archived() && b.reaches(tk) {
			return task.CodeDependencyCycle
		}
	}
	tk.blockers = set
	return ""
}

func (m *model) claim(tk *mTask) {
	tk.seq++
	tk.holder, tk.expires, tk.resumes = tk.owner, m.now.Add(modelLease), false
}

// resume puts a task first in its queue unless it is claimed.
func (tk *mTask) resume() {
	if tk != nil && tk.status == task.Active && tk.holder == "" {
		tk.resumes = true
	}
}

func (tk *mTask) release() { tk.holder, tk.expires = "", 0 }

// end ends a run, and with it the run's claim if it is still valid.
func (m *model) end(r *mRun, s task.State) {
	r.state = s
	if tk := r.task; r.claim != 0 && m.live(tk) && tk.seq == r.claim {
		tk.release()
	}
}

func (m *model) closeRun(tk *mTask) {
	if r := m.open(tk); r != nil {
		m.end(r, task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
	}
}

func (m *model) archive(tk *mTask, s task.Status) {
	m.closeRun(tk)
	tk.status, tk.question, tk.grant = s, false, ""
	tk.release()
}

func (m *model) complete(tk *mTask) {
	m.archive(tk, task.Done)
	tk.parent.resume()
}

func (m *model) cancel(tk *mTask) {
	for _, c := range m.tasks {
		for p := c.parent; p != nil; p = p.parent {
			if p == tk && !c.status.Archived() {
				m.archive(c, task.Canceled)
			}
		}
	}
	m.archive(tk, task.Canceled)
	tk.parent.resume()
}

func (m *model) patch(tk *mTask, status string) task.Code {
	switch {
	case tk.status.Archived():
		return task.CodeArchived
	case status == string(tk.status):
		return ""
	case status == "canceled":
		m.cancel(tk)
		return ""
	case status == "active":
		tk.status = task.Active
		tk.agree("")
		tk.words++
		return ""
	case tk.status == task.Draft || status == "draft":
		return task.CodeTransition
	}
	switch status {
	case "done", "complete":
		m.complete(tk)
	case "working":
		switch {
		case m.live(tk):
			return task.CodeClaimed
		case m.open(tk) != nil, tk.question, tk.held():
			return task.CodeTaskGated
		}
		m.claim(tk)
	case "idle":
		if !m.live(tk) {
			return task.CodeNotWorking
		}
		tk.release()
	}
	return ""
}

func (m *model) transfer(tk *mTask, to string) {
	m.closeRun(tk)
	tk.owner, tk.failures = to, 0
	tk.release()
	tk.words++
}

func (m *model) move(tk *mTask, from, to string, claim int64) task.Code {
	switch {
	case tk.status.Archived():
		return task.CodeArchived
	case tk.owner != from:
		return task.CodeNotAssigned
	case !m.live(tk):
		return task.CodeNotWorking
	case claim != 0 && claim != tk.seq:
		return task.CodeStaleClaim
	}
	m.transfer(tk, to)
	return ""
}

// signup returns the task that the agent gets, or nil.
func (m *model) signup(agent string) (*mTask, task.Code) {
	held := 0
	var first *mTask
	for _, tk := range m.tasks {
		if tk.owner != agent || tk.status != task.Active {
			continue
		}
		if m.live(tk) {
			held++
		}
		if tk.holder == "" && !tk.question && !tk.held() && m.open(tk) == nil && (first == nil || tk.resumes && !first.resumes) {
			first = tk
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

func (m *model) runnable(tk *mTask) task.Code {
	switch {
	case tk.status.Archived():
		return task.CodeArchived
	case tk.owner == "pull":
		return task.CodePullOnly
	case tk.status != task.Active:
		return task.CodeTaskNotActive
	case m.open(tk) != nil:
		return task.CodeRunOpen
	case m.live(tk):
		return task.CodeClaimed
	case tk.question, tk.held():
		return task.CodeTaskGated
	}
	return ""
}

// agree records a person's consent to the current task, with or without a grant.
func (tk *mTask) agree(grant string) { tk.grant, tk.agreed, tk.spoke = grant, true, nil }

// waits reports whether agents did something that not even a grant covers.
func (tk *mTask) waits() bool {
	return tk.byAgent && !tk.agreed || slices.ContainsFunc(tk.spoke, func(by string) bool {
		return by != tk.owner && (tk.owner == "coder" || tk.owner == "planner") // the others have no additional rights
	})
}

func (tk *mTask) mustApprove() bool { return tk.waits() || tk.grant != "" }

func (m *model) create(tk *mTask, cause task.Cause, notBefore task.Time) {
	r := &mRun{id: task.ID(len(m.runs) + 1), task: tk, agent: tk.owner, state: queued, cause: cause, notBefore: notBefore}
	if tk.mustApprove() {
		m.freeze(r)
	}
	m.runs = append(m.runs, r)
	tk.last = r
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

// prompt returns a stand-in for the prompt's bytes. It includes the subtask and, if
// its last run went badly, that run; blockers that come and go leave no trace.
func (tk *mTask) prompt() string {
	s := strconv.Itoa(tk.words)
	for _, b := range tk.blockers {
		s += "," + b.id.String()
	}
	if c := tk.child; c != nil {
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
	r.task.words++ // for the notice in the thread
	r.task.parent.resume()
}

// next returns the run that starts, or nil. Runs that may not start are ended or sent
// back to reviewers.
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
		tk := r.task
		switch {
		case m.live(tk), tk.question, tk.held():
			m.end(r, task.State{Status: task.RunCanceled, Phase: task.PhaseTaskClosed})
		case tk.mustApprove() && (!r.approved || r.frozen != tk.prompt() && (r.scope != task.ScopeTask || tk.grant != r.agent || tk.waits())):
			m.refreeze(r)
		default:
			m.claim(tk)
			r.claim, r.lease, r.beats = tk.seq, r.lease+1, m.now.Add(modelRunLease)
			r.state = task.State{Status: task.RunRunning, Phase: task.PhaseWorking}
			return r
		}
	}
}

func (m *model) finish(r *mRun, s task.State, permanent bool) {
	tk := r.task
	m.end(r, s)
	if s.Status == task.RunCompleted {
		tk.failures = 0
		return
	}
	if tk.failures++; permanent {
		tk.failures = max(tk.failures, modelAttempts)
	}
	if tk.failures >= modelAttempts || tk.question || tk.held() || tk.owner == "pull" || tk.owner != r.agent {
		return
	}
	at := m.now.Add(30 * time.Second << (tk.failures - 1))
	if s.Phase == task.PhaseLost {
		at = 0
	}
	m.create(tk, task.CauseRetry, at)
}

func (m *model) tick() (n int) {
	for _, tk := range m.tasks {
		if m.runnable(tk) == "" && tk.failures < modelAttempts {
			m.create(tk, task.CauseTick, 0)
			n++
		}
	}
	return n
}
