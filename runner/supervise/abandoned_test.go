//go:build linux

package supervise_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
)

func TestAShimWithoutAServerStartsNothing(t *testing.T) {
	t.Parallel()
	lifeline, ours, err := os.Pipe()
	testkit.NoError(t, err)
	status, theirs, err := os.Pipe()
	testkit.NoError(t, err)
	defer status.Close()
	if err := ours.Close(); err != nil { // as the kernel does for a killed server
		t.Fatal(err)
	}
	mark := filepath.Join(t.TempDir(), "mark")
	cmd := exec.CommandContext(t.Context(), os.Args[0], supervise.ShimArg, "300", "0", "/bin/sh", "-c", "echo here >"+mark)
	cmd.ExtraFiles = []*os.File{lifeline, theirs}
	testkit.NoError(t, cmd.Start())
	_, _ = lifeline.Close(), theirs.Close()
	said, err := io.ReadAll(status)
	testkit.NoError(t, err)
	_ = cmd.Wait() // its exit code is not 0
	var r struct{ StartError string }
	if err := json.Unmarshal(said, &r); err != nil || !strings.Contains(r.StartError, "gone") {
		t.Errorf("got the output %q, %v", said, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program was started")
	}
}
