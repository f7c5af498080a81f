package client

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"taskyard/task"
)

func TestChecksAreReadFromFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       task.Check
		bad        string
	}{
		{
			"a command", "name=test,run=go test ./...,timeout=10m,required",
			task.Check{Name: "test", Kind: task.CheckCommand, Run: "go test ./...", TimeoutSeconds: 600, Required: true},
			"",
		},
		{
			"a command with = and quotes", `name=env, run=A=1 sh -c "make x",network`,
			task.Check{Name: "env", Kind: task.CheckCommand, Run: `A=1 sh -c "make x"`, Network: true},
			"",
		},
		{"a quoted comma", `name=x,"run=echo a,b"`, task.Check{Name: "x", Kind: task.CheckCommand, Run: "echo a,b"}, ""},
		{"a file", "name=r,file=report.md", task.Check{Name: "r", Kind: task.CheckFile, Path: "report.md"}, ""},
		{"changed files", "name=d,changed=docs/**,required", task.Check{Name: "d", Kind: task.CheckChanged, Glob: "docs/**", Required: true}, ""},
		{"a URL", "url,name=pr", task.Check{Name: "pr", Kind: task.CheckURL}, ""},
		{"an unquoted comma", "name=x,run=echo a,b", task.Check{}, `"b" is not part of a check`},
		{"two kinds of check at once", "name=x,run=a,file=b", task.Check{}, "more than one check"},
		{"no name", "run=a", task.Check{}, "has no name"},
		{"no evidence", "name=a,required", task.Check{}, "nothing to look at"},
		{"a flag with a value", "name=a,run=b,required=false", task.Check{}, `"required=false" is not part`},
		{"a bad time", "name=a,run=b,timeout=soon", task.Check{}, "must be a time"},
		{"a fraction of a second", "name=a,run=b,timeout=1500ms", task.Check{}, "must be a time"},
		{"two lines", "name=a,run=b\nname=c,run=d", task.Check{}, "is not one line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readCheck("--check", c.text)
			var usage *UsageError
			if c.bad != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), c.bad)) {
				t.Errorf("got %+v, %v; want a usage error with %q", got, err, c.bad)
			}
			if c.bad == "" && (err != nil || !reflect.DeepEqual(got, c.want)) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestOnlyTheGivenFieldsOfAProjectChange(t *testing.T) {
	t.Parallel()
	was := func() *task.Project {
		return &task.Project{
			Key: "web", Name: "Web", Repository: "/srv/web.git", DefaultBranch: "main", Setup: []string{"npm ci"},
			Checks: []task.Check{{Name: "a", Run: "a"}}, Review: task.Review{Approvals: 2, From: []string{"maya"}},
			Merge: &task.Merge{Into: "main", Method: task.MergeSquash, KeepBranchHours: 168}, Version: 3,
		}
	}
	s := func(s string) *string { return &s }
	zero := 0
	for _, c := range []struct {
		name   string
		fields ProjectFields
		want   func(*task.Project)
		bad    string
	}{
		{"nothing", ProjectFields{}, func(*task.Project) {}, ""},
		{"a name", ProjectFields{Name: s("Site")}, func(p *task.Project) { p.Name = "Site" }, ""},
		{"a list is replaced", ProjectFields{Setup: []string{"make", "make x"}}, func(p *task.Project) {
			p.Setup = []string{"make", "make x"}
		}, ""},
		{"an empty value clears a list", ProjectFields{Check: []string{""}}, func(p *task.Project) { p.Checks = []task.Check{} }, ""},
		{"an empty value clears the merge", ProjectFields{MergeInto: s("")}, func(p *task.Project) { p.Merge = nil }, ""},
		{"the review policy", ProjectFields{
			Approvals: &zero, Reviewer: []string{"ben", "admin"}, Expires: s("3d"), StandIn: s("ada"),
		}, func(p *task.Project) {
			p.Review = task.Review{From: []string{"ben", "admin"}, ExpiresSeconds: 3 * 86400, StandIn: "ada"}
		}, ""},
		{"one setting of the merge", ProjectFields{KeepBranch: s("1d"), Push: s("origin")}, func(p *task.Project) {
			p.Merge.KeepBranchHours, p.Merge.Push = 24, "origin"
		}, ""},
		{"one setting without a merge", ProjectFields{MergeInto: s(""), Method: s("ff")}, nil, "name the branch with --merge-into"},
		{"a file replaces everything", ProjectFields{File: "-", Name: s("Given")}, func(p *task.Project) {
			*p = task.Project{Key: "web", Name: "Given", Review: task.Review{Approvals: 1}, Version: 3}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := was()
			err := c.fields.apply(&Env{Ctx: t.Context(), Stdin: strings.NewReader(`{"name":"File","review":{"approvals":1}}`)}, p)
			if c.bad != "" {
				if err == nil || ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("got %v; want a usage error with %q", err, c.bad)
				}
				return
			}
			want := was()
			c.want(want)
			if err != nil || !reflect.DeepEqual(p, want) {
				t.Errorf("%v\n%+v\nwant\n%+v", err, p, want)
			}
		})
	}
	for text, bad := range map[string]string{
		`{"key":"other"}`: "holds the project other", `{"nam":"x"}`: "unknown field", `{} {}`: "more than one", `[]`: "is not a project",
	} {
		err := (&ProjectFields{File: "-"}).apply(&Env{Ctx: t.Context(), Stdin: strings.NewReader(text)}, was())
		if err == nil || ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: got %v; want a usage error with %q", text, err, bad)
		}
	}
}

func TestAnExcerptHasTheLinesOfOneSide(t *testing.T) {
	t.Parallel()
	hunks := "@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei\n three\n@@ -9 +10 @@\n-nine\n+neun\n"
	for _, c := range []struct {
		side        string
		first, last int
		want        string
	}{
		{"new", 2, 3, "zwei\ndrei"},
		{"old", 2, 2, "two"},
		{"new", 4, 4, "three"},
		{"old", 3, 3, "three"},
		{"new", 10, 10, "neun"},
		{"old", 9, 9, "nine"},
		{"new", 4, 5, ""},
		{"new", 7, 7, ""},
	} {
		if got := excerpt(hunks, c.side, c.first, c.last); got != c.want {
			t.Errorf("%s %d-%d: got %q, want %q", c.side, c.first, c.last, got, c.want)
		}
	}
}
