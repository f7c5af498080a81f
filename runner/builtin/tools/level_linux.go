package tools

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"taskyard/runner/confine"

	"taskyard/runner/tree"
)

// shellChoice describes how bash will be confined.
type shellChoice struct {
	kernel
	refusal string // why bash does not run at all, or ""
}

// chooseShell returns the best available confinement. If the network must be closed
// but cannot be, a confinement is not used.
func chooseShell(o Options) shellChoice {
	k := o.kernel
	if k == nil {
		k = machineKernel()
	}
	auto := o.Shell == ShellAuto
	switch {
	case o.Shell == ShellOff:
		return shellChoice{refusal: "bash is off: the configuration does not allow it"}
	case (auto || o.Shell == ShellLandlock) && k.Landlock >= confine.MinVersion && (o.Network || k.Seccomp || k.Landlock >= confine.ClosesUDP):
		return shellChoice{kernel: kernel{Kernel: k.Kernel}}
	case (auto || o.Shell == ShellBubblewrap) && k.bwrap != "":
		return shellChoice{kernel: kernel{Kernel: confine.Kernel{Seccomp: k.Seccomp}, bwrap: k.bwrap}}
	case o.AcceptUnconfinedShell:
		return shellChoice{kernel: kernel{Kernel: confine.Kernel{Seccomp: k.Seccomp}}}
	}
	return shellChoice{refusal: "bash is off: it cannot be confined here (that takes landlock of Linux 6.2 or " +
		"newer, or bubblewrap), and the configuration does not accept it unconfined"}
}

// refusedShell returns why bash does not run here, or "".
func refusedShell(o Options) string { return chooseShell(o).refusal }

// Level returns how bash is confined with these options, for people: "landlock
// v7 + no network", "bubblewrap, network open", "none", or "off" where bash is
// refused.
func Level(o Options) string {
	c := chooseShell(o)
	level, unenforced := "none", ""
	switch {
	case c.refusal != "":
		return "off"
	case c.Landlock > 0:
		level, unenforced = fmt.Sprintf("landlock v%d", c.Landlock), c.Unenforced()
	case c.bwrap != "":
		level, unenforced = "bubblewrap", ""
		if !c.Seccomp {
			unenforced = "not enforced: setuid bits and namespaces (seccomp)"
		}
	}
	switch {
	case o.Network && level != "none":
		level += ", network open"
	case !o.Network && (level != "none" || c.Seccomp):
		level += " + no network"
	}
	if unenforced != "" {
		level += "; " + unenforced
	}
	return level
}

// Level returns how bash is confined in this box.
func (b *Box) Level() string { return Level(b.opts) }

// machineKernel examines this machine once.
var machineKernel = sync.OnceValue(func() *kernel {
	return &kernel{Kernel: confine.Machine(), bwrap: workingBubblewrap()}
})

// workingBubblewrap returns the path of bubblewrap. It may be installed but not
// allowed to create namespaces.
func workingBubblewrap() string {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	probe := exec.CommandContext(ctx, path, "--unshare-all", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc", "true")
	reaped, err := tree.Begin(probe)
	if err != nil {
		return ""
	}
	defer reaped()
	if probe.Wait() != nil {
		return ""
	}
	return path
}
