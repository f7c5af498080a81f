//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// floodArg makes the test binary an agent's program that prints too much: the next
// arguments are the kind and the number of bytes.
const floodArg = "__flood"

func init() {
	if len(os.Args) > 3 && os.Args[1] == floodArg {
		n, _ := strconv.Atoi(os.Args[3])
		flood(os.Args[2], n)
		os.Exit(0)
	}
}

func flood(kind string, n int) {
	block, out := bytes.Repeat([]byte("y"), 1<<20), bufio.NewWriterSize(os.Stdout, 64<<10)
	if kind == "lines" {
		block = bytes.Repeat([]byte(strings.Repeat("x", 79)+"\n"), 1<<20/80)
	}
	for ; n > 0; n -= len(block) {
		_, _ = out.Write(block)
	}
	_, _ = out.WriteString("\n{\"summary\":\"all is said\",\"success\":true}\n")
	_ = out.Flush()
}

const (
	maxGrowth  = 64 << 10 // KiB of memory that any abuse may cost the server
	goalAnswer = 200 * time.Millisecond
	// maxAnswer is the limit for /healthz: the goal is for a dedicated machine, and
	// other tests run at the same time.
	maxAnswer = 2 * time.Second
)

// floodSizes returns the bytes of the output and of the endless line: always more
// than maxGrowth, so that a server that kept them is noticed.
func floodSizes() (output, line string) {
	return testkit.ByForm("75000000", "100000000", "1000000000"), testkit.ByForm("75000000", "100000000", "200000000")
}

// It is not parallel, because it measures.
func TestFloodsCostTheServerLittle(t *testing.T) {
	self := testBinary(t)
	output, line := floodSizes()
	floods := []struct{ name, agent, script, state string }{
		{"no flood", "calm", fmt.Sprintf("exec %q %s lines 1000", self, floodArg), "completed|ended"},
		{"endless output", "lines", fmt.Sprintf("exec %q %s lines %s", self, floodArg, output), "completed|ended"},
		{"an endless line", "line", fmt.Sprintf("exec %q %s line %s", self, floodArg, line), "completed|ended"},
		{"endless processes", "bomb", "while :; do sleep 600 & done", "failed|error"},
	}
	if !testkit.Thorough() {
		floods = floods[:3] // jobs/trials tests endless processes too, and they take long
	}
	s, config := newServer(t, "serve"), "[runs]\nattempts = 1\n"
	s.env = append(s.env, testkit.DefaultGC)
	for _, f := range floods {
		script := put(t, filepath.Join(t.TempDir(), f.agent+".sh"), f.script)
		config += fmt.Sprintf("[runners.%s]\nkind = \"command\"\ncommand = [\"/bin/sh\", %q]\n", f.agent, script)
		s.file("agents/"+f.agent+".md", "---\nname: "+f.agent+"\ndescription: Floods.\ntools: read\nrunner: "+f.agent+"\n---\nFlood.\n")
	}
	s.file("taskyard.toml", config)
	s.start()
	person := s.api(s.token("--scope", "operate"))
	for _, f := range floods {
		t.Run(f.name, func(t *testing.T) {
			before := memoryKiB(t, s.cmd.Process.Pid, "VmRSS:")
			// From here on, the high-water mark is that of this flood.
			if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
				t.Skipf("the high-water mark cannot be reset: %v", err)
			}
			answers := s.pulse()
			tk := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Flood", "owner": f.agent})
			testkit.EventuallyWithin(t, 3*time.Minute, "the run has ended", func() bool {
				return s.rows("SELECT count(*) FROM runs WHERE ended_at IS NOT NULL AND task_id = ?", tk.ID.String())[0] == "1"
			})
			took := answers()
			peak := memoryKiB(t, s.cmd.Process.Pid, "VmHWM:")
			slices.Sort(took)
			slow := len(took) - slices.IndexFunc(append(slices.Clone(took), time.Hour), func(d time.Duration) bool { return d > goalAnswer })
			t.Logf("memory %d MiB before, %d MiB at most; %d requests to /healthz: median %v, slowest %v, %d over %v",
				before>>10, peak>>10, len(took), took[len(took)/2].Round(time.Microsecond), took[len(took)-1].Round(time.Millisecond), slow, goalAnswer)
			if f.agent != "calm" && peak-before > maxGrowth {
				t.Errorf("memory grew by %d MiB, want at most %d", (peak-before)>>10, maxGrowth>>10)
			}
			if worst := took[len(took)-1]; worst > maxAnswer {
				t.Errorf("/healthz took %v", worst)
			}
			if got := s.rows("SELECT status, phase FROM runs WHERE task_id = ?", tk.ID.String())[0]; got != f.state {
				t.Errorf("got the run as %s, want %s", got, f.state)
			}
			s.wantNoProcesses("after the run", nil)
		})
	}
}

// pulse requests /healthz every 20 ms until the returned function is called, which
// returns how long each response took.
func (s *server) pulse() (end func() []time.Duration) {
	var took []time.Duration
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(s.t.Context())
	wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			begin := time.Now()
			if _, err := exchange(http.DefaultClient, newRequest(s.t.Context(), http.MethodGet, s.url()+"/healthz", "", "")); err != nil {
				s.t.Error(err)
				return
			}
			took = append(took, time.Since(begin))
			<-tick.C
		}
	})
	return func() []time.Duration { cancel(); wg.Wait(); return took }
}
