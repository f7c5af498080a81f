package agentfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/task"
)

func TestNamesOfPagesCannotNameAgents(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	for _, id := range []string{"new", "reload", "newer"} {
		put(t, dir, id+ext, headings)
	}
	f := open(t, dir)
	t.Run("files with these names define no agent, and are reported", func(t *testing.T) {
		agent(t, f, "newer")
		if got := ids(f); len(got) != 1 {
			t.Errorf("got agents %v", got)
		}
		reported := strings.Join(f.Problems(), "\n")
		for _, want := range []string{`"new.md" cannot name an agent`, `"reload.md" cannot name an agent`, "give the file another"} {
			if !strings.Contains(reported, want) {
				t.Errorf("%q is not in %s", want, reported)
			}
		}
	})
	t.Run("a check reports it", func(t *testing.T) {
		a := Parse("new", headings, testOptions)
		wantProblem(t, a, 1, true, "the name is that of a page")
		if a.Status != task.AgentInvalid {
			t.Errorf("got status %s", a.Status)
		}
	})
	t.Run("they can be removed, but not saved", func(t *testing.T) {
		for _, force := range []bool{false, true} {
			_, err := f.Save("reload", headings+"more", "", force)
			if e := wantCode(t, err, task.Invalid, task.CodeInvalidField); len(e.Fields)+len(e.Field) == 0 {
				t.Errorf("got no field in %+v", e)
			}
		}
		if got := onDisk(t, dir, "reload"); got != headings {
			t.Errorf("the file contains %q", got)
		}
		if err := f.Delete("reload"); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "reload.md")); err == nil {
			t.Error("the file is still there")
		}
	})
}
