package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/testkit"
)

// storing are the system calls that change the data folder.
const storing = "pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat"

// naming are those that change names or make changes durable.
const naming = "fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat"

// needsStrace skips the test if system calls cannot be traced.
func needsStrace(t testing.TB) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "strace", "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace does not work here: %v", err)
	}
}

// killedAt runs a command of the program, which is killed right before the nth of
// these system calls in one of its threads. It reports whether it was killed.
func killedAt(t testing.TB, calls string, n int, args ...string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", calls, n)
	cmd := exec.CommandContext(ctx, "strace",
		append([]string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + calls, "-e", inject, binary(t)}, args...)...)
	cmd.Env = append([]string{"TASKYARD_SCHEDULER_CRON=0 5 1 1 *"}, os.Environ()...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok &&
		(st.Signaled() && st.Signal() == syscall.SIGKILL || st.ExitStatus() == 137) {
		return true
	}
	t.Fatalf("%v at %d: %v: %s", args, n, err, out)
	return false
}

// inject makes system calls of the running server return what strace's inject=
// defines, until the returned function is called.
func (s *server) inject(calls, effect string) (end func()) {
	s.t.Helper()
	pid := s.cmd.Process.Pid
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), "strace", "-f", "-qq", "-o", "/dev/null",
		"-e", "trace="+calls, "-e", "inject="+calls+":"+effect, "-p", fmt.Sprint(pid))
	testkit.NoError(s.t, testkit.StartTied(cmd))
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	testkit.EventuallyWithin(s.t, 20*time.Second, "strace traces every thread", func() bool { return traced(pid) })
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	}
}

// traced reports whether each thread of a process is traced.
func traced(pid int) bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		return err == nil // it has already ended
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "TracerPid:\t0\n") {
			return false
		}
	}
	return true
}
