package worker

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestFoldersInUseDoNotExpire(t *testing.T) {
	t.Parallel()
	w := &Worker{dir: t.TempDir(), keep: 2160 * time.Hour}
	done := w.used.take(&task.Leased{RunID: 3, Lease: 1, RunFolders: task.RunFolders{Origin: 5}})
	both := []task.RunFolder{task.StartFolder(3, 1), task.TreeFolder(5)}
	long := time.Now().Add(-w.keep - time.Hour)
	for _, f := range both {
		folder := filepath.Join(w.dir, f.Name)
		if err := errors.Join(os.Mkdir(folder, 0o700), os.Chtimes(folder, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	if old := w.expired(both); len(old) != 0 {
		t.Errorf("got expired folders %v", old)
	}
	if done(); len(w.expired(both)) != 2 {
		t.Error("the folders did not expire afterwards")
	}
}

// Each start has its own folder: one that exists already has the files, and the
// HOME, of a run of another server.
func TestARunDoesNotWorkInTheFolderOfAnotherServer(t *testing.T) {
	t.Parallel()
	w := &Worker{
		client: &client.Client{}, dir: t.TempDir(), log: slog.New(slog.DiscardHandler),
		runner: func(string) supervise.Runner { return chatty{"at work"} },
	}
	for _, there := range []bool{false, true} {
		if there {
			if err := os.Mkdir(filepath.Join(w.dir, "run-3-1"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		c := &execution{w: w, run: &task.Leased{RunID: 3, TaskID: 1, Attempt: 1, Lease: 1}, log: w.log, revoked: t.Context()}
		out := c.outcome(t.Context(), discarding{})
		failed := out.Status == task.RunFailed && strings.Contains(out.Reason, "run-3-1, which a run of another server left")
		if failed != there {
			t.Errorf("the folder exists: %v; the run ended as %s %q", there, out.Status, out.Reason)
		}
	}
}

type discarding struct{}

func (discarding) Started(supervise.Process) error { return nil }
func (discarding) Event(supervise.Event)           {}
