package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"

	"taskyard/task"
)

// Start is a run that has just been claimed, with all that its runner needs.
type Start struct {
	Run    *task.Run
	Spec   task.Spec
	Agent  task.Agent
	Runner Runner // as it was configured when Spec was made
	Token  string // dies with the run; told once
}

// NextRun claims the next queued run that this server may start now, or
// returns nil, with the moment at which one may (0: no such moment). busy
// names tasks whose former process is not gone yet. Runs for workers are left
// to LeaseRun.
func (s *Service) NextRun(ctx context.Context, busy map[task.ID]bool) (*Start, task.Time, error) {
	decisionAt, err := s.settle(ctx)
	if err != nil {
		return nil, 0, err
	}
	closing, err := s.closeDue(ctx)
	if err != nil {
		return nil, 0, err
	}
	start, later, err := s.nextRun(ctx, task.Actor{}, 0, busy, func(_ task.Agent, r Runner) bool { return !r.Worker })
	return start, earlier(later, earlier(decisionAt, closing)), err
}

func (s *Service) nextRun(ctx context.Context, worker task.Actor, parent task.ID, busy map[task.ID]bool,
	takes func(task.Agent, Runner) bool,
) (*Start, task.Time, error) {
	secret := newSecret()
	var later task.Time
	start, err := mutate(ctx, s, task.SystemActor, func(tx *txn) (start *Start, err error) {
		d := dispatcher{txn: tx, worker: worker, parent: parent, busy: busy, accepts: takes, secret: secret}
		start, later, err = d.next()
		return start, err
	})
	return start, later, err
}

// dispatcher starts the next queued run, on this server or on a worker.
type dispatcher struct {
	*txn
	worker  task.Actor                    // who executes the run; zero: this server
	parent  task.ID                       // only what this run delegated; 0: any run
	busy    map[task.ID]bool              // tasks whose former process has not ended yet
	accepts func(task.Agent, Runner) bool // reports whether the runs of an agent may start here
	secret  string                        // the token of the run that starts
}

// next starts the first run that is startable. If there is none, it returns
// the moment at which one may be, 0 for none.
func (d *dispatcher) next() (*Start, task.Time, error) {
	for {
		r, later, err := d.pick()
		if err != nil || r == nil {
			return nil, later, err
		}
		start, err := d.start(r)
		if err != nil || start != nil {
			return start, later, err
		}
	}
}

// server is the server whose runs may start: those on workers are bound to none.
func (d *dispatcher) server() string {
	if d.worker.TokenID != 0 {
		return ""
	}
	return d.s.serverID()
}

// mayTake reports whether the runs of an agent may start here. Those of an
// agent without a definition are for the server, which ends them.
func (d *dispatcher) mayTake(agent string) (bool, error) {
	if current, err := d.definitionIsCurrent(agent); err != nil || !current {
		return false, err // AgentsChanged wakes the dispatcher
	}
	def, ok := d.s.agents.Agent(agent)
	if !ok {
		return d.worker.TokenID == 0, nil
	}
	return d.accepts(def, d.s.runner(def.Runner)), nil
}

func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return "ty_" + base64.RawURLEncoding.EncodeToString(b)
}

// pick finds the oldest queued run whose agent and instance have a free place.
func (d *dispatcher) pick() (*task.Run, task.Time, error) {
	byAgent, total, ticked, err := d.RunningCounts()
	if err != nil {
		return nil, 0, err
	}
	if r, err := d.pickDelegated(total); err != nil || r != nil || d.parent != 0 {
		return r, 0, err
	}
	if total >= d.s.config().MaxParallel {
		return nil, 0, nil
	}
	agents, later, err := d.QueuedAgents()
	if err != nil {
		return nil, 0, err
	}
	if agents, err = d.withoutPaused(agents); err != nil || len(agents) == 0 {
		return nil, 0, err
	}
	agents, until, err := d.withinBudget(agents)
	if err != nil {
		return nil, 0, err
	}
	later = earlier(later, until)
	var best *task.Run
	for _, id := range agents {
		if ok, err := d.mayTake(id); err != nil {
			return nil, 0, err
		} else if !ok {
			continue
		}
		if def, ok := d.s.agents.Agent(id); ok && byAgent[id] >= max(1, def.MaxParallel) {
			continue
		}
		r, err := d.NextQueued(id, d.server(), ticked >= d.s.config().TickConcurrency)
		if err != nil {
			return nil, 0, err
		}
		if r != nil && !d.busy[r.TaskID] && d.s.leaveReason(r) == "" && (best == nil || r.ID < best.ID) {
			best = r
		}
	}
	return best, later, nil
}

// withoutPaused leaves out the agents that are paused; a resume notifies the
// dispatcher to look again.
func (tx *txn) withoutPaused(agents []string) (list []string, err error) {
	for _, id := range agents {
		p, err := tx.pausedBy(id)
		if err != nil {
			return nil, err
		}
		if p == nil {
			list = append(list, id)
		}
	}
	return list, nil
}

// start moves a queued run to running. It returns nil when the run turned
// out not to be startable: it is then ended, or asks for approval again.
func (d *dispatcher) start(r *task.Run) (*Start, error) {
	def, err := d.s.startableAgent(r.Agent)
	if err != nil {
		return nil, d.endCanceled(r, task.PhaseBy, err.Error(), nil)
	}
	now := d.s.runner(def.Runner)
	if !d.accepts(def, now) {
		return nil, nil // the definition or the runner changed this very moment
	}
	tk, err := d.Task(r.TaskID)
	if err != nil {
		return nil, err
	}
	reason, err := d.blocked(tk, r)
	if err != nil {
		return nil, err
	}
	if err := d.checkCanWorkOn(def, tk); err != nil {
		return nil, d.endCanceled(r, task.PhaseBy, err.Error(), nil)
	}
	if reason != "" {
		return nil, d.endCanceled(r, task.PhaseTaskClosed, reason, nil)
	}
	v, err := d.assessRights(tk, def, r)
	if err != nil {
		return nil, err
	}
	spec, err := d.runSpec(def, now, tk, r)
	if err != nil {
		return nil, err
	}
	ok, err := d.stillApproved(r, tk, spec, v)
	if err != nil || !ok {
		return nil, err
	}
	limits := spec.Limits
	if r.Approval != nil && r.Approval.Decision == "approved" {
		limits = r.Limits // maybe tighter
	}
	spec.Limits, spec.Traits = limits, now.RunnerTraits
	r.Spec, r.Limits, r.Model, r.DefinitionHash = &spec, limits, spec.Model, spec.DefinitionHash
	start, err := d.begin(r, tk, def, spec)
	if start != nil {
		start.Runner = now
	}
	return start, err
}

// blocked says why a queued run may not start, "" when it may.
func (tx *txn) blocked(tk *task.Task, r *task.Run) (string, error) {
	switch {
	case tk.Status != task.Active:
		return "the task is " + string(tk.Status), nil
	case tk.Owner != r.Agent:
		return "the task belongs to " + tk.Owner + " by now", nil
	case tk.Claim != nil:
		return "the task is claimed by " + task.ActorLabel(tk.Claim.Holder), nil
	case tk.QuestionID != 0:
		return "the task waits for an answer", nil
	case tk.Awaits != "":
		return "the task " + awaitsText(tk), nil
	}
	words, err := tx.blockedText(tk)
	if words != "" {
		words = "the task is " + words
	}
	return words, err
}

// stillApproved sends a run whose approval is missing or void back to the
// reviewers.
func (tx *txn) stillApproved(r *task.Run, tk *task.Task, spec task.Spec, v rightsAssessment) (bool, error) {
	if !v.needsApproval {
		return true, nil
	}
	if a := r.Approval; a != nil && a.Decision == "approved" {
		if a.Version == specHash(spec) {
			return true, nil
		}
		hash, _, _, err := tx.Grant(tk.ID)
		if err != nil || a.Scope == task.ScopeTask && !v.waits && hash == grantHash(spec, tk) {
			return err == nil, err
		}
	}
	return false, tx.refreeze(r, spec, v.reason)
}

func (d *dispatcher) begin(r *task.Run, tk *task.Task, def task.Agent, spec task.Spec) (*Start, error) {
	if err := d.Claim(tk.ID, tk.Owner, max(d.s.config().Lease, 2*d.s.config().RunLease)); err != nil {
		return nil, err
	}
	now, err := d.TaskRow(tk.ID)
	if err != nil {
		return nil, err
	}
	if r.Worker, r.Server = d.worker.TokenID, ""; r.Worker == 0 {
		r.Server = d.s.serverID()
	}
	ok, err := d.StartRun(r, now.Claim.ID, d.s.config().RunLease)
	if err != nil || !ok {
		return nil, err
	}
	sum := sha256.Sum256([]byte(d.secret))
	token := task.Token{
		Name: "run " + r.ID.String(), Hint: d.secret[:hintSize], Scope: "agent:" + r.Agent,
		Agent: r.Agent, RunID: r.ID, CreatedBy: task.System,
	}
	if _, err := d.InsertToken(token, sum[:]); err != nil {
		return nil, err
	}
	if err := d.SaveDefinition(def.Hash, def.ID, def.Text); err != nil {
		return nil, err
	}
	for _, m := range []task.Message{
		{Role: task.SpeakerSystem, Type: "prompt", Author: task.System, Content: spec.SystemPrompt},
		{Role: task.SpeakerUser, Type: "prompt", Author: task.System, Content: spec.Prompt},
	} {
		m.TaskID, m.RunID, m.Kind = tk.ID, r.ID, task.KindRun
		if _, err := d.InsertMessage(m); err != nil {
			return nil, err
		}
	}
	c := changes{"claim": now.Claim.ID, "definition": def.Hash}
	if d.worker.TokenID != 0 {
		c["worker"] = d.worker.Name
	}
	if err := d.runEvent(task.EvRunStarted, r, c); err != nil {
		return nil, err
	}
	started, err := d.Run(r.ID)
	return &Start{Run: started, Spec: spec, Agent: def, Token: d.secret}, err
}

// RegisterStop makes the service call cancel when the run must stop. The caller removes
// it with UnregisterStop once the run's processes have exited.
func (s *Service) RegisterStop(run task.ID, cancel context.CancelCauseFunc) {
	s.stops.Store(run, cancel)
}

// UnregisterStop forgets a run that has ended, and lets the next one start.
func (s *Service) UnregisterStop(run task.ID) {
	s.stops.Delete(run)
	s.signal()
}

func (s *Service) stopRun(run task.ID, cause error) {
	if cancel, ok := s.stops.Load(run); ok {
		cancel.(context.CancelCauseFunc)(cause)
	} else if stop, ok := s.workerStops.Load(run); ok {
		(*stop.(*context.CancelCauseFunc))(cause)
	}
}

// RunWorking records the process of a run that has received its prompt. Error:
// stale lease, if the run was ended in the meantime.
func (s *Service) RunWorking(ctx context.Context, id task.ID, lease int64, pid int, start, boot string) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		r, err := tx.leasedRun(id, lease)
		if err != nil {
			return err
		}
		if _, err := tx.SetProcess(id, lease, pid, start, boot); err != nil {
			return err
		}
		if r.Phase != task.PhaseStarting {
			return nil // its program was started again, for what people said
		}
		return tx.enterPhaseLive(r, task.PhaseWorking)
	})
}

// enterPhase moves a running run to another phase. Error: CodeRunEnded if it has
// ended meanwhile.
func (tx *txn) enterPhase(r *task.Run, phase task.Phase) error {
	if ok, err := tx.MoveRun(r, task.State{Status: task.RunRunning, Phase: phase}); err != nil || !ok {
		return errorOrEnded(r, err)
	}
	r.Phase = phase
	return nil
}

// enterPhaseLive is enterPhase that pages show although the log has no event of it.
func (tx *txn) enterPhaseLive(r *task.Run, phase task.Phase) error {
	tx.signals.Topics = append(tx.signals.Topics, "run:"+r.ID.String(), "task:"+r.TaskID.String(), "scheduler")
	return tx.enterPhase(r, phase)
}

// RunCondensing records that the agent of a run ended well and its summary is
// being made. Error: stale lease.
func (s *Service) RunCondensing(ctx context.Context, id task.ID, lease int64) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		r, err := tx.leasedRun(id, lease)
		if err != nil {
			return err
		}
		return tx.enterPhaseLive(r, task.PhaseCondensing)
	})
}

// leasedRun returns a running run whose lease is the caller's.
func (tx *txn) leasedRun(id task.ID, lease int64) (*task.Run, error) {
	r, err := tx.Run(id)
	if err != nil {
		return nil, err
	}
	if r.Status != task.RunRunning || r.Lease != lease {
		return nil, staleLeaseError(r)
	}
	return r, nil
}

// RunHeartbeat renews the lease of a run and the claim it holds.
func (s *Service) RunHeartbeat(ctx context.Context, id task.ID, lease int64) error {
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		r, err := tx.leasedRun(id, lease)
		if err != nil {
			return err
		}
		return tx.beat(r)
	})
}

func (tx *txn) beat(r *task.Run) error {
	if _, err := tx.BeatRun(r.ID, r.Lease, tx.s.config().RunLease); err != nil {
		return err
	}
	tk, err := tx.TaskRow(r.TaskID)
	if err != nil || tk.Claim == nil || tk.Claim.ID != r.ClaimID {
		return err
	}
	return tx.Renew(tk.ID, tx.s.config().Lease)
}

// AppendTranscript adds lines to a run's transcript, and counts the use that
// they tell: over a limit or a budget the run ends here. Error: stale lease.
func (s *Service) AppendTranscript(ctx context.Context, id task.ID, lease int64, lines []task.Message) error {
	var r *task.Run
	err := change(ctx, s, task.SystemActor, func(tx *txn) (err error) {
		if r, err = tx.leasedRun(id, lease); err != nil {
			return err
		}
		return tx.appendLines(r, lines)
	})
	if err == nil && s.config().TaskTool.Verbose && r.Delegated() {
		s.logLines(ctx, r, lines)
	}
	return err
}

// appendLines adds lines to a transcript, and counts the use that they tell.
func (tx *txn) appendLines(r *task.Run, lines []task.Message) error {
	for _, m := range lines {
		m.TaskID, m.RunID, m.Kind = r.TaskID, r.ID, task.KindRun
		if m.Author == "" {
			m.Author = r.Agent
		}
		if _, err := tx.InsertMessage(m); err != nil {
			return err
		}
	}
	tx.signals.Topics = append(tx.signals.Topics, "run:"+r.ID.String())
	return tx.recordUsage(r, lines)
}
