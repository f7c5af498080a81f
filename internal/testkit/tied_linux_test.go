package testkit

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// onAThreadThatEnds runs f on a thread that ends after f, which the first thread of
// a process never does.
func onAThreadThatEnds(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with this function
		if syscall.Gettid() == syscall.Getpid() {
			onAThreadThatEnds(f)
			return
		}
		f()
	}()
	<-done
}

func TestATiedProgramOutlivesTheThreadThatRequestedIt(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var thread int
	onAThreadThatEnds(func() {
		thread = syscall.Gettid()
		err = StartTied(cmd)
	})
	if err != nil {
		t.Fatal(err)
	}
	for syscall.Tgkill(syscall.Getpid(), thread, 0) == nil { // the thread still exists
		runtime.Gosched()
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with signal %v", err)
	}
}
