package worker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

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
		t.Errorf("expired are %v", old)
	}
	if done(); len(w.expired(both)) != 2 {
		t.Error("they are not expired afterwards")
	}
}
