package e2e

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// startCopy starts taskyard db copy as a process, which may be killed.
func startCopy(t *testing.T, from, to string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), "db", "copy", "--from", from, "--to", to)
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	testkit.NoError(t, testkit.StartTied(cmd))
	return cmd
}

// killOrFinish kills a copy at a random moment, unless it ends before, and reports
// whether it succeeded.
func killOrFinish(cmd *exec.Cmd, within time.Duration) bool {
	late := time.AfterFunc(rand.N(within), func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	return cmd.Wait() == nil
}

// A copy of a database that is killed at any moment is complete or absent, in both
// directions, and can be repeated.
func TestACopyOfADatabaseIsAllOrNothing(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	s := newProcess(t, "serve")
	s.claimers()
	s.start()
	api, ada := s.api(s.token("--scope", "operate")), s.api(s.token("--agent", "ada"))
	for i := range 120 {
		call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": fmt.Sprintf("Task %d", i+1), "owner": claimers[i%len(claimers)]})
	}
	held := signup(t, ada, "ada").Task
	call[any](t, ada, "POST", "/api/tasks/"+held.ID.String()+"/complete", map[string]any{"summary": "done"})
	s.term()
	const contents = "SELECT id, title, owner, status FROM tasks ORDER BY id"
	want := s.rows(contents)
	of := "sqlite:" + filepath.Join(s.data, "taskyard.db")
	rounds := testkit.ByForm(2, 8, testkit.Trials())

	onPostgres := func(url string) ([]string, error) { return readPostgres(url, contents) }
	complete := ""
	for i := range rounds {
		complete = database(t, p, fmt.Sprintf("copy_%d", i))
		wholeAfterKill(t, of, complete, want, onPostgres)
	}
	second := startCopy(t, of, complete)
	if err := second.Wait(); err == nil || !isNotEmpty(second) {
		t.Errorf("copy to a database that is not empty: got %v, %s", err, second.Stderr)
	}

	onSQLite := func(url string) ([]string, error) { return readRows(strings.TrimPrefix(url, "sqlite:"), contents) }
	var back *server
	for range rounds {
		back = newProcess(t, "serve")
		wholeAfterKill(t, complete, "sqlite:"+filepath.Join(back.data, "taskyard.db"), want, onSQLite)
	}
	back.claimers()
	back.start()
	if out, errs, code := back.command("", "check"); code != exitOK {
		t.Errorf("check: exit code %d: %s %s", code, out, errs)
	}
	if got := call[task.Task](t, back.api(back.token("--scope", "operate")), "GET", "/api/tasks/7", nil); got.Title != "Task 7" {
		t.Errorf("got task 7 as %q", got.Title)
	}
}

// wholeAfterKill kills a copy at a random moment, checks that it is complete or
// absent, and repeats it.
func wholeAfterKill(t *testing.T, from, to string, want []string, read func(url string) ([]string, error)) {
	t.Helper()
	went := killOrFinish(startCopy(t, from, to), time.Second)
	if got, err := read(to); err == nil && len(got) > 0 && !slices.Equal(got, want) {
		t.Errorf("a killed copy has %d of %d tasks", len(got), len(want))
	}
	if !went {
		again := startCopy(t, from, to)
		if err := again.Wait(); err != nil && !isNotEmpty(again) { // the kill came after the commit
			t.Errorf("the copy cannot be repeated: %v, %s", err, again.Stderr)
		}
	}
	if got, err := read(to); err != nil || !slices.Equal(got, want) {
		t.Errorf("a copy has %d of %d tasks, %v", len(got), len(want), err)
	}
}

// isNotEmpty reports whether a copy was refused because its target is not empty.
func isNotEmpty(cmd *exec.Cmd) bool {
	return strings.Contains(cmd.Stderr.(*bytes.Buffer).String(), "empty")
}

// database creates an empty database on a server.
func database(t *testing.T, p *testkit.PostgresServer, name string) string {
	t.Helper()
	d, err := sql.Open("pgx", p.URL)
	testkit.NoError(t, err)
	defer d.Close()
	if _, err := d.ExecContext(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(p.URL)
	testkit.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}
