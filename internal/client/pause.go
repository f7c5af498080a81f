package client

import (
	"cmp"

	"taskyard/task"
)

// WhoAmI shows the owner of the token.
type WhoAmI struct {
	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// Run prints name and role.
func (WhoAmI) Run(e *Env) error {
	return printCall(e, "GET", "/api/me", nil, func(me *Me) {
		fields(e.Stdout, "name", me.Name, "role", string(me.Role), "scope", me.Scope, "agent", me.Agent)
	})
}

// Pause pauses dispatch and claims.
type Pause struct {
	Agent  string   `arg:"" optional:"" help:"One agent (default: the whole instance)." complete:"agent"`
	Reason string   `required:"" help:"Reason, shown wherever the pause is visible; - reads it from stdin." placeholder:"TEXT"`
	JSON   JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// Run pauses.
func (c *Pause) Run(e *Env) error { return e.setPaused("/api/pause", c.Agent, c.Reason, "paused: ") }

// Resume ends a pause.
type Resume struct {
	Agent  string   `arg:"" optional:"" help:"One agent (default: the whole instance)." complete:"agent"`
	Reason string   `help:"Reason; - reads it from stdin." placeholder:"TEXT"`
	JSON   JSONFlag `name:"json" help:"Print the server's JSON answer."`

	Restart bool `help:"Restart the runs that were stopped with everything."`
}

// Run resumes.
func (c *Resume) Run(e *Env) error {
	var flags []string
	if c.Restart {
		flags = []string{"restart"}
	}
	return e.setPaused("/api/resume", c.Agent, c.Reason, "resumed: ", flags...)
}

// StopEverything pauses the instance and stops every run.
type StopEverything struct {
	Reason string   `required:"" help:"Reason, shown wherever the pause is visible; - reads it from stdin." placeholder:"TEXT"`
	JSON   JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// Run stops everything.
func (c *StopEverything) Run(e *Env) error {
	return e.setPaused("/api/stop-everything", "", c.Reason, "stopped and paused: ")
}

// setPaused pauses or resumes; flags are set in the request.
func (e *Env) setPaused(path, agent, reason, done string, flags ...string) error {
	reason, err := e.text(reason, "")
	if err != nil {
		return err
	}
	type answer struct {
		Pauses             task.Pauses
		Stopped, Restarted []task.ID
	}
	body := payload{}.text("agent", agent).text("reason", reason)
	for _, f := range flags {
		body[f] = true
	}
	return printCall(e, "POST", path, body, func(out *answer) {
		e.say("%s%s", done, printable(cmp.Or(agent, instance)))
		for _, id := range out.Stopped {
			e.say("run %s is being ended", id)
		}
		for _, id := range out.Restarted {
			e.say("run %s is queued", id)
		}
		e.part("Paused now", len(out.Pauses))
		for _, p := range out.Pauses {
			e.say("  %s", pauseLine(p))
		}
	})
}

// instance is the text for a command without an agent.
const instance = "the whole instance"

func pauseLine(p task.Pause) string {
	return hanging("    ", cmp.Or(p.Agent, instance)+", by "+p.By+" since "+at(p.Since)+": "+p.Reason)
}
