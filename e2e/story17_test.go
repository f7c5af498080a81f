package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// Story 17: a second server, a copied folder, a symbolic link, a hard link, a deleted
// WAL: reported within a second, nothing overwritten.

// makeTasks creates tasks one after the other and returns their IDs; each is
// acknowledged.
func (s *server) makeTasks(api *client.Client, n int) (ids []string) {
	s.t.Helper()
	for i := range n {
		made := call[task.Task](s.t, api, "POST", "/api/tasks", map[string]any{"title": fmt.Sprintf("Task %d", i), "owner": "general-purpose"})
		ids = append(ids, made.ID.String())
	}
	return ids
}

// readiness requests /readyz.
func (s *server) readiness() (status int, problems map[string]string) {
	s.t.Helper()
	r := answerTo(s.t, http.DefaultClient, newRequest(s.t.Context(), http.MethodGet, s.url()+"/readyz", "", ""))
	var body struct {
		Problems map[string]string `json:"problems"`
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		s.t.Fatalf("%s: %v", r.body, err)
	}
	return r.status, body.Problems
}

// refusedWrite tries to create a task and returns the refusal, or nil if it was
// acknowledged.
func refusedWrite(t testing.TB, api *client.Client, title string) *client.ResponseError {
	t.Helper()
	err := api.Do(t.Context(), "POST", "/api/tasks", map[string]any{"title": title, "owner": "general-purpose"}, nil)
	var r *client.ResponseError
	if err != nil && !errors.As(err, &r) {
		t.Fatal(err)
	}
	return r
}

func TestStory17FilesDeletedUnderTheServer(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string){
		"the WAL is deleted":   func(t *testing.T, path string) { remove(t, path+"-wal") },
		"the index is deleted": func(t *testing.T, path string) { remove(t, path+"-shm") },
		"both are deleted":     func(t *testing.T, path string) { remove(t, path+"-wal", path+"-shm") },
		"the WAL is replaced":  func(t *testing.T, path string) { remove(t, path+"-wal"); put(t, path+"-wal", "") },
		"the database and its WAL are deleted": func(t *testing.T, path string) {
			remove(t, path, path+"-wal", path+"-shm")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "serve")
			s.start()
			api := s.api(s.token("--scope", "operate"))
			ids := s.makeTasks(api, 31)
			spoil(t, filepath.Join(s.data, "taskyard.db"))
			// The very next write is not acknowledged, however soon it is.
			r := refusedWrite(t, api, "Lost")
			if r == nil || r.Status != http.StatusServiceUnavailable || !strings.Contains(r.Detail, "deleted or replaced") {
				t.Errorf("for the next write, got %+v, want 503 and the reason", r)
			}
			testkit.Eventually(t, "/readyz returns 503 and says where the data is", func() bool {
				status, problems := s.readiness()
				return status == http.StatusServiceUnavailable && strings.Contains(problems["database"], "rescued")
			})
			if got := call[task.Task](t, api, "GET", "/api/tasks/"+ids[30], nil); got.Title != "Task 30" {
				t.Errorf("for a read, got %q", got.Title)
			}
			if _, errs, code := s.command("", "token", "create", "--scope", "read"); code == exitOK {
				t.Error("a command beside the server wrote to a database that must be restored")
			} else if !strings.Contains(errs, "restore") {
				t.Errorf("the command printed %q", errs)
			}
			s.kill()
			s.start()
			titles := s.rows("SELECT title FROM tasks WHERE title LIKE 'Task %'")
			if len(titles) != 31 {
				t.Errorf("got %d of 31 acknowledged writes after a restart", len(titles))
			}
			if said, errs, code := s.command("", "check"); code != exitOK {
				t.Errorf("check: %s %s", said, errs)
			}
			s.makeTasks(api, 1)
		})
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		testkit.NoError(t, os.Remove(p))
	}
}

func TestStory17OtherNamesOfTheDatabase(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	api := s.api(s.token("--scope", "operate"))
	s.makeTasks(api, 3)
	pid := fmt.Sprintf("process %d", s.cmd.Process.Pid)
	database := filepath.Join(s.data, "taskyard.db")
	second := func(t *testing.T, data string) {
		t.Helper()
		begin := time.Now()
		cmd := exec.CommandContext(t.Context(), binary(t), "serve", "--data", data, "--listen", "127.0.0.1:0")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), pid) {
			t.Errorf("for the second server, got %v, %s; want a refusal that names %s", err, out, pid)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
	}
	folder := func(t *testing.T) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "other")
		testkit.NoError(t, os.MkdirAll(filepath.Join(dir, "agents"), 0o700))
		return dir
	}
	t.Run("the same folder", func(t *testing.T) { second(t, s.data) })
	t.Run("the same folder, whose lock file was removed", func(t *testing.T) {
		remove(t, database+".lock")
		second(t, s.data)
	})
	t.Run("a link to the folder", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "link")
		testkit.NoError(t, os.Symlink(s.data, link))
		second(t, link)
	})
	t.Run("a symbolic link to the file", func(t *testing.T) {
		dir := folder(t)
		testkit.NoError(t, os.Symlink(database, filepath.Join(dir, "taskyard.db")))
		second(t, dir)
	})
	t.Run("a hard link: both servers report it, and the first continues after it is removed", func(t *testing.T) {
		dir := folder(t)
		other := filepath.Join(dir, "taskyard.db")
		if err := os.Link(database, other); err != nil {
			t.Skip(err)
		}
		if r := refusedWrite(t, api, "Two names"); r == nil || r.Status != http.StatusServiceUnavailable ||
			!strings.Contains(r.Detail, "hard link") {
			t.Errorf("for a write of the first server, got %+v", r)
		}
		testkit.Eventually(t, "the first server is not ready", func() bool {
			status, problems := s.readiness()
			return status == http.StatusServiceUnavailable && strings.Contains(problems["database"], "hard link")
		})
		second(t, dir)
		if _, errs, code := s.command("", "token", "create", "--scope", "read"); code == exitOK || !strings.Contains(errs, "names") {
			t.Errorf("for a command on the file, got exit code %d, %s", code, errs)
		}
		remove(t, other)
		testkit.Eventually(t, "the first server writes again", func() bool { return refusedWrite(t, api, "One name") == nil })
	})
	t.Run("a dangling link is reported, and no database is created", func(t *testing.T) {
		dir := folder(t)
		testkit.NoError(t, os.Symlink("/nowhere/taskyard.db", filepath.Join(dir, "taskyard.db")))
		if _, errs, code := do(t, "", "serve", "--data", dir, "--listen", "127.0.0.1:0"); code != exitRefused ||
			!strings.Contains(errs, "link to /nowhere/taskyard.db") {
			t.Errorf("exit code %d, %s", code, errs)
		}
	})
	if said, errs, code := s.command("", "check"); code != exitOK {
		t.Errorf("check: %s %s", said, errs)
	}
	testkit.Eventually(t, "the server is ready", func() bool {
		status, _ := s.readiness()
		return status == http.StatusOK
	})
}
