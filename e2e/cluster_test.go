package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// What happens on one of several servers is known at once on the others, and
// the work of one that dies is continued by another.
func TestServersOnOneDatabase(t *testing.T) {
	t.Parallel()
	k := newCluster(t, 3)
	goDir := t.TempDir() + "/"
	script := filepath.Join(t.TempDir(), "agent.sh")
	put(t, script, "echo here >> \"$GO_FOLDER/started\"\nwhile [ ! -e \"$GO_FOLDER/go\" ]; do sleep 0.1; done\necho done\n")
	for _, s := range k.all() {
		s.file("taskyard.toml", fmt.Sprintf("[approval]\npolicy = \"never\"\n[runners.script]\nkind = \"command\"\n"+
			"command = [\"/bin/sh\", %q]\nenv = { GO_FOLDER = %q }\n", script, goDir))
		s.file("agents/ada.md", "---\nname: ada\ndescription: Claims its work itself.\ntools: read\n---\nWork.\n")
		s.file("agents/worker.md", "---\nname: worker\ndescription: Waits for a file.\ntools: read\nrunner: script\n---\nWork.\n")
		s.start()
	}
	all := k.all()
	person, ada := k.token("--scope", "operate"), k.token("--agent", "ada")

	t.Run("a signup that waits on one gets what is created on another", func(t *testing.T) {
		got := make(chan time.Time, 1)
		go func() {
			var out struct{ Task *task.Task }
			err := all[0].api(ada).Do(t.Context(), "POST", "/api/agents/ada/signup", map[string]any{"waitSeconds": 30}, &out)
			if err != nil || out.Task == nil {
				t.Errorf("the signup got %v, %v", out.Task, err)
			}
			got <- time.Now()
		}()
		testkit.Eventually(t, "the signup waits", func() bool {
			answer, err := http.Get(all[0].url() + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			return err == nil && bytes.Contains(text, []byte("taskyard_signups_waiting 1\n"))
		})
		call[task.Task](t, all[1].api(person), "POST", "/api/tasks", map[string]any{"title": "Over there", "owner": "ada"})
		created := time.Now()
		t.Logf("it came after %v", (<-got).Sub(created).Round(time.Millisecond))
	})
	t.Run("the run of a server that dies is made again by another", func(t *testing.T) {
		made := call[task.Task](t, all[2].api(person), "POST", "/api/tasks", map[string]any{"title": "Long work", "owner": "worker"})
		var first *server
		testkit.Eventually(t, "a server has started the run", func() bool {
			for _, s := range all {
				if strings.Contains(s.log.String(), `"run started"`) && lines(t, goDir+"started") == 1 {
					first = s
				}
			}
			return first != nil
		})
		first.kill()
		died := time.Now()
		testkit.Eventually(t, "another server has started it again", func() bool { return lines(t, goDir+"started") == 2 })
		t.Logf("it was continued after %v", time.Since(died).Round(time.Millisecond))
		put(t, goDir+"go", "")
		rest := all[0]
		if rest == first {
			rest = all[1]
		}
		testkit.Eventually(t, "the run has ended", func() bool {
			list := call[struct{ Runs []task.Run }](t, rest.api(person), "GET", "/api/tasks/"+made.ID.String()+"/runs", nil).Runs
			return len(list) > 0 && list[0].Status == task.RunCompleted
		})
		first.start()
	})
	if out, errs, code := k.command("", "check"); code != exitOK {
		t.Errorf("check: exit code %d: %s %s", code, out, errs)
	}
}

// lines counts the lines of a file, which need not be there.
func lines(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}
