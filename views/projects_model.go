package views

import (
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// ProjectRow is a project of the list.
type ProjectRow struct {
	Project                  *task.Project
	OpenTasks, Review, Merge int
	Findings                 []task.Finding // for its repository; nil: not examined
}

// ProjectModel is the page of one project, or the form for a new one.
type ProjectModel struct {
	New      bool
	OfTask   bool // the checks and the review of a task
	Form     ProjectForm
	Archived bool
	Findings []task.Finding // for the repository in the form; nil: not examined
	Examined bool           // someone has just requested them
	Changed  string         // changes by someone else in the meantime, or ""
	Key      string         // idempotency key, kept after an error
	Errors   ui.FieldErrors
}

// ProjectForm contains the form fields of a project: numbers as typed.
type ProjectForm struct {
	Key, Name, Description, Repository, DefaultBranch, BranchPrefix string
	Setup                                                           string // one command per line
	Checks, MergeChecks                                             []CheckForm
	Approvals, From, ExpiresHours, StandIn                          string
	Merge                                                           bool
	Into, Method, KeepHours, Push                                   string
	Version                                                         int64
}

// CheckForm contains the form fields of a check.
type CheckForm struct {
	Name, Kind, What, Timeout string // What: the command, path or pattern, depending on the kind
	Required, Network         bool
	Added                     bool // just now, by a button of the form
}

// codeInput are the attributes of a field that holds a name or a command.
func codeInput() templ.Attributes {
	return templ.Attributes{"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
}

// nameInput are the attributes of the name of a check. That of a row that was
// just added gets the focus.
func nameInput(ch *CheckForm) templ.Attributes {
	a := codeInput()
	if ch.Added {
		a["autofocus"] = true
	}
	return a
}

// NewProjectForm returns the form for a project.
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

// checkKinds are the kinds of evidence in the form.
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

// worstLevel is the worst level of findings, "" for none.
func worstLevel(list []task.Finding) task.Level {
	var level task.Level
	for _, f := range list {
		if level == "" || f.Level == task.LevelError || f.Level == task.LevelWarning && level == task.LevelOK {
			level = f.Level
		}
	}
	return level
}

// levelSigns are the symbols of the levels, their class, and their text.
var levelSigns = map[task.Level][3]string{
	task.LevelOK: {"✓", "text-ok", "OK"}, task.LevelWarning: {"⚠", "text-warn", "Warning"}, task.LevelError: {"✗", "text-bad", "Error"},
}

// reviewText summarizes a policy.
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

// checkField returns the service's name for a field of a check.
func checkField(list string, i int, field string) string {
	return list + "[" + strconv.Itoa(i) + "]." + field
}

// whatProblem returns the error in what a check runs or looks for.
func (m *ProjectModel) whatProblem(list string, i int) string {
	for _, field := range []string{"run", "path", "glob"} {
		if p := m.Errors[checkField(list, i, field)]; p != "" {
			return p
		}
	}
	return ""
}

// firstProblem returns the first finding that is a problem, nil for none.
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

// projectChoices returns the projects that accept tasks, and the selected one.
func projectChoices(c Chrome, chosen string) []string {
	if chosen == "" || slices.Contains(c.Projects, chosen) {
		return c.Projects
	}
	return append([]string{chosen}, c.Projects...)
}

// approvalsHint explains the number of votes in the form.
func approvalsHint(m *ProjectModel) string {
	if m.OfTask {
		return "0: nobody besides those required by its project and its agent."
	}
	return "0: nobody has to accept. A project that merges needs at least 1."
}
