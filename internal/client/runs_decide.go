package client

import "taskyard/task"

// RunApprove approves a run.
type RunApprove struct {
	OneRun
	Version   string  `help:"Fail if what would run no longer has this version, which run show prints."`
	Scope     string  `help:"once (default): this run; task: every run of this task until it closes." complete:"once,task"`
	Timeout   int     `help:"Lower limit." placeholder:"SECONDS"`
	MaxTokens int     `help:"Lower limit." placeholder:"N"`
	MaxTurns  int     `help:"Lower limit." placeholder:"N"`
	MaxCost   float64 `help:"Lower limit." placeholder:"USD"`
}

// Run approves.
func (c *RunApprove) Run(e *Env) error {
	body := payload{}.text("version", c.Version).text("scope", c.Scope)
	limits := task.Limits{TimeoutSeconds: c.Timeout, MaxTokens: c.MaxTokens, MaxTurns: c.MaxTurns, MaxCostUSD: c.MaxCost}
	if limits != (task.Limits{}) {
		body["limits"] = limits
	}
	return e.decide(c.ID, "/approve", body)
}

// RunDeny denies a run, or one of its permission requests.
type RunDeny struct {
	OneRun
	Permission string `arg:"" optional:"" help:"Number of the permission that it asks for, as run show prints it."`
	Reason     string `required:"" help:"Reason, sent to the agent that asked; - reads it from stdin." placeholder:"TEXT"`
}

// Run denies.
func (c *RunDeny) Run(e *Env) error {
	reason, err := e.text(c.Reason, "")
	if err != nil {
		return err
	}
	if c.Permission != "" {
		return e.permission(c.OneRun, c.Permission, "/deny", payload{"reason": reason})
	}
	return e.decide(c.ID, "/deny", payload{"reason": reason})
}

// RunAllow allows a permission request of a run.
type RunAllow struct {
	OneRun
	Permission string `arg:"" help:"Number of the permission that it asks for, as run show prints it."`
	Scope      string `help:"once (default): this call; run: every call of this tool until the run ends." complete:"once,run"`
}

// Run allows it.
func (c *RunAllow) Run(e *Env) error {
	return e.permission(c.OneRun, c.Permission, "/allow", payload{}.text("scope", c.Scope))
}

// permission decides on a permission request of a run.
func (e *Env) permission(run OneRun, number, act string, body payload) error {
	id, err := parseID(run.ID)
	if err != nil {
		return err
	}
	n, err := parseID(number)
	if err != nil {
		return err
	}
	return printCall(e, "POST", "/api/runs/"+id+"/permissions/"+n+act, body, func(r *task.Run) {
		p := r.Permission
		switch {
		case p == nil:
			e.sayRun(r, false)
		case p.Decision == task.PermissionDenied:
			e.say("denied the call of %s by run %s", printable(p.Tool), r.ID)
		case p.Scope == task.ScopeRun:
			e.say("run %s may call %s until it ends", r.ID, printable(p.Tool))
		default:
			e.say("run %s may make this call of %s", r.ID, printable(p.Tool))
		}
	})
}

// RunCancel ends a run.
type RunCancel struct {
	OneRun
	Reason string `help:"Reason; - reads it from stdin." placeholder:"TEXT"`
}

// Run ends the run.
func (c *RunCancel) Run(e *Env) error {
	reason, err := e.text(c.Reason, "")
	if err != nil {
		return err
	}
	return e.decide(c.ID, "/cancel", payload{}.text("reason", reason))
}

// RunRetry runs again.
type RunRetry struct {
	OneRun
	Quiet
}

// Run creates the new run.
func (c *RunRetry) Run(e *Env) error {
	return e.onRun(c.ID, "/retry", nil, c.Quiet.Quiet)
}

func (e *Env) decide(id, suffix string, body payload) error { return e.onRun(id, suffix, body, false) }

func (e *Env) onRun(given, suffix string, body any, quiet bool) error {
	id, err := parseID(given)
	if err != nil {
		return err
	}
	return printCall(e, "POST", "/api/runs/"+id+suffix, body, func(r *task.Run) { e.sayRun(r, quiet) })
}
