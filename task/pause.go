package task

// Pause is a stop that a person has to end: of the whole instance, or of one
// agent. Nothing of it is dispatched and nobody signs up; what is claimed or
// running continues.
type Pause struct {
	Agent  string `json:"agent,omitempty" doc:"agent id; absent: the whole server"`
	By     string `json:"by" doc:"user:NAME, or system after identical failures"`
	Reason string `json:"reason"`
	Since  Time   `json:"since"`

	Stopped     int  `json:"stopped,omitzero" doc:"only for the whole server: runs that stop-everything canceled and that resume can restart"`
	StoppedRuns []ID `json:"-"`
}

// Restarted is what a resume did that restarts what was stopped.
type Restarted struct {
	Pauses Pauses `json:"pauses" doc:"what is paused now, with the whole server first"`
	Runs   []ID   `json:"restarted,omitempty" doc:"new runs of the tasks whose runs stop-everything canceled"`
}

// Err returns the error for what a pause stops. A pause ends when a person
// acts, so callers in a loop are told to wait a minute.
func (p *Pause) Err() *Error {
	what := "the server"
	if p.Agent != "" {
		what = "agent " + p.Agent
	}
	e := Errorf(Conflict, CodePaused, "%s has been paused by %s since %s: %s", what, ActorLabel(p.By), p.Since.Minute(), p.Brief())
	e.Retry = 60
	return e
}

// Brief is the reason in at most 300 characters.
func (p *Pause) Brief() string { return ClipChars(p.Reason, 300) }

// Pauses are all pauses at a time, the instance's first.
type Pauses []Pause

// For returns the pause that stops an agent: the instance's before its own, nil
// when nothing does. The agent "" is the instance.
func (ps Pauses) For(agent string) *Pause {
	if p := ps.Own(""); p != nil {
		return p
	}
	return ps.Own(agent)
}

// Own returns the agent's own pause, or the instance's for "".
func (ps Pauses) Own(agent string) *Pause {
	for i := range ps {
		if ps[i].Agent == agent {
			return &ps[i]
		}
	}
	return nil
}

// Stopped is what stopping everything did.
type Stopped struct {
	Pauses Pauses `json:"pauses" doc:"what is paused now"`
	Runs   []ID   `json:"stopped" doc:"the canceled runs: those that were running, and what they had delegated"`
}
