//go:build linux

package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/runner/confine"
)

const (
	noSignals = "not enforced: signals to programs of the account (Linux 6.12)"
	noSeccomp = "limits, priorities, modes and times of the account's programs and files, setuid bits and namespaces (seccomp)"
	noIDs     = "not enforced: setuid bits and namespaces (seccomp)"
)

func TestTheLevelNamesWhatIsEnforced(t *testing.T) {
	t.Parallel()
	full := &kernel{Kernel: confine.Kernel{Landlock: 7, Seccomp: true, Attributes: true}, bwrap: "/usr/bin/bwrap"}
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"Landlock is preferred", Options{kernel: full}, "landlock v7 + no network"},
		{"the network may be open", Options{kernel: full, Network: true}, "landlock v7, network open"},
		{
			"an old Landlock needs a filter",
			Options{kernel: &kernel{Kernel: confine.Kernel{Landlock: 3, Seccomp: true, Attributes: true}}},
			"landlock v3 + no network; " + noSignals,
		},
		{
			"it needs none if the network is open",
			Options{kernel: &kernel{Kernel: confine.Kernel{Landlock: 3}}, Network: true},
			"landlock v3, network open; " + noSignals + "; " + noSeccomp,
		},
		{"without a filter, it cannot close the network", Options{kernel: &kernel{Kernel: confine.Kernel{Landlock: 4}}}, "off"},
		{
			"a new Landlock can",
			Options{kernel: &kernel{Kernel: confine.Kernel{Landlock: 10, Seccomp: true}}},
			"landlock v10 + no network; not enforced: modes and times of the account's files, the data folder's among them (seccomp notifications)",
		},
		{
			"a Landlock that lets files be truncated is not used",
			Options{kernel: &kernel{Kernel: confine.Kernel{Landlock: 2, Seccomp: true, Attributes: true}}},
			"off",
		},
		{
			"bubblewrap is the second choice",
			Options{kernel: &kernel{Kernel: confine.Kernel{Landlock: 2}, bwrap: "/bin/bwrap"}},
			"bubblewrap + no network; " + noIDs,
		},
		{"bubblewrap with a network", Options{kernel: &kernel{bwrap: "/bin/bwrap"}, Network: true}, "bubblewrap, network open; " + noIDs},
		{"bubblewrap can be chosen", Options{kernel: full, Shell: ShellBubblewrap}, "bubblewrap + no network"},
		{"a missing choice is not replaced", Options{kernel: &kernel{bwrap: "/bin/bwrap"}, Shell: ShellLandlock}, "off"},
		{"without either, bash is off", Options{kernel: &kernel{}}, "off"},
		{"unless an admin accepts an unconfined shell", Options{kernel: &kernel{}, AcceptUnconfinedShell: true}, "none"},
		{"even then, the network is closed", Options{
			kernel:                &kernel{Kernel: confine.Kernel{Seccomp: true, Attributes: true}},
			AcceptUnconfinedShell: true,
		}, "none + no network"},
		{"accepting does not weaken a confinement", Options{kernel: full, AcceptUnconfinedShell: true}, "landlock v7 + no network"},
		{"off is off", Options{kernel: full, Shell: ShellOff, AcceptUnconfinedShell: true}, "off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Level(tt.o); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBashIsRefusedIfItCannotBeConfined(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.kernel = &kernel{} })
	refused(t, b, "bash", args{"command": "echo x > made"}, "it cannot be confined here")
	if _, err := os.Stat(filepath.Join(b.opts.Root, "made")); err == nil {
		t.Error("the command ran")
	}
}

func TestBashRunsUnconfinedOnlyIfAccepted(t *testing.T) {
	t.Parallel()
	outside := secret(t)
	b := newBox(t, func(o *Options) { o.kernel, o.AcceptUnconfinedShell = &kernel{}, true })
	out := bash(t, b, daemon+"cat "+outside)
	has(t, out, "top secret", "1 process that it left running")
	wantGone(t, out)
}

func TestAnOlderLandlockConfinesToo(t *testing.T) {
	t.Parallel()
	confined(t)
	outside := secret(t)
	b := newBox(t, func(o *Options) {
		o.kernel = &kernel{Kernel: confine.Kernel{Landlock: 3, Seccomp: true, Attributes: true}}
	})
	has(t, bash(t, b, "cat "+outside+"; echo x > made && cat made; echo > /dev/tcp/127.0.0.1/80"),
		"Permission denied", "x\n", "tcp/127.0.0.1/80: ")
}

// TestBubblewrapConfines needs the program: BWRAP names it if it is not installed.
func TestBubblewrapConfines(t *testing.T) {
	if path := os.Getenv("BWRAP"); path != "" {
		t.Setenv("PATH", filepath.Dir(path)+":"+os.Getenv("PATH"))
	}
	path := workingBubblewrap()
	if path == "" {
		t.Skip("bubblewrap is missing, or does not work")
	}
	outside := secret(t)
	b := newBox(t, func(o *Options) { o.kernel = &kernel{bwrap: path} })
	out := bash(t, b, daemon+"cat "+outside+
		"; echo x > made && cat made; echo y > $HOME/f && cat $HOME/f; touch /usr/x; echo > /dev/tcp/127.0.0.1/80; ls /proc | grep -c '^[0-9]'")
	has(t, out, "No such file", "x\ny\n", "Read-only file system", "/dev/tcp/127.0.0.1/80: ")
	if strings.Contains(out, "top secret") {
		t.Errorf("got %s", out)
	}
	r := call(t, b, "bash", args{"command": daemon + "sleep 600", "timeout": 1})
	has(t, r.Text, "ended after 1s")
	if left := descendants(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheCommandEndsWithItsKeeper(t *testing.T) {
	t.Parallel()
	confined(t)
	// Before version 6, Landlock does not protect a keeper from its command.
	b := newBox(t, func(o *Options) {
		o.kernel = &kernel{Kernel: confine.Kernel{Landlock: 3, Seccomp: true, Attributes: true}}
	})
	r := call(t, b, "bash", args{"command": "setsid sleep 600 & echo $! > pid; kill -9 $PPID; sleep 600"})
	if !r.IsError || !strings.Contains(r.Text, "bash was lost") {
		t.Errorf("%+v", r)
	}
	wantGone(t, content(t, filepath.Join(b.opts.Root, "pid")))
}

func TestTheKeeperIsNotForPeople(t *testing.T) {
	t.Parallel()
	if code := ToolShellMain(nil); code != 2 {
		t.Errorf("got exit code %d", code)
	}
}
