package client

import (
	"strings"
	"time"

	"taskyard/task"
)

// Runs contains the commands for runs.
type Runs struct {
	List    RunList    `cmd:"" help:"List runs, newest first."`
	Show    RunShow    `cmd:"" help:"Show a run: its result, or what will run while it waits for approval."`
	Log     RunLog     `cmd:"" name:"transcript" help:"Show what the agent of a run said and did."`
	Wait    RunWait    `cmd:"" help:"Wait until a run ends; exit code 1 unless it completed."`
	Approve RunApprove `cmd:"" help:"Approve a waiting run, exactly as it was shown."`
	Deny    RunDeny    `cmd:"" help:"Deny a waiting run, or a tool call for which a run asks permission."`
	Allow   RunAllow   `cmd:"" help:"Allow a tool call for which a run asks permission."`
	Cancel  RunCancel  `cmd:"" help:"Cancel an open run."`
	Message RunMessage `cmd:"" help:"Send a message to the agent of a running run."`
	Retry   RunRetry   `cmd:"" help:"Run the task of an ended run again."`

	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// OneRun is the argument for a run.
type OneRun struct {
	ID string `arg:"" name:"id" help:"ID of the run."`
}

// shownRun is a run with its plan while it waits for approval.
type shownRun struct {
	task.Run
	ranWork
	Spec     *task.Spec         `json:"spec"`
	Enforced []task.Enforcement `json:"enforcement"`
	Messages []task.RunMessage  `json:"said"`
}

// RunList lists runs.
type RunList struct {
	Status string `help:"pending, running, completed, failed or canceled." complete:"pending,running,completed,failed,canceled"`
	Agent  string `help:"Only runs of this agent." placeholder:"AGENT" complete:"agent"`
	Task   string `help:"Only runs of this task." placeholder:"ID" complete:"task"`
	Limit  int    `help:"Maximum number of results (1 to 200; default 50)." placeholder:"N"`
	Before string `help:"Continue after an earlier page." placeholder:"CURSOR"`
	Quiet
}

// Run lists runs.
func (c *RunList) Run(e *Env) error {
	q := params{}.set("status", c.Status).set("agent", c.Agent).set("task", c.Task).num("limit", c.Limit).set("before", c.Before)
	type page struct {
		Runs []*task.Run
		Next string
	}
	return printCall(e, "GET", q.appendTo("/api/runs"), nil, func(p *page) {
		rows := make([][]string, len(p.Runs))
		for i, r := range p.Runs {
			rows[i] = []string{r.ID.String(), runState(r), hash(r.TaskID), r.Agent, string(r.Cause), at(r.CreatedAt), r.TaskTitle}
		}
		e.listed(c.Quiet.Quiet, []string{"RUN", "STATE", "TASK", "AGENT", "CAUSE", "CREATED", "TITLE"}, rows)
		e.more("--before", p.Next)
	})
}

// RunShow shows a run.
type RunShow struct{ OneRun }

// Run shows a run.
func (c *RunShow) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	return printCall(e, "GET", "/api/runs/"+id, nil, e.showRun)
}

func (e *Env) showRun(r *shownRun) {
	e.say("run %s of %s %s", r.ID, hash(r.TaskID), printable(r.TaskTitle))
	ended, used := at(r.EndedAt), ""
	if r.StartedAt != 0 {
		used = counted(r.Usage.ToolCalls, "tool calls") + ", "
		if r.UsageUnknown() {
			used += "tokens unknown"
		} else {
			used += approx(r.Usage.Estimated) + counted(r.Usage.Tokens(), "tokens")
		}
		if r.Usage.CostUSD > 0 {
			used += ", " + approx(r.Usage.Estimated) + usd(r.Usage.CostUSD)
		}
	}
	if r.StartedAt != 0 && r.EndedAt != 0 {
		ended += ", after " + r.Duration(r.EndedAt).Round(time.Second).String()
	}
	fields(e.Stdout,
		"state", runState(&r.Run), "reason", r.Reason, "agent", r.Agent, "model", r.Model,
		"cause", causeLine(&r.Run), "why", strings.ReplaceAll(r.StartReason, "\n", ", "),
		"created", at(r.CreatedAt), "started", at(r.StartedAt), "ended", ended,
		"used", used,
		"artifacts", strings.Join(r.Artifacts, " "))
	if r.Summary != "" {
		e.part("Summary", 1)
		indented(e.Stdout, "  ", r.Summary)
	}
	if r.Permission != nil {
		e.part("Permission", 1)
		e.showPermission(r.Permission)
		e.say("\nTo decide: taskyard run allow %s %d", r.ID, r.Permission.N)
		e.say("       or: taskyard run deny %s %d --reason TEXT", r.ID, r.Permission.N)
	}
	e.showSaid(r.Messages)
	e.showWork(&r.ranWork)
	e.showApproval(r)
}

// causeLine returns why a run was created, and who asked for it.
func causeLine(r *task.Run) string {
	line := string(r.Cause)
	if r.RetryOf != 0 {
		line += " of run " + r.RetryOf.String()
	}
	if r.Automatic() {
		return line + ", automatic because that failed"
	}
	return line + ", asked by " + r.AskedBy
}

// showApproval prints what a reviewer needs, and how to decide.
func (e *Env) showApproval(r *shownRun) {
	if r.Approval == nil {
		return
	}
	e.part("Approval", 1)
	a := r.Approval
	if a.Decision != "" {
		fields(e.Stdout, "decision", a.Decision+" by "+a.By+", "+at(a.At), "reason", a.Reason, "scope", string(a.Scope))
		return
	}
	fields(e.Stdout, "version", a.Version, "expires", at(a.ExpiresAt), "why", a.RequestReason)
	if s := r.Spec; s != nil {
		fields(e.Stdout, "runner", s.Runner, "model", s.Model, "tools", strings.Join(s.Tools, " "), "workspace", s.Place(),
			"timeout", s.Limits.Timeout().String(), "environment", strings.Join(s.Env, " "))
		e.showEnforcement(r.Enforced)
		e.part("System prompt", 1)
		indented(e.Stdout, "  ", s.SystemPrompt)
		e.part("Prompt", 1)
		indented(e.Stdout, "  ", s.Prompt)
	}
	e.say("\nTo decide: taskyard run approve %s --version %s", r.ID, printable(a.Version))
	e.say("       or: taskyard run deny %s --reason TEXT", r.ID)
}

// showEnforcement prints the requirements and whether the runner enforces them.
func (e *Env) showEnforcement(list []task.Enforcement) {
	if len(list) == 0 {
		return
	}
	e.part("Asked for, and enforced", 1)
	rows := make([][]string, len(list))
	for i, level := range list {
		rows[i] = []string{level.What, level.Asked, strings.ReplaceAll(string(level.Level), "_", " "), level.How}
	}
	e.table([]string{"TOOL OR LIMIT", "ASKED FOR", "ENFORCED", "HOW"}, rows)
}

// RunWait waits for the end of a run.
type RunWait struct {
	OneRun
	Timeout time.Duration `help:"Timeout, such as 10m; 0 means none." default:"0"`
}

// Run polls until the run has ended.
func (c *RunWait) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	var late <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		late = t.C
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var r shownRun
		raw, err := e.call("GET", "/api/runs/"+id, nil, &r)
		if err != nil {
			return err
		}
		if r.Status.Final() {
			return e.ended(raw, &r)
		}
		select {
		case <-tick.C:
		case <-late:
			return &WaitError{"run " + id + " is still " + runState(&r.Run)}
		case <-e.Ctx.Done():
			return e.Ctx.Err()
		}
	}
}

// ended prints a finished run; it returns an error unless the run completed.
func (e *Env) ended(raw []byte, r *shownRun) error {
	if err := e.answer(raw, func() { e.showRun(r) }); err != nil {
		return err
	}
	if r.Status != task.RunCompleted {
		return &WaitError{"run " + r.ID.String() + " is " + runState(&r.Run) + ": " + hanging("  ", r.Reason)}
	}
	return nil
}

// WaitError means that the expected result did not occur.
type WaitError struct{ Message string }

func (f *WaitError) Error() string { return f.Message }
