package client

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
)

// Projects contains the commands for projects.
type Projects struct {
	List    ProjectList    `cmd:"" help:"List the projects with their open tasks."`
	Show    ProjectShow    `cmd:"" help:"Show a project: repository, checks, who accepts, where it merges."`
	Add     ProjectAdd     `cmd:"" help:"Add a project. Needs an admin token, like edit, archive, restore and examine."`
	Edit    ProjectEdit    `cmd:"" help:"Change only the given fields of a project."`
	Archive ProjectArchive `cmd:"" help:"Archive a project: it takes no new tasks."`
	Restore ProjectRestore `cmd:"" help:"Let an archived project take tasks again."`
	Examine ProjectExamine `cmd:"" help:"Examine the repository of a project; exit code 1 if it cannot be used."`

	JSON JSONFlag `name:"json" help:"Print the server's JSON answer."`
}

// OneProject is the argument for a project.
type OneProject struct {
	Key string `arg:"" name:"key" help:"Key of the project." complete:"project"`
}

func (p OneProject) path(suffix string) string {
	return "/api/projects/" + url.PathEscape(p.Key) + suffix
}

// projectLine is a project in the server's list.
type projectLine struct {
	task.Project
	OpenTasks, InReview, InMerge int
}

func (e *Env) projects() (raw []byte, list []projectLine, err error) {
	var out struct{ Projects []projectLine }
	raw, err = e.call("GET", "/api/projects", nil, &out)
	return raw, out.Projects, err
}

// ProjectList lists projects.
type ProjectList struct{ Quiet }

// Run lists projects by key.
func (c ProjectList) Run(e *Env) error {
	raw, list, err := e.projects()
	if err != nil {
		return err
	}
	return e.answer(raw, func() {
		rows := make([][]string, len(list))
		for i, p := range list {
			name := p.Name
			if p.Archived {
				name += " (archived)"
			}
			rows[i] = []string{p.Key, strconv.Itoa(p.OpenTasks), strconv.Itoa(p.InReview), strconv.Itoa(p.InMerge), p.Repository, name}
		}
		e.listed(c.Quiet.Quiet, []string{"KEY", "OPEN", "REVIEW", "MERGE", "REPOSITORY", "NAME"}, rows)
	})
}

// ProjectShow shows a project.
type ProjectShow struct{ OneProject }

// Run shows the whole project.
func (c *ProjectShow) Run(e *Env) error {
	return printCall(e, "GET", c.path(""), nil, e.showProject)
}

func (e *Env) showProject(p *task.Project) {
	e.say("%s: %s", printable(p.Key), printable(p.Name))
	state := ""
	if p.Archived {
		state = "archived: it takes no new tasks"
	}
	fields(e.Stdout, "state", state, "repository", p.Repository, "default branch", p.DefaultBranch, "branch prefix", p.BranchPrefix,
		"review", reviewText(p.Review), "merge", mergeText(p.Merge), "changed", at(p.UpdatedAt)+", version "+strconv.FormatInt(p.Version, 10))
	if p.Description != "" {
		e.part("Description", 1)
		indented(e.Stdout, "  ", p.Description)
	}
	e.part("Setup", len(p.Setup))
	for _, s := range p.Setup {
		e.say("  %s", printable(s))
	}
	e.part("Checks", len(p.Checks))
	e.checkLines(p.Checks)
	if p.Merge != nil {
		e.part("Checks of the merge", len(p.Merge.Checks))
		e.checkLines(p.Merge.Checks)
	}
}

func (e *Env) checkLines(list []task.Check) {
	pairs := make([]string, 0, 2*len(list))
	for _, c := range list {
		text := ""
		switch c.Kind {
		case task.CheckFile:
			text = "the file " + c.Path + " exists"
		case task.CheckChanged:
			text = "a file that matches " + c.Glob + " changed"
		case task.CheckURL:
			text = "a URL is attached"
		default:
			text = c.Run + "  (at most " + spanText(c.Timeout()) + ")"
		}
		if c.Required {
			text += ", required"
		}
		if c.Network {
			text += ", with network"
		}
		pairs = append(pairs, c.Name, text)
	}
	fields(e.Stdout, pairs...)
}

func reviewText(r task.Review) string {
	if r.Approvals == 0 {
		return "none"
	}
	text := counted(r.Approvals, "approval")
	if r.Approvals > 1 {
		text += "s"
	}
	if len(r.From) > 0 {
		text += " from " + r.Voters()
	}
	if r.ExpiresSeconds > 0 {
		text += ", reminded after " + spanText(time.Duration(r.ExpiresSeconds)*time.Second)
	}
	if r.StandIn != "" {
		text += ", then " + r.StandIn + " too"
	}
	return text
}

// acceptText describes a result's policies.
func acceptText(a task.Accept) string {
	all := a.All()
	if len(all) == 0 {
		return "none"
	}
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = reviewText(r)
	}
	return strings.Join(texts, "; and ")
}

func mergeText(m *task.Merge) string {
	if m == nil {
		return "none"
	}
	text := fmt.Sprintf("%s into %s, branches stay %s", m.Method, m.Into, spanText(time.Duration(m.KeepBranchHours)*time.Hour))
	if m.Push != "" {
		text += ", pushed to " + m.Push
	}
	return text
}

// spanText formats a duration as the flags accept it: 7d, 90m, 45s.
func spanText(d time.Duration) string {
	for _, unit := range []struct {
		d    time.Duration
		text string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d > 0 && d%unit.d == 0 {
			return strconv.FormatInt(int64(d/unit.d), 10) + unit.text
		}
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}

// ProjectArchive archives a project.
type ProjectArchive struct{ OneProject }

// Run archives it.
func (c *ProjectArchive) Run(e *Env) error { return c.archive(e, true, "archived") }

// ProjectRestore restores an archived project.
type ProjectRestore struct{ OneProject }

// Run restores it.
func (c *ProjectRestore) Run(e *Env) error { return c.archive(e, false, "restored") }

func (p OneProject) archive(e *Env, archived bool, did string) error {
	return p.change(e, did, func(now *task.Project) error {
		now.Archived = archived
		return nil
	})
}

// ProjectExamine examines the repository of a project.
type ProjectExamine struct{ OneProject }

// Run prints the findings. It returns an error if the project cannot be used.
func (c *ProjectExamine) Run(e *Env) error {
	var out struct{ Findings []task.Finding }
	raw, err := e.call("POST", c.path("/examine"), nil, &out)
	if err != nil {
		return err
	}
	bad := 0
	err = e.answer(raw, func() {
		for _, f := range out.Findings {
			e.say("%s %s", findingMarks[f.Level], printable(f.Message))
			if f.Fix != "" {
				indented(e.Stdout, "    ", f.Fix)
			}
		}
	})
	for _, f := range out.Findings {
		if f.Level == task.LevelError {
			bad++
		}
	}
	if err == nil && bad > 0 {
		err = fmt.Errorf("project %s cannot be used as it is: %s", c.Key, counted(bad, "problem(s)"))
	}
	return err
}

// findingMarks are the symbols for levels, as marks is for definitions.
var findingMarks = map[task.Level]string{task.LevelOK: "✓", task.LevelWarning: "⚠", task.LevelError: "✗"}
