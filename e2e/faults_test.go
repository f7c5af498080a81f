package e2e

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// How a running server handles disk faults.

func TestAFailedSyncStopsAllWrites(t *testing.T) {
	t.Parallel()
	needsStrace(t)
	s := newServer(t, "serve")
	s.start()
	b := s.signedIn()
	api := s.api(s.token("--scope", "operate"))
	ids := s.makeTasks(api, 3)
	// Until then, the write whose sync fails may be one of the search index.
	testkit.Eventually(t, "the search index is up to date", func() bool {
		return s.rows("SELECT (SELECT value FROM settings WHERE key = 'search_event') = (SELECT max(id) FROM events)")[0] == "1"
	})
	end := s.inject("fsync,fdatasync", "error=EIO:when=1")
	r := refusedWrite(t, api, "Unknown")
	end()
	if r == nil || r.Status != http.StatusServiceUnavailable || r.Code != string(task.CodeOutcomeUnknown) ||
		!strings.Contains(r.Detail, "unknown") {
		t.Errorf("for the write whose sync failed, got %+v, want 503 %s", r, task.CodeOutcomeUnknown)
	}
	// The disk works again, but nobody knows what it contains.
	for range 3 {
		if r := refusedWrite(t, api, "Later"); r == nil || r.Status != http.StatusServiceUnavailable ||
			!strings.Contains(r.Detail, "restart") || !strings.Contains(r.Detail, "restore") {
			t.Errorf("for a later write, got %+v", r)
		}
	}
	if status, problems := s.readiness(); status != http.StatusServiceUnavailable || !strings.Contains(problems["database"], "restart") {
		t.Errorf("readyz: got %d %v", status, problems)
	}
	if got := call[task.Task](t, api, "GET", "/api/tasks/"+ids[2], nil); got.Title != "Task 2" {
		t.Errorf("for a read, got %q", got.Title)
	}
	if status, page := b.get(s.url() + "/"); status != http.StatusOK || !strings.Contains(page, "The server can't save changes") ||
		!strings.Contains(page, "restore a backup") {
		t.Errorf("the page does not report it: status %d", status)
	}
	s.kill()
	s.start()
	if r := refusedWrite(t, api, "After the restart"); r != nil {
		t.Errorf("after the restart, got %+v", r)
	}
	if got := s.rows("SELECT count(*) FROM tasks WHERE title LIKE 'Task %'")[0]; got != "3" {
		t.Errorf("got %s of 3 acknowledged writes", got)
	}
	if got := s.rows("SELECT count(*) FROM tasks WHERE title = 'Later'")[0]; got != "0" {
		t.Errorf("got %s writes that were refused", got)
	}
	if said, errs, code := s.command("", "check"); code != exitOK {
		t.Errorf("check: got %s %s", said, errs)
	}
}

func TestTheServerRecoversFromAFullOrReadOnlyDisk(t *testing.T) {
	t.Parallel()
	needsStrace(t)
	for name, tt := range map[string]struct {
		errno  string
		status int
		says   string
	}{
		"full":      {"ENOSPC", http.StatusInsufficientStorage, "full"},
		"quota":     {"EDQUOT", http.StatusInsufficientStorage, "full"},
		"read-only": {"EROFS", http.StatusServiceUnavailable, "read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for !heals(t, tt.errno, tt.status, tt.says) {
			}
		})
	}
}

// heals tries one errno. It returns false if strace ended between the entry and the
// exit of a call, which the kernel then answers with ENOSYS: no disk does that, and
// the attempt proves nothing.
func heals(t *testing.T, errno string, wantStatus int, says string) bool {
	t.Helper()
	s := newServer(t, "serve")
	s.start()
	api := s.api(s.token("--scope", "operate"))
	ids := s.makeTasks(api, 2)
	end := s.inject("pwrite64", "error="+errno)
	for range 2 {
		if r := refusedWrite(t, api, "Refused"); r == nil || r.Status != wantStatus || !strings.Contains(r.Detail, says) {
			t.Errorf("for a write, got %+v, want %d and %q", r, wantStatus, says)
		}
	}
	if status, problems := s.readiness(); status != http.StatusServiceUnavailable || !strings.Contains(problems["database"], says) {
		t.Errorf("readyz: got %d %v", status, problems)
	}
	if got := call[task.Task](t, api, "GET", "/api/tasks/"+ids[1], nil); got.Title != "Task 1" {
		t.Errorf("for a read, got %q", got.Title)
	}
	end()
	unanswered := func() bool { return strings.Contains(s.log.String(), "function not implemented") }
	testkit.Eventually(t, "the server becomes ready again", func() bool {
		status, _ := s.readiness()
		return status == http.StatusOK || unanswered()
	})
	if unanswered() {
		return false
	}
	s.makeTasks(api, 1)
	s.kill()
	s.start()
	if got := s.rows("SELECT group_concat(title, ', ') FROM (SELECT title FROM tasks ORDER BY id)")[0]; got != "Task 0, Task 1, Task 0" {
		t.Errorf("got tasks %s", got)
	}
	return true
}

func TestDamageIsNoticedWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	api := s.api(s.token("--scope", "operate"))
	for range 60 {
		call[task.Task](t, api, "POST", "/api/tasks",
			map[string]any{"title": "Long", "owner": "general-purpose", "description": strings.Repeat("word ", 10_000)})
	}
	backup := filepath.Join(t.TempDir(), "backup.tar.zst")
	if _, errs, code := s.command("", "backup", backup); code != exitOK {
		t.Fatal(errs)
	}
	s.term()
	s.start()
	path := filepath.Join(s.data, "taskyard.db")
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	testkit.NoError(t, err)
	fi, err := f.Stat()
	testkit.NoError(t, err)
	rubbish := []byte(strings.Repeat("\xff", 4096))
	for at := int64(64 * 4096); at < fi.Size(); at += 4096 {
		if _, err := f.WriteAt(rubbish, at); err != nil {
			t.Fatal(err)
		}
	}
	testkit.NoError(t, f.Close())
	testkit.Eventually(t, "the damage is noticed", func() bool {
		for id := range 60 {
			err := api.Do(t.Context(), "GET", "/api/tasks/"+task.ID(id+1).String(), nil, nil)
			var r *client.ResponseError
			if errors.As(err, &r) && strings.Contains(r.Detail, "damaged") {
				return true
			}
		}
		return false
	})
	if r := refusedWrite(t, api, "Refused"); r == nil || r.Status != http.StatusServiceUnavailable ||
		!strings.Contains(r.Detail, "taskyard restore") {
		t.Errorf("for a write, got %+v", r)
	}
	if status, problems := s.readiness(); status != http.StatusServiceUnavailable ||
		!strings.Contains(problems["database"], "taskyard restore") {
		t.Errorf("readyz: got %d %v", status, problems)
	}
	s.kill()
	if _, errs, code := s.command("", "serve", "--listen", "127.0.0.1:0"); code != exitRefused || !strings.Contains(errs, "restore a backup") {
		t.Errorf("start with the damaged database: exit code %d, %s", code, errs)
	}
	if said, errs, code := s.command("", "restore", "--replace", backup); code != exitOK {
		t.Fatalf("restore: %s %s", said, errs)
	}
	s.start()
	if got := s.rows("SELECT count(*) FROM tasks")[0]; got != "60" {
		t.Errorf("got %s tasks after the restore", got)
	}
}
