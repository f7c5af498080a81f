package testkit

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// StartTied starts a command that is killed when this process ends for any
// reason. The kernel ties the command to the thread that starts it, and a
// thread of a Go program ends with a goroutine that is locked to it. Therefore,
// a single thread, which never ends, starts all commands.
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
