package handlers

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// projectForm parses the form of a project.
func projectForm(c echo.Context) views.ProjectForm {
	version, _ := strconv.ParseInt(c.FormValue("version"), 10, 64) // an invalid number counts as 0
	return views.ProjectForm{
		Key: strings.TrimSpace(c.FormValue("key")), Name: strings.TrimSpace(c.FormValue("name")), Description: text(c, "description"),
		Repository: strings.TrimSpace(c.FormValue("repository")), DefaultBranch: strings.TrimSpace(c.FormValue("defaultBranch")),
		BranchPrefix: strings.TrimSpace(c.FormValue("branchPrefix")), Setup: text(c, "setup"),
		Checks: checkRows(c, "checks"), MergeChecks: checkRows(c, "merge.checks"),
		Approvals: c.FormValue("review.approvals"), From: c.FormValue("review.from"),
		ExpiresHours: c.FormValue("review.expiresSeconds"), StandIn: strings.TrimSpace(c.FormValue("review.standIn")),
		Merge: c.FormValue("merge") != "", Into: strings.TrimSpace(c.FormValue("merge.into")), Method: c.FormValue("merge.method"),
		KeepHours: c.FormValue("merge.keepBranchHours"), Push: strings.TrimSpace(c.FormValue("merge.push")), Version: version,
	}
}

// checkRows parses the rows of checks in a form: as many as have a name field.
func checkRows(c echo.Context, list string) []views.CheckForm {
	var rows []views.CheckForm
	form := c.Request().Form
	for i := range task.MaxChecks + 1 {
		at := list + "[" + strconv.Itoa(i) + "]."
		if !form.Has(at + "name") {
			break
		}
		rows = append(rows, views.CheckForm{
			Name: strings.TrimSpace(form.Get(at + "name")), Kind: form.Get(at + "kind"), What: form.Get(at + "what"),
			Timeout: form.Get(at + "timeoutSeconds"), Required: form.Get(at+"required") != "", Network: form.Get(at+"network") != "",
		})
	}
	return rows
}

// changeRows adds or removes a check if the pressed button says so.
func changeRows(f *views.ProjectForm, act string) bool {
	words := strings.Fields(act)
	if len(words) < 2 {
		return false
	}
	list := &f.Checks
	if words[1] == "merge.checks" {
		list, f.Merge = &f.MergeChecks, true
	}
	switch {
	case words[0] == "add":
		if len(*list) <= task.MaxChecks {
			*list = append(*list, views.CheckForm{Kind: string(task.CheckCommand), Required: true, Added: true})
		}
		return true
	case words[0] == "remove" && len(words) == 3:
		if i, err := strconv.Atoi(words[2]); err == nil && i >= 0 && i < len(*list) {
			*list = slices.Delete(*list, i, i+1)
		}
		return true
	}
	return false
}

// projectFromForm returns the project that a form describes. Errors name the
// form's fields.
func projectFromForm(f views.ProjectForm) (task.Project, error) {
	var problems task.Problems
	number := func(field, s string) int {
		if s = strings.TrimSpace(s); s == "" {
			return 0
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			problems.Add(field, "must be a whole number")
		}
		return n
	}
	p := task.Project{
		Key: f.Key, Name: f.Name, Description: f.Description, Repository: f.Repository, DefaultBranch: f.DefaultBranch,
		BranchPrefix: f.BranchPrefix, Setup: lines(f.Setup), Checks: formChecks("checks", f.Checks, number),
		Review: task.Review{Approvals: number("review.approvals", f.Approvals), From: words(f.From), StandIn: f.StandIn},
	}
	if s := strings.TrimSpace(f.ExpiresHours); s != "" {
		hours, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(hours) || hours < 0 || hours > 365*24 {
			problems.Add("review.expiresSeconds", "must be 0 to 8760 hours")
		} else {
			p.Review.ExpiresSeconds = int(math.Round(hours * 3600))
		}
	}
	if f.Merge {
		p.Merge = &task.Merge{
			Into: f.Into, Method: task.MergeMethod(f.Method), Checks: formChecks("merge.checks", f.MergeChecks, number),
			KeepBranchHours: number("merge.keepBranchHours", f.KeepHours), Push: f.Push,
		}
	}
	return p, problems.Err()
}

func formChecks(list string, rows []views.CheckForm, number func(field, s string) int) []task.Check {
	checks := make([]task.Check, len(rows))
	for i, r := range rows {
		at := list + "[" + strconv.Itoa(i) + "]."
		checks[i] = task.Check{
			Name: r.Name, Kind: task.CheckKind(r.Kind), TimeoutSeconds: number(at+"timeoutSeconds", r.Timeout),
			Required: r.Required, Network: r.Network,
		}
		switch what := strings.TrimSpace(r.What); checks[i].Kind {
		case task.CheckFile:
			checks[i].Path = what
		case task.CheckChanged:
			checks[i].Glob = what
		case task.CheckURL:
		default:
			checks[i].Run = what
		}
	}
	return checks
}
