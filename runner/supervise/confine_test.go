//go:build linux

package supervise_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/command"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
)

// confinedSh returns a confined command that runs a shell script.
func confinedSh(c supervise.Confinement, script string) *command.Runner {
	r := sh(script)
	r.Confine = c
	return r
}

func TestAConfinedProgramWritesOnlyInItsFolders(t *testing.T) {
	t.Parallel()
	c := runnertest.Confined(t)
	outside, further := t.TempDir(), t.TempDir()
	mine := filepath.Join(outside, "mine")
	testkit.NoError(t, os.WriteFile(mine, []byte("whole"), 0o600))
	c.Writable = []string{further, filepath.Join(outside, "not-there")}
	spec := runnertest.NewSpec(t)
	log := filepath.Join(spec.Dir, "tmp", "log")
	_, _ = runnertest.Run(t, confinedSh(c, `exec 2>`+log+` >&2; set -x
echo a > in && mv in moved && cat moved > $HOME/b && cat $HOME/b > $TMPDIR/c && echo `+
		`to-null > /dev/null && touch `+further+`/d && echo inside=yes
for f in `+mine+` `+outside+`/new `+spec.Dir+`/mcp.json /etc/taskyard-test; do (echo bad > $f) && echo wrote=$f; done
setsid sh -c 'echo bad > `+mine+`' && echo wrote=child
rm `+mine+` && echo removed; mv moved `+outside+` && echo moved-out; ln `+mine+` linked && echo linked; mkdir `+outside+`/sub && echo made
cat `+mine+` && cat /etc/passwd > /dev/null && echo reads=yes
kill -0 `+strconv.Itoa(os.Getpid())+` && echo signals; kill -0 $PPID && echo signals-shim
cat /proc/`+strconv.Itoa(os.Getpid())+`/environ > /dev/null && echo spies
:`), spec)
	text := runnertest.ReadText(t, log)
	for line := range strings.SplitSeq(text, "\n") {
		if word, _, _ := strings.Cut(line, "="); slices.Contains([]string{
			"wrote", "removed",
			"moved-out", "linked", "made", "signals", "spies",
		}, word) {
			t.Errorf("the program could: %s", line)
		}
	}
	if !strings.Contains(text, "\ninside=yes") || !strings.Contains(text, "\nreads=yes") || t.Failed() {
		t.Errorf("got the output %s", text)
	}
	if got := runnertest.ReadText(t, mine); got != "whole" {
		t.Errorf("the file outside contains %q", got)
	}
}

func TestAConfinedProgramCannotReadHiddenFiles(t *testing.T) {
	t.Parallel()
	c := runnertest.Confined(t)
	data, spec := t.TempDir(), runnertest.NewSpec(t)
	spec.Dir = filepath.Join(data, "runs", "run-1")
	secrets := []string{filepath.Join(data, "taskyard.db"), filepath.Join(data, "runs", "run-2", "secret")}
	beside := filepath.Join(filepath.Dir(data), "beside")
	for _, file := range append(secrets, beside, filepath.Join(spec.Dir, "mcp.json")) {
		testkit.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("x"), 0o600)))
	}
	link := filepath.Join(filepath.Dir(data), "link")
	testkit.NoError(t, os.Symlink(data, link))
	c.Hidden = []string{data, filepath.Join(data, "not-there")}
	log := filepath.Join(spec.Dir, "tmp", "log")
	_, _ = runnertest.Run(t, confinedSh(c, `exec 2>`+log+` >&2; set -x
echo a > in && cat in `+beside+` `+spec.Dir+`/mcp.json /etc/passwd > out && ls /usr > $TMPDIR/ls && echo reads=yes
for f in `+strings.Join(secrets, " ")+` `+link+`/taskyard.db; do cat $f && echo read=$f; done
ls `+data+` && echo listed; `+"mv "+secrets[0]+` here && echo moved; ln `+secrets[0]+` here && echo linked
:`), spec)
	text := runnertest.ReadText(t, log)
	for line := range strings.SplitSeq(text, "\n") {
		if word, _, _ := strings.Cut(line, "="); slices.Contains([]string{"read", "listed", "moved", "linked"}, word) {
			t.Errorf("the program could: %s", line)
		}
	}
	if !strings.Contains(text, "\nreads=yes") || t.Failed() {
		t.Errorf("got the output %s", text)
	}
}
