package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
)

func wants(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("want %q in:\n%s", w, text)
		}
	}
}

func TestExportAndImportFromTheCommandLine(t *testing.T) {
	t.Parallel()
	data, out := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "out")
	said := must(t, "", "import", "--data", data, "internal/exchange/testdata/first")
	wants(t, said, "Tasks from taskyard: 3, of which 1 draft, 1 active, 1 done, 0 canceled.",
		"a step's title was cut", "Imported. Tasks: 3", "Every task kept its ID.")
	wants(t, must(t, "", "check", "--data", data), "invariants: ok", "hash chain unbroken")

	said = must(t, "", "export", "--data", data, out)
	wants(t, said, filepath.Join(out, "tasks.json")+": 2 drafts and active tasks, next id 42",
		"history.jsonl: 1 done", "todo lists", "Agents are files already", "taskyard backup")
	tasks := read(t, filepath.Join(out, "tasks.json"))
	wants(t, tasks, `"nextId":42`, `"taskId":"4"`)

	t.Run("an export is not replaced by default", func(t *testing.T) {
		put(t, filepath.Join(out, "history.jsonl"), "mine\n")
		if _, errs, code := do(t, "", "export", "--data", data, out); code != exitRefused || !strings.Contains(errs, "--force") {
			t.Errorf("%d: %s", code, errs)
		}
		if got := read(t, filepath.Join(out, "history.jsonl")); got != "mine\n" {
			t.Errorf("got %q", got)
		}
		must(t, "", "export", "--data", data, "--force", out)
		if got := read(t, filepath.Join(out, "tasks.json")); got != tasks {
			t.Errorf("the second export differs:\n%s", got)
		}
		left, err := filepath.Glob(filepath.Join(out, ".*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	})
	t.Run("a dry run prints the same and writes nothing", func(t *testing.T) {
		other := filepath.Join(t.TempDir(), "data")
		wants(t, must(t, "", "import", "--data", other, "--dry-run", out), "Tasks from taskyard: 3", "Dry run: nothing was written.")
		if _, err := os.Stat(other); !os.IsNotExist(err) {
			t.Errorf("the data folder exists: %v", err)
		}
	})
	t.Run("a dry run finds the agents of a folder without an instance", func(t *testing.T) {
		other := filepath.Join(t.TempDir(), "data")
		put(t, filepath.Join(other, "agents", "fixer.md"),
			"---\nname: fixer\ndescription: Fixes things.\ntools: read\nrunner: none\n---\nFix it.\n")
		wants(t, must(t, "", "import", "--data", other, "--dry-run", "--map", "general-purpose=fixer", out), "Dry run: nothing was written.")
		if got, err := filepath.Glob(filepath.Join(other, "*")); err != nil || len(got) != 1 {
			t.Errorf("got in the data folder: %v, %v", got, err)
		}
	})
	t.Run("a second import assigns new IDs and prints them", func(t *testing.T) {
		wants(t, must(t, "", "import", "--data", data, out), "old id → new id", "1 → 42", "3 → 43", "4 → 44")
		wants(t, must(t, "", "check", "--data", data), "invariants: ok")
	})
	t.Run("a single file is imported together with its history", func(t *testing.T) {
		other := filepath.Join(t.TempDir(), "data")
		wants(t, must(t, "", "import", "--data", other, filepath.Join(out, "tasks.json"),
			"--history", filepath.Join(out, "history.jsonl")), "Tasks: 3")
	})
	t.Run("an instance that does not exist is not exported", func(t *testing.T) {
		if _, errs, code := do(t, "", "export", "--data", filepath.Join(t.TempDir(), "none"), t.TempDir()); code != exitRefused ||
			!strings.Contains(errs, "no database") {
			t.Errorf("%d: %s", code, errs)
		}
	})
}

// largestImport is the maximum number of tasks that are imported while a server runs.
const largestImport = 10_000

func TestImportsThatAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	huge := put(t, filepath.Join(dir, "huge.json"), "{")
	testkit.NoError(t, os.Truncate(huge, 1<<30))
	owner := put(t, filepath.Join(dir, "owner.json"),
		`{"tasks":[{"id":"1","title":"a\u001b[2J","owner":"no\u001b[2Jbody","status":"active"}],"nextId":2}`)
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a file of 1 GB", []string{huge}, exitRefused, "at most 128 MiB"},
		{"a missing file", []string{filepath.Join(dir, "none")}, exitRefused, "no such file"},
		{"an empty folder", []string{t.TempDir()}, exitRefused, "tasks.json"},
		{"an unknown format", []string{"--from", "jira", dir}, exitUsage, "beads"},
		{"history of another format", []string{"--from", "beads", "--history", "x", dir}, exitUsage, "--history"},
		{"a missing path", nil, exitUsage, "path"},
		{"an unknown owner, escaped for the terminal", []string{owner}, exitRefused, `unknown agent "no\x1b[2Jbody"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, errs, code := do(t, "", append([]string{"import", "--data", data}, tt.args...)...)
			if code != tt.code || !strings.Contains(out+errs, tt.want) || strings.Contains(out+errs, "\x1b") {
				t.Errorf("%d: %s\n%s", code, out, errs)
			}
			if _, err := os.Stat(data); !os.IsNotExist(err) {
				t.Errorf("the data folder exists: %v", err)
			}
		})
	}
	wants(t, must(t, "", "import", "--data", data, "--owner", "code-focused", owner), "Imported. Tasks: 1")
}

func TestTasksOfOtherProgramsAreImported(t *testing.T) {
	t.Parallel()
	for from, want := range map[string][]string{
		"beads":      {"Tasks from beads: 4", "beads.design → a section of the description", `links of the kind "related"`, "yd-a1b2 → 4"},
		"taskmaster": {"Tasks from taskmaster: 4", "taskmaster.subtasks → steps", "dependencies on subtasks of other tasks", "Web UI#1 → 4"},
		"backlog":    {"Tasks from backlog: 5", "backlog Acceptance Criteria → steps", `field "ordinal"`, "task-7.1 → "},
	} {
		t.Run(from, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			args := []string{
				"import", "--data", data, "--from", from, "--map", "coder=code-focused", "--map",
				"ida=general-purpose", "--owner", "general-purpose", "internal/exchange/testdata/" + from,
			}
			wants(t, must(t, "", append(args, "--dry-run")...), append(want[:3:3], "Dry run")...)
			wants(t, must(t, "", args...), want...)
			wants(t, must(t, "", "check", "--data", data), "invariants: ok")
		})
	}
}

func TestImportWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	must(t, "", "import", "--data", in.data, "internal/exchange/testdata/first")
	api := &client.Client{URL: in.url, Token: must(t, "", "token", "create", "--data", in.data, "--scope", "operate")}
	var page struct {
		Tasks []struct{ ID, Title string }
	}
	testkit.NoError(t, api.Do(t.Context(), "GET", "/api/tasks", nil, &page))
	if fmt.Sprint(page.Tasks) != "[{3 Write the docs} {4 Sub}]" {
		t.Errorf("got %v", page.Tasks)
	}
	must(t, "", "export", "--data", in.data, filepath.Join(t.TempDir(), "out"))

	t.Run("a large import, which would block its writes, is refused", func(t *testing.T) {
		var b strings.Builder
		for i := range largestImport + 1 {
			fmt.Fprintf(&b, `{"id":"x%d","title":"a"}`+"\n", i)
		}
		many := put(t, filepath.Join(t.TempDir(), "issues.jsonl"), b.String())
		args := []string{"import", "--data", in.data, "--from", "beads", "--owner", "code-focused", many}
		if _, errs, code := do(t, "", args...); code != exitRefused || !strings.Contains(errs, "stopped instance") ||
			!strings.Contains(errs, fmt.Sprintf("process %d", os.Getpid())) {
			t.Errorf("%d: %s", code, errs)
		}
		wants(t, must(t, "", append(args, "--dry-run")...), "Dry run")
		in.stop()
		wants(t, must(t, "", args...), fmt.Sprintf("Tasks: %d,", largestImport+1))
	})
}
