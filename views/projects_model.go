package views

import (
	"slices"
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// ProjectRow is a project of the list.
type ProjectRow struct {
	Project                  *task.Project
	OpenTasks, Review, Merge int
	Findings                 []task.Finding // of its repository; nil where it was not looked at
}

// ProjectModel is the page of one project, or the form for a new one.
type ProjectModel struct {
	New      bool
	OfTask   bool // the checks and the review of a task
	Form     ProjectForm
	Archived bool
	Findings []task.Finding // of the repository as it is in the form; nil: not looked at
	Looked   bool           // somebody asked for them just now
	Changed  string         // what somebody else changed meanwhile, or ""
	Key      string         // idempotency key; the same again after an error
	Errors   ui.FieldErrors
}

// ProjectForm is a project as a form holds it: numbers as they were typed.
type ProjectForm struct {
	Key, Name, Description, Repository, DefaultBranch, BranchPrefix string
	Setup                                                           string // one command per line
	Checks, MergeChecks                                             []CheckForm
	Approvals, From, ExpiresHours, StandIn                          string
	Merge                                                           bool
	Into, Method, KeepHours, Push                                   string
	Version                                                         int64
}

// CheckForm is a check as a form holds it.
type CheckForm struct {
	Name, Kind, What, Timeout string // What: the command, path or pattern, by its kind
	Required, Network         bool
}

// NewProjectForm fills the form with a project as it is.
func NewProjectForm(p *task.Project) ProjectForm {
	f := ProjectForm{
		Key: p.Key, Name: p.Name, Description: p.Description, Repository: p.Repository, DefaultBranch: p.DefaultBranch,
		BranchPrefix: p.BranchPrefix, Setup: strings.Join(p.Setup, "\n"), Checks: checkForms(p.Checks),
		Approvals: strconv.Itoa(p.Review.Approvals), From: strings.Join(p.Review.From, " "), StandIn: p.Review.StandIn,
		Version: p.Version,
	}
	if s := p.Review.ExpiresSeconds; s > 0 {
		f.ExpiresHours = number(float64(s) / 3600)
	}
	if m := p.Merge; m != nil {
		f.Merge, f.Into, f.Method, f.Push = true, m.Into, string(m.Method), m.Push
		f.MergeChecks, f.KeepHours = checkForms(m.Checks), strconv.Itoa(m.KeepBranchHours)
	}
	return f
}

func checkForms(list []task.Check) []CheckForm {
	forms := make([]CheckForm, len(list))
	for i, c := range list {
		forms[i] = CheckForm{Name: c.Name, Kind: string(c.Kind), Required: c.Required, Network: c.Network}
		switch c.Kind {
		case task.CheckFile:
			forms[i].What = c.Path
		case task.CheckChanged:
			forms[i].What = c.Glob
		default:
			forms[i].What = c.Run
		}
		if c.TimeoutSeconds > 0 {
			forms[i].Timeout = strconv.Itoa(c.TimeoutSeconds)
		}
	}
	return forms
}

// checkKinds are the kinds of evidence that a form offers.
var checkKinds = [][2]string{
	{string(task.CheckCommand), "Command exits with 0"},
	{string(task.CheckFile), "File exists"},
	{string(task.CheckChanged), "Matching file changed"},
	{string(task.CheckURL), "Task links a URL"},
}

var mergeMethods = [][2]string{
	{string(task.MergeSquash), "Squash: one commit with the task's title"},
	{string(task.MergeRebase), "Rebase: its commits on top of the branch"},
	{string(task.MergeFF), "Fast-forward: only if the branch has not moved"},
}

// worst is the worst level of findings, "" for none.
func worst(list []task.Finding) task.Level {
	var level task.Level
	for _, f := range list {
		if level == "" || f.Level == task.LevelError || f.Level == task.LevelWarning && level == task.LevelOK {
			level = f.Level
		}
	}
	return level
}

// levelSigns are the signs of the levels, their class, and how they are read.
var levelSigns = map[task.Level][3]string{
	task.LevelOK: {"✓", "text-ok", "OK"}, task.LevelWarning: {"⚠", "text-warn", "Warning"}, task.LevelError: {"✗", "text-bad", "Error"},
}

// reviewText describes a policy in short.
func reviewText(r task.Review) string {
	if r.Approvals == 0 {
		return "None"
	}
	return r.Text()
}

func mergeText(m *task.Merge) string {
	if m == nil {
		return "None"
	}
	return string(m.Method) + " into " + m.Into
}

func checksText(list []task.Check) string {
	if len(list) == 0 {
		return "None"
	}
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// checkField names a field of a check in a form, as the service names it.
func checkField(list string, i int, field string) string {
	return list + "[" + strconv.Itoa(i) + "]." + field
}

// whatProblem is what is wrong with what a check runs or looks for.
func (m *ProjectModel) whatProblem(list string, i int) string {
	for _, field := range []string{"run", "path", "glob"} {
		if p := m.Errors[checkField(list, i, field)]; p != "" {
			return p
		}
	}
	return ""
}

// firstProblem is the first finding that is not as it should be, nil for none.
func firstProblem(list []task.Finding) *task.Finding {
	for i := range list {
		if list[i].Level == task.LevelError {
			return &list[i]
		}
	}
	for i := range list {
		if list[i].Level == task.LevelWarning {
			return &list[i]
		}
	}
	return nil
}

// projectChoices are the projects that take tasks, and the one that is chosen.
func projectChoices(c Chrome, chosen string) []string {
	if chosen == "" || slices.Contains(c.Projects, chosen) {
		return c.Projects
	}
	return append([]string{chosen}, c.Projects...)
}

// approvalsHint explains how many votes a form asks for.
func approvalsHint(m *ProjectModel) string {
	if m.OfTask {
		return "0: nobody besides those required by its project and its agent."
	}
	return "0: nobody has to accept. A project that merges needs at least 1."
}
