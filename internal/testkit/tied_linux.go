package testkit

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// StartTied starts a command that is killed when this process ends, however it
// ends. The kernel ties that to the thread which starts it, and threads of a Go
// program end whenever a goroutine ends that is locked to its own: so one
// thread, which never ends, starts them all.
func StartTied(cmd *exec.Cmd) error {
	tied.once.Do(func() {
		tied.starts = make(chan func())
		go func() {
			runtime.LockOSThread()
			for start := range tied.starts {
				start()
			}
		}()
	})
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	tied.starts <- func() { started <- cmd.Start() }
	return <-started
}

var tied struct {
	once   sync.Once
	starts chan func()
}
