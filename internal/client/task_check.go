package client

import (
	"fmt"
	"net/url"
	"strings"

	"taskyard/task"
)

// Demanded are a task's own requirements before it is done.
type Demanded struct {
	Check     []string `help:"Check of this task, such as 'name=e2e,run=make e2e,required'; may be repeated. Needs a reviewer, as the next flags do." placeholder:"CHECK" sep:"none"`
	Approvals *int     `help:"How many people must accept the result, in addition to what the project requires; 0: nobody." placeholder:"N"`
	Reviewer  []string `help:"Person or role whose vote counts for that (default: everyone who may decide); may be repeated." placeholder:"NAME" sep:"none"`
	Expires   *string  `help:"Remind these reviewers after this time, such as 3d or 12h." placeholder:"TIME"`
	StandIn   *string  `help:"Person who may also accept after that time." placeholder:"NAME"`
}

// changesPolicy reports whether a flag sets who must accept.
func (d *Demanded) changesPolicy() bool {
	return d.Approvals != nil || d.Reviewer != nil || d.Expires != nil || d.StandIn != nil
}

// put adds the given flags to a request; had is the current policy.
func (d *Demanded) put(body map[string]any, current *task.Review) error {
	if d.Check != nil {
		list, err := readChecks("--check", d.Check, nil)
		if err != nil {
			return err
		}
		body["checks"] = list
	}
	if !d.changesPolicy() {
		return nil
	}
	r := task.Review{Approvals: 1}
	if current != nil {
		r = *current
	}
	f := ProjectFields{Approvals: d.Approvals, Reviewer: d.Reviewer, Expires: d.Expires, StandIn: d.StandIn}
	if err := f.applyReview(&r); err != nil {
		return err
	}
	body["policy"] = r
	return nil
}

// TaskCheck shows the checks of a task, or runs one again.
type TaskCheck struct {
	ID   string `arg:"" name:"id" help:"ID of the task." complete:"task"`
	Name string `arg:"" optional:"" name:"check" help:"Check to run again; without it the checks are listed."`
}

// Run lists the checks or runs one. It returns an error if the check did not
// pass.
func (c *TaskCheck) Run(e *Env) error {
	id, err := parseID(c.ID)
	if err != nil {
		return err
	}
	path := "/api/tasks/" + id + "/checks"
	if c.Name == "" {
		return e.listChecks(path)
	}
	var run task.CheckRun
	raw, err := e.complete(path+"/"+url.PathEscape(c.Name)+"/run", nil, &run)
	if err != nil {
		return err
	}
	if err := e.answer(raw, func() {
		e.showChecks([]task.CheckRun{run})
		if run.Log != "" {
			indented(e.Stdout, "    ", run.Log)
		}
	}); err != nil {
		return err
	}
	if run.Verdict != task.CheckPassed {
		return fmt.Errorf("check %s of task %s did not pass: %s", run.Name, id, strings.ReplaceAll(string(run.Verdict), "_", " "))
	}
	return nil
}

// listChecks prints the checks in effect, and their last results.
func (e *Env) listChecks(path string) error {
	type answer struct {
		InForce []task.InForce
		Policy  task.Accept
		Checks  []task.CheckRun
	}
	return printCall(e, "GET", path, nil, func(out *answer) {
		fields(e.Stdout, "review", acceptText(out.Policy))
		rows := make([][]string, len(out.InForce))
		for i, c := range out.InForce {
			found := "not run yet"
			for _, run := range out.Checks {
				if run.Name == c.Name && !run.Merge {
					found = strings.ReplaceAll(string(run.Verdict), "_", " ") + " at " + at(run.CreatedAt)
					break
				}
			}
			rows[i] = []string{c.Name, strings.TrimPrefix(c.Text(), c.Name+": "), c.From, found}
		}
		e.table([]string{"CHECK", "LOOKS AT", "FROM", "LAST"}, rows)
	})
}
