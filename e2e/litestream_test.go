package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/app"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestLitestreamReplicatesABusyInstance runs Litestream with the example's file
// next to a server that many clients write to. The server is killed, and the
// replica contains everything that it had acknowledged.
func TestLitestreamReplicatesABusyInstance(t *testing.T) {
	t.Parallel()
	program := installed(t, "litestream", "go install github.com/benbjohnson/litestream/cmd/litestream@latest, into PATH")
	s := newServer(t, "serve")
	s.start()
	dir := t.TempDir()
	example := read(t, "examples/litestream.yml")
	conf := filepath.Join(dir, "litestream.yml")
	put(t, conf, replaced(example, "/var/lib/taskyard/taskyard.db", app.DBPath(s.data), "/mnt/replica", dir))
	replicate := exec.CommandContext(t.Context(), program, "replicate", "-config", conf)
	log := startBeside(t, replicate)
	testkit.Eventually(t, "the replication starts", func() bool { return strings.Contains(log.String(), "replicating to") })

	const callers = 16
	busy, api := 3*time.Second, s.api(s.token("--scope", "operate"))
	if testkit.Thorough() {
		busy = time.Minute
	}
	var acknowledged atomic.Int64
	var all sync.WaitGroup
	for began, n := time.Now(), 0; n < callers; n++ {
		all.Go(func() {
			for time.Since(began) < busy {
				err := api.Do(t.Context(), "POST", "/api/tasks", map[string]any{"title": "Replicate me", "owner": "general-purpose"}, nil)
				if err != nil {
					t.Errorf("a task was not created while Litestream runs: %v", err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	all.Wait()
	s.kill()
	killed, tries := time.Now(), 0
	other := newServer(t, "serve")
	testkit.Eventually(t, "the replica has every task", func() bool {
		tries++
		file := filepath.Join(dir, fmt.Sprint(tries), "taskyard.db")
		output(t, exec.CommandContext(t.Context(), program, "restore", "-config", conf, "-o", file, app.DBPath(s.data)))
		rows, err := readRows(file, "SELECT count(*) FROM tasks")
		if err != nil || rows[0] != fmt.Sprint(acknowledged.Load()) {
			return false
		}
		return os.Rename(file, app.DBPath(other.data)) == nil
	})
	t.Logf("%d tasks in %v; the replica had all of them within %v", acknowledged.Load(), busy, time.Since(killed).Round(100*time.Millisecond))
	if strings.Contains(s.log.String(), `"level":"ERROR"`) || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("errors of the server or of litestream:\n%s\n%s", s.log.Tail(3000), log.Tail(3000))
	}
	testkit.NoError(t, replicate.Process.Signal(syscall.SIGTERM))
	if said := must(t, "", "check", "--data", other.data); !strings.Contains(said, "hash chain unbroken") {
		t.Errorf("got %s", said)
	}
	other.start()
	made := call[task.Task](t, other.api(other.token("--scope", "operate")), "POST", "/api/tasks",
		map[string]any{"title": "After the restore", "owner": "general-purpose"})
	if int64(made.ID) != acknowledged.Load()+1 {
		t.Errorf("the first task after the restore has the ID %s, want the one after %d", made.ID, acknowledged.Load())
	}
}
