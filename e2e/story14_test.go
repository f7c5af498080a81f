package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"taskyard/internal/app"
	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// Story 14: the server is killed between any two system calls of a claim, a
// completion, an approval, the end of a run, a backup, a restore and a migration.
// After a restart, the outcome is the old or the new one.

// steps yields the system calls at which something is killed: in the short form a
// third of few, otherwise few, or in the thorough form as many as there are.
func steps(few ...int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if !testkit.Thorough() {
			slices.Values(testkit.Sample(3, few))(yield)
			return
		}
		for n := 1; n < 1000 && yield(n); n++ {
			_ = n
		}
	}
}

// copyFolder copies a data folder to a new location.
func copyFolder(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	testkit.NoError(t, os.CopyFS(to, os.DirFS(from)))
	testkit.NoError(t, os.Chmod(to, 0o700))
	return to
}

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testkit.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// leftByAKill returns an instance whose server was killed, with two tasks, and a
// backup of its first task. Since the backup, the configuration changed, and one
// agent was replaced by another.
func leftByAKill(t *testing.T) (data, backup string) {
	t.Helper()
	s := newServer(t, "serve")
	s.file("taskyard.toml", "[runs]\nattempts = 2\n")
	s.file("agents/former.md", "---\nname: former\ndescription: Was there.\ntools: read\n---\nWork.\n")
	s.start()
	api := s.api(s.token("--scope", "operate"))
	s.makeTasks(api, 1)
	backup = filepath.Join(t.TempDir(), "backup.tar.zst")
	if _, errs, code := s.command("", "backup", backup); code != exitOK {
		t.Fatal(errs)
	}
	s.makeTasks(api, 1)
	s.kill()
	s.file("taskyard.toml", "[runs]\nattempts = 4\n")
	remove(t, filepath.Join(s.data, "agents", "former.md"))
	s.file("agents/later.md", "---\nname: later\ndescription: Is there.\ntools: read\n---\nWork.\n")
	return s.data, backup
}

// describeInstance describes an instance of leftByAKill: its tasks, its agents and its
// configuration, as the program reads them.
func describeInstance(t *testing.T, data string) string {
	t.Helper()
	agents := []string{}
	for _, name := range []string{"former", "later"} {
		if _, err := os.Stat(filepath.Join(data, "agents", name+".md")); err == nil {
			agents = append(agents, name)
		}
	}
	attempts := ""
	for line := range strings.Lines(must(t, "", "config", "--data", data)) {
		if strings.HasPrefix(line, "attempts = ") {
			attempts, _, _ = strings.Cut(line, " #")
		}
	}
	return fmt.Sprintf("%d tasks, %v, %s", titles(t, data), agents, strings.TrimSpace(attempts))
}

func titles(t *testing.T, data string) int {
	t.Helper()
	rows, err := readRows(app.DBPath(data), "SELECT title FROM tasks")
	testkit.NoError(t, err)
	return len(rows)
}

func TestStory14Restore(t *testing.T) {
	t.Parallel()
	needsStrace(t)
	old, backup := leftByAKill(t)
	for _, calls := range []string{naming, storing} {
		few := []int{1, 3, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}
		if calls == storing {
			few = []int{2, 12, 40}
		}
		were := map[string]int{}
		for n := range steps(few...) {
			data := copyFolder(t, old)
			killed := killedAt(t, calls, n, "restore", "--replace", "--data", data, backup)
			s := &server{t: t, args: []string{"serve"}, data: data, address: freeAddress(t), log: &testkit.Buffer{}}
			s.start()
			left := names(t, data)
			log := s.log.Tail(2000)
			s.kill()
			if said, errs, code := s.command("", "check"); code != exitOK {
				t.Errorf("killed at %d: check: %s %s", n, said, errs)
			}
			got := describeInstance(t, data)
			were[got]++
			const before, after = "2 tasks, [later], attempts = 4", "1 tasks, [former], attempts = 2"
			if got != before && got != after || !killed && got != after {
				t.Errorf("killed at %d (%v): found %s, want %s or %s\n%s", n, killed, got, before, after, log)
			}
			for _, f := range left {
				if strings.Contains(f, "restor") || strings.Contains(f, "partial") {
					t.Errorf("killed at %d: %s was left", n, f)
				}
				if strings.HasPrefix(f, "replaced-") && got == before {
					t.Errorf("killed at %d: nothing was replaced, but %s exists", n, f)
				}
			}
			if !killed {
				break
			}
		}
		t.Logf("%s: instance found → times: %v", calls, were)
	}
}

func TestStory14Backup(t *testing.T) {
	t.Parallel()
	needsStrace(t)
	data, _ := leftByAKill(t)
	dir := t.TempDir()
	for n := range steps(1, 2, 3, 4, 5, 30, 100) {
		file := filepath.Join(dir, fmt.Sprintf("%d.tar.zst", n))
		killed := killedAt(t, storing, n, "backup", "--data", data, file)
		if _, err := os.Stat(file); err == nil {
			to := filepath.Join(t.TempDir(), "data")
			must(t, "", "restore", "--data", to, file)
			if got := describeInstance(t, to); got != "2 tasks, [later], attempts = 4" {
				t.Errorf("killed at %d: the backup contains %s", n, got)
			}
		} else if !killed {
			t.Error(err)
		}
		if !killed {
			break
		}
	}
	last := filepath.Join(dir, "last.tar.zst")
	must(t, "", "backup", "--data", data, last)
	for _, f := range names(t, dir) {
		if !strings.HasSuffix(f, ".tar.zst") || strings.HasPrefix(f, ".") {
			t.Errorf("%s was left by a killed backup", f)
		}
	}
	fi, err := os.Stat(last)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("got the mode %v of a backup, %v", fi.Mode(), err)
	}
}

func TestStory14Migration(t *testing.T) {
	t.Parallel()
	needsStrace(t)
	// An instance of the first version, with some data.
	dir := filepath.Join(t.TempDir(), "data")
	testkit.NoError(t, os.MkdirAll(filepath.Join(dir, "agents"), 0o700))
	old, err := sql.Open("sqlite3", "file:"+app.DBPath(dir)+"?_journal_mode=WAL")
	testkit.NoError(t, err)
	first, err := goose.NewProvider(goose.DialectSQLite3, old, os.DirFS("db/migrations"), goose.WithDisableGlobalRegistry(true))
	testkit.NoError(t, err)
	if _, err := first.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := old.ExecContext(t.Context(), "INSERT INTO settings (key, value) VALUES ('mine', 'kept')"); err != nil {
		t.Fatal(err)
	}
	testkit.NoError(t, old.Close())
	for n := range steps(1, 2, 4, 8, 16, 30, 60, 100, 150, 200, 300) {
		data := copyFolder(t, dir)
		killed := killedAt(t, storing, n, "token", "create", "--scope", "read", "--data", data)
		s := &server{t: t, args: []string{"serve"}, data: data, address: freeAddress(t), log: &testkit.Buffer{}}
		s.start()
		left := names(t, data)
		s.kill()
		if said, errs, code := s.command("", "check"); code != exitOK {
			t.Errorf("killed at %d: check: %s %s", n, said, errs)
		}
		if got := s.rows("SELECT value FROM settings WHERE key = 'mine'"); len(got) != 1 || got[0] != "kept" {
			t.Errorf("killed at %d: got the row %v", n, got)
		}
		for _, f := range left {
			if strings.Contains(f, "partial") {
				t.Errorf("killed at %d: %s was left", n, f)
			}
		}
		if !killed {
			break
		}
	}
}

// runOfWorker creates a task of the agent worker and returns its run when that is in
// a phase.
func runOfWorker(s *server, person *client.Client, phase string) (run string) {
	s.t.Helper()
	made := call[task.Task](s.t, person, "POST", "/api/tasks", map[string]any{"title": "Run", "owner": "worker"})
	testkit.Eventually(s.t, "a run is in the phase "+phase, func() bool {
		rows := s.rows("SELECT id FROM runs WHERE task_id = ? AND phase = ?", made.ID.String(), phase)
		if len(rows) == 1 {
			run = rows[0]
		}
		return run != ""
	})
	return run
}

func TestStory14Operations(t *testing.T) {
	t.Parallel()
	needsStrace(t)
	script := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(script, []byte("while [ ! -e \"$GO_FOLDER$TASKYARD_TASK_ID\" ]; do sleep 0.05; "+
		"done\necho '{\"summary\":\"ended\",\"success\":true}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	type act struct {
		*server
		person, reviewer, agent *client.Client
		goDir                   string
	}
	for name, op := range map[string]struct {
		policy  string                        // of approval
		prepare func(a *act) (id string)      // the task or run that is acted on
		do      func(a *act, id string) error // an error is due to the kill
		state   string                        // a query with the id
		before  func(state string) bool
		after   func(state string) bool
	}{
		"claim": {
			policy:  "never",
			prepare: func(a *act) string { return a.makeTasks(a.person, 1)[0] },
			do: func(a *act, _ string) error {
				return a.agent.Do(a.t.Context(), "POST", "/api/agents/general-purpose/signup", nil, nil)
			},
			state:  "SELECT coalesce(claim_holder, '') FROM tasks WHERE id = ?",
			before: func(s string) bool { return s == "" }, after: func(s string) bool { return s != "" },
		},
		"complete": {
			policy: "never",
			prepare: func(a *act) string {
				id := a.makeTasks(a.person, 1)[0]
				call[any](a.t, a.agent, "POST", "/api/agents/general-purpose/signup", nil)
				return id
			},
			do: func(a *act, id string) error {
				return a.agent.Do(a.t.Context(), "POST", "/api/tasks/"+id+"/complete", map[string]any{"summary": "done"}, nil)
			},
			state:  "SELECT status, coalesce(summary, ''), archived_at IS NOT NULL, claim_holder IS NULL FROM tasks WHERE id = ?",
			before: func(s string) bool { return s == "active||0|0" }, after: func(s string) bool { return s == "done|done|1|1" },
		},
		"approve": {
			policy:  "always",
			prepare: func(a *act) string { return runOfWorker(a.server, a.person, "approval") },
			do: func(a *act, id string) error {
				return a.reviewer.Do(a.t.Context(), "POST", "/api/runs/"+id+"/approve", map[string]any{}, nil)
			},
			state:  "SELECT decision, phase FROM runs WHERE id = ?",
			before: func(s string) bool { return s == "|approval" },
			after:  func(s string) bool { return strings.HasPrefix(s, "approved|") && s != "approved|approval" },
		},
		"the end of a run": {
			policy:  "never",
			prepare: func(a *act) string { return runOfWorker(a.server, a.person, "working") },
			do: func(a *act, run string) error {
				id := a.rows("SELECT task_id FROM runs WHERE id = ?", run)[0]
				put(a.t, filepath.Join(a.goDir, id), "")
				testkit.Eventually(a.t, "the run ended or the server was killed", func() bool {
					select {
					case <-a.ended:
						return true
					default:
						return a.rows("SELECT ended_at IS NOT NULL FROM runs WHERE id = ?", run)[0] == "1"
					}
				})
				return nil
			},
			state:  "SELECT status, phase, summary FROM runs WHERE id = ?",
			before: func(s string) bool { return s == "failed|lost|" },
			after:  func(s string) bool { return strings.HasPrefix(s, "completed|") && strings.HasSuffix(s, "|ended") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &act{server: newServer(t, "serve"), goDir: t.TempDir() + "/"}
			a.file("taskyard.toml", fmt.Sprintf("[approval]\npolicy = %q\n[runs]\nattempts = 1\n[runners.script]\nkind = "+
				"\"command\"\ncommand = [\"/bin/sh\", %q]\nenv = { GO_FOLDER = %q }\n", op.policy, script, a.goDir))
			a.file("agents/worker.md", "---\nname: worker\ndescription: Waits for a file.\ntools: "+
				"read\nrunner: script\nmax_parallel: 5\n---\nWait.\n")
			a.start()
			a.person, a.reviewer, a.agent = a.api(a.token("--scope", "operate")),
				a.api(a.token("--scope", "review", "--name", "reviewer")), a.api(a.token("--agent", "general-purpose"))
			was := map[string]int{}
			for n := range steps(1, 2, 3, 6, 200) {
				id := op.prepare(a)
				end := a.inject(storing, fmt.Sprintf("signal=KILL:when=%d", n))
				err := op.do(a, id)
				killed := err != nil
				select {
				case <-a.ended:
					killed = true
				default:
				}
				if killed {
					<-a.ended
				}
				end()
				a.kill()
				a.start()
				switch got := a.rows(op.state, id)[0]; {
				case op.before(got):
					was["before"]++
					if !killed {
						t.Errorf("nothing was killed at %d, but got the state %s", n, got)
					}
				case op.after(got):
					was["after"]++
				default:
					t.Errorf("killed at %d: got the state %q, want the old or the new one", n, got)
				}
				if said, errs, code := a.command("", "check"); code != exitOK {
					t.Errorf("killed at %d: check: %s %s", n, said, errs)
				}
				// What is left is removed for the next trial.
				put(t, filepath.Join(a.goDir, a.rows("SELECT coalesce(max(id), 0) FROM tasks")[0]), "")
				for _, left := range a.rows("SELECT id FROM tasks WHERE archived_at IS NULL") {
					_ = a.person.Do(t.Context(), "POST", "/api/tasks/"+left+"/cancel", map[string]any{"reason": "over"}, nil)
				}
				if !killed {
					break
				}
				if t.Failed() {
					t.Fatalf("killed at %d: %v", n, err)
				}
			}
			t.Logf("outcomes: %v", was)
		})
	}
}
