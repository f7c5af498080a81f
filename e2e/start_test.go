package e2e

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"taskyard/runner/supervise"
)

// Every run, every shell command of a built-in agent and every command of the
// client starts this binary, so no package of ours may do much before main.
func TestAProcessDoesLittleBeforeMain(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), binary(t), supervise.ShimArg)
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	trace, _ := cmd.CombinedOutput() // it ends with an error, because no program was named
	own := 0
	for line := range strings.Lines(string(trace)) {
		f := strings.Fields(line) // init taskyard/task @3.1 ms, 0.22 ms clock, 12408 bytes, 40 allocs
		if len(f) < 9 || f[0] != "init" || !strings.HasPrefix(f[1], "taskyard/") {
			continue
		}
		own++
		if n, err := strconv.Atoi(f[7]); err != nil || n > 64_000 {
			t.Errorf("allocates more than 64 kB before main (internal/lazyregexp, sync.OnceValue): %s", line)
		}
	}
	if own < 5 {
		t.Errorf("got %d of our packages in the trace:\n%s", own, trace)
	}
}
