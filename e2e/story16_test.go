package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// Story 16: the disk fills up during load, and runs end meanwhile. Once it has room
// again, every acknowledged write exists and every run has its true
// outcome.

// smallDisk mounts a file system of this size, if that is allowed.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill uses up the room on a folder's disk; remove the file to free it.
func fill(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "ballast")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	testkit.NoError(t, err)
	defer f.Close()
	for _, size := range []int{1 << 20, 4096, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		err = nil
	}
	return file
}

func TestStory16FullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 48<<20)
	s := newServer(t, "serve")
	s.data = filepath.Join(disk, "data")
	goFile, script := filepath.Join(t.TempDir(), "go"), filepath.Join(t.TempDir(), "agent.sh")
	put(t, script, fmt.Sprintf("while [ ! -e %q ]; do sleep 0.05; done\necho "+
		"'{\"summary\":\"the file is there\",\"success\":true}'\n", goFile))
	s.file("taskyard.toml", fmt.Sprintf("[approval]\npolicy = \"never\"\n[runs]\nmax_parallel = "+
		"3\n[runners.script]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\n", script))
	s.file("agents/worker.md", "---\nname: worker\ndescription: Waits for a file.\ntools: read\nrunner: script\nmax_parallel: 3\n---\nWait.\n")
	s.start()
	api := s.api(s.token("--scope", "operate"))
	for range 3 {
		call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": "Run", "owner": "worker"})
	}
	testkit.Eventually(t, "three runs work", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE phase = 'working'")[0] == "3"
	})

	// Load, while the disk fills up and the runs end.
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	full, stop := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var load sync.WaitGroup
	for w := range 4 {
		load.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				title := fmt.Sprintf("Load %d.%d", w, n)
				err := api.Do(t.Context(), "POST", "/api/tasks", map[string]any{"title": title, "owner": "general-purpose"}, nil)
				var r *client.ResponseError
				switch {
				case err == nil:
					mu.Lock()
					acknowledged[title] = true
					mu.Unlock()
				case errors.As(err, &r) && r.Status == 507:
					once.Do(func() { close(full) })
				case errors.As(err, &r) && r.Status == 429:
				default:
					t.Errorf("%s: %v", title, err)
					return
				}
			}
		})
	}
	ballast := fill(t, disk)
	<-full
	put(t, goFile, "") // the runs end on a full disk
	// A WAL that starts again at its beginning has room for a few writes, so the
	// database may be writable at the moment of a single probe.
	testkit.Eventually(t, "the server reports that the database cannot be written", func() bool {
		status, problems := s.readiness()
		if status != 503 {
			t.Errorf("readyz on a full disk: got %d %v", status, problems)
		}
		return problems["database"] != ""
	})
	call[task.Task](t, api, "GET", "/api/tasks/1", nil)

	close(stop)
	load.Wait()
	testkit.Eventually(t, "the agents' programs have ended", func() bool { return len(s.processes([]string{"1", "2", "3"})) == 0 })
	end := time.Now().Add(2 * time.Second)
	testkit.Eventually(t, "two seconds pass on the full disk", func() bool { return time.Now().After(end) })
	remove(t, ballast)
	testkit.Eventually(t, "the server becomes ready", func() bool {
		status, _ := s.readiness()
		return status == 200 || status == 503 && s.onlySmall()
	})
	testkit.Eventually(t, "every run has ended", func() bool {
		return s.rows("SELECT count(*) FROM runs WHERE ended_at IS NULL")[0] == "0"
	})
	if got := s.rows("SELECT DISTINCT status, summary FROM runs ORDER BY id"); len(got) != 1 || got[0] != "completed|the file is there" {
		t.Errorf("got the runs %v, want each completed", got)
	}
	// A restart on the full disk serves reads.
	s.kill()
	ballast = fill(t, disk)
	s.start()
	call[task.Task](t, api, "GET", "/api/tasks/1", nil)
	// The start may have freed the room of the WAL; otherwise there is none.
	if r := refusedWrite(t, api, "Perhaps"); r != nil && r.Status != 507 {
		t.Errorf("for a write after a restart on a full disk, got %+v", r)
	}
	remove(t, ballast)
	testkit.Eventually(t, "writes work again", func() bool { return refusedWrite(t, api, "Again") == nil })
	there := map[string]bool{}
	for _, title := range s.rows("SELECT title FROM tasks") {
		there[title] = true
	}
	for title := range acknowledged {
		if !there[title] {
			t.Errorf("%s was acknowledged, but is lost", title)
		}
	}
	t.Logf("%d writes were acknowledged", len(acknowledged))
	if said, errs, code := s.command("", "check"); code != exitOK {
		t.Errorf("check: %s %s", said, errs)
	}
}

// onlySmall reports whether the only problem is that the disk is small.
func (s *server) onlySmall() bool {
	_, problems := s.readiness()
	return len(problems) == 1 && problems["disk"] != ""
}

func TestStory16StartOnAFullDisk(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(s *server){
		"after a clean stop": func(s *server) { s.term() },
		"after a kill":       func(s *server) { s.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, 48<<20)
			s := newServer(t, "serve")
			s.data = filepath.Join(disk, "data")
			s.start()
			api := s.api(s.token("--scope", "operate"))
			s.makeTasks(api, 3)
			stop(s)
			for round := range 2 { // a start on a full disk leaves a folder that can start again
				ballast := fill(t, disk)
				s.start()
				if got := call[task.Task](t, api, "GET", "/api/tasks/3", nil); got.Title != "Task 2" {
					t.Errorf("for a read, got %q", got.Title)
				}
				// After a kill, the WAL may have room for some writes.
				for n := 0; ; n++ {
					if r := refusedWrite(t, api, fmt.Sprintf("Full %d", n)); r != nil {
						if r.Status != 507 {
							t.Errorf("for a write on a full disk, got %+v", r)
						}
						break
					}
				}
				if status, problems := s.readiness(); status != 503 || !strings.Contains(problems["database"], "disk of the server is full") {
					t.Errorf("readyz on a full disk: got %d %v", status, problems)
				}
				if round == 0 {
					stop(s)
					remove(t, ballast) // uses up what the stop freed, too
					continue
				}
				remove(t, ballast)
				testkit.Eventually(t, "writes work again without a restart", func() bool { return refusedWrite(t, api, "Again") == nil })
			}
			if said, errs, code := s.command("", "check"); code != exitOK {
				t.Errorf("check: %s %s", said, errs)
			}
		})
	}
}
