//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/confine"
	"taskyard/runner/tree"
)

// confined skips the test if the machine has no suitable Landlock.
func confined(t *testing.T) {
	t.Helper()
	if k := machineKernel(); k.Landlock < confine.MinVersion || !k.Seccomp {
		t.Skipf("this machine has landlock v%d, seccomp %v", k.Landlock, k.Seccomp)
	}
}

func bash(t *testing.T, b *Box, command string) string {
	t.Helper()
	r := call(t, b, "bash", args{"command": command})
	if strings.Contains(r.Text, "could not be started") {
		t.Fatal(r.Text)
	}
	return r.Text
}

func TestBashReportsHowTheCommandEnded(t *testing.T) {
	confined(t)
	b := newBox(t)
	for _, tt := range []struct{ name, command, want string }{
		{"output and errors come together", "echo one; echo two >&2; echo three", "one\ntwo\nthree\n"},
		{"it works in the workspace", "pwd", b.opts.Root + "\n"},
		{"missing output is reported", "true", "[no output, exit code 0]\n"},
		{"a failure has its exit code", "echo bad; exit 3", "bad\n[exit code 3]\n"},
		{"a signal is named", "kill -SEGV $$", "[killed by signal 11 (segmentation fault)]\n"},
		{"stdin is empty", "cat; echo end", "end\n"},
		{"invalid text is replaced", `printf 'a\xff\0b'`, "a\uFFFD\uFFFDb\n"},
		{"each call starts fresh", "cd /usr; x=1", "[no output, exit code 0]\n"},
		{"pipes and substitutions work", `paste -d+ <(echo 1) <(echo 2) | tr + -`, "1-2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := bash(t, b, tt.command); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a failure is an error", func(t *testing.T) {
		if r := call(t, b, "bash", args{"command": "exit 1"}); !r.IsError {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the environment of the server is not visible", func(t *testing.T) {
		t.Setenv("PROVIDER_KEY", "hidden")
		names := bash(t, newBox(t, func(o *Options) { o.Env = nil }), "env | cut -d= -f1 | sort | tr '\\n' ' '")
		if want := "HOME LANG PATH PWD SHLVL TASKYARD_SHELL_ID TERM TMPDIR _ "; strings.TrimSpace(names) != strings.TrimSpace(want) {
			t.Errorf("got the variables %s", names)
		}
	})
}

func TestBashReachesOnlyTheWorkspaceAndTheSystem(t *testing.T) {
	t.Parallel()
	confined(t)
	outside := secret(t)
	b := newBox(t)
	for _, tt := range []struct{ name, command, want string }{
		{"it writes in the workspace", "mkdir -p a/b && echo x > a/f && mv a/f a/b/ && cat a/b/f", "x\n"},
		{"it has a HOME and a TMPDIR", "echo 1 > $HOME/x && echo 2 > $TMPDIR/y && cat $HOME/x $TMPDIR/y", "1\n2\n"},
		{"it runs the system's programs", "ls /usr/bin/env", "/usr/bin/env\n"},
		{"nothing else can be read", "cat " + outside, "Permission denied"},
		{"not through a link either", "ln -s " + outside + " link; cat link", "Permission denied"},
		{"another file cannot be linked to", "ln " + outside + " hard", "ln: "},
		{"another file cannot be truncated", "truncate -s 0 " + outside, "Permission denied"},
		{"another file cannot be removed", "rm -f " + outside, "Permission denied"},
		{"no file can be created elsewhere", "echo x > " + filepath.Dir(outside) + "/new", "Permission denied"},
		{"system folders are not writable", "echo x > /usr/bin/zz-taskyard", "Permission denied"},
		{"secrets of the system are not readable", "cat /etc/shadow", "Permission denied"},
		{"other processes are not readable", "cat /proc/" + strconv.Itoa(os.Getpid()) + "/environ", "Permission denied"},
		{"devices cannot be created", "mknod disk b 8 0", "mknod: "},
		{"devices cannot be read", "head -c1 /dev/mem", "head: "},
		{"nothing can be mounted", "mount -t tmpfs x .", "mount: "},
	} {
		t.Run(tt.name, func(t *testing.T) { has(t, bash(t, b, tt.command), tt.want) })
	}
	if got := content(t, outside); got != "top secret" {
		t.Errorf("the file outside is now %q", got)
	}
	t.Run("the server cannot be killed", func(t *testing.T) {
		if machineKernel().Landlock < 6 {
			t.Skip("landlock forbids signals from version 6 on")
		}
		has(t, bash(t, b, "kill -0 "+strconv.Itoa(os.Getpid())), "not permitted")
		has(t, bash(t, b, "kill -9 $PPID; echo still here"), "not permitted", "still here")
	})
	t.Run("programs of root do not have its privileges", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("the tests do not run as root")
		}
		has(t, bash(t, b, "chown 1234 . 2>&1; chroot . true 2>&1"), "chown: ", "chroot: ")
	})
	t.Run("folders can be made readable", func(t *testing.T) {
		b := newBox(t, func(o *Options) { o.ReadOnly = []string{filepath.Dir(outside)} })
		has(t, bash(t, b, "cat "+outside+"; echo x >> "+outside), "top secret", "Permission denied")
	})
}

// dials tries a TCP connection, a UDP packet and a local socket.
const dials = `
import socket, sys
for kind, family, type, to in (("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(sys.argv[1]))),
		("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9)), ("unix", socket.AF_UNIX, socket.SOCK_STREAM, sys.argv[2])):
	try:
		s = socket.socket(family, type); s.connect(to); print(kind, "open")
	except OSError as e:
		print(kind, "closed", e.errno)
try:
	socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM); print("pair open")
	socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as e:
	print("datagrams closed")
`

func TestBashHasNoNetworkUnlessAllowed(t *testing.T) {
	t.Parallel()
	confined(t)
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.NoError(t, err)
	defer func() { _ = tcp.Close() }()
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	for _, tt := range []struct {
		name    string
		network bool
		want    []string
	}{
		{"closed", false, []string{"tcp closed 13", "udp closed 13", "unix closed 13", "pair open", "datagrams closed"}},
		{"open, except for local daemons", true, []string{"tcp open", "udp open", "unix closed 13"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBox(t, func(o *Options) { o.Network = tt.network })
			path := filepath.Join(b.opts.Root, "s")
			local, err := net.Listen("unix", path)
			testkit.NoError(t, err)
			defer func() { _ = local.Close() }()
			file(t, b, "dial.py", dials)
			has(t, bash(t, b, "/usr/bin/python3 dial.py "+port+" s"), tt.want...)
		})
	}
}

// daemon starts a process in its own session, without a parent, and prints its
// PID.
const daemon = `setsid sh -c 'sleep 600 >/dev/null 2>&1 </dev/null & echo $! > pid' ; cat pid; `

func wantGone(t *testing.T, text string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(text, "\n", 2)[0]))
	if err != nil {
		t.Fatalf("no pid in %q", text)
	}
	if p, there := tree.Read(pid); there && !p.Dead {
		t.Errorf("process %d still runs", pid)
	}
}

func TestNoProcessOutlivesACallOfBash(t *testing.T) {
	t.Parallel()
	confined(t)
	b := newBox(t)
	t.Run("after the command ended", func(t *testing.T) {
		out := bash(t, b, daemon)
		wantGone(t, out)
		has(t, out, "[1 process that it left running were ended]")
	})
	t.Run("after its timeout", func(t *testing.T) {
		var r Result
		limit := 1
		for ; limit <= 64; limit *= 2 { // on a busy machine, the time may be up before the process exists
			if r = call(t, b, "bash", args{"command": daemon + "trap '' TERM; sleep 600", "timeout": limit}); !strings.HasPrefix(r.Text, "[") {
				break
			}
		}
		wantGone(t, r.Text)
		has(t, r.Text, fmt.Sprintf("[ended after %ds: give timeout (600 at most)", limit))
		if !r.IsError {
			t.Error("got no error")
		}
	})
	t.Run("after the run is stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for t.Context().Err() == nil {
				if text, _ := os.ReadFile(filepath.Join(b.opts.Root, "ready")); len(text) > 0 {
					return
				}
			}
		}()
		raw, _ := json.Marshal(args{"command": daemon + "echo x > ready; sleep 600"})
		r := b.Call(ctx, "bash", raw)
		wantGone(t, r.Text)
		has(t, r.Text, "the run is being stopped")
	})
	t.Run("after endless forks", func(t *testing.T) {
		b := newBox(t, func(o *Options) { o.processes = 50 })
		has(t, bash(t, b, "for i in $(seq 120); do sleep 300 & done; wait"), "more than 50 processes at one time")
	})
}

func TestBashShowsBeginningAndEndOfALongOutput(t *testing.T) {
	t.Parallel()
	confined(t)
	b := newBox(t)
	out := bash(t, b, "echo first; yes äöü | head -c 2000000; echo; echo last")
	has(t, out, "first\n", "bytes are left out here; to get them run the command again with > out.txt", "last\n")
	if n := len([]rune(out)); n < maxOutput || n > maxOutput+200 || strings.Contains(out, "\uFFFD") {
		t.Errorf("got %d characters", n)
	}
	has(t, bash(t, b, "yes | head -c 30000"), strings.Repeat("y\n", 15_000))
	has(t, bash(t, b, "yes | head -c 30002"), "[2 bytes are left out here")
}

func TestBashLimitsFilesAndMemory(t *testing.T) {
	t.Parallel()
	confined(t)
	b := newBox(t)
	has(t, bash(t, b, "ulimit -f -d -n -c -x 2>/dev/null; ulimit -f; ulimit -d; ulimit -n; ulimit -c"), "1048576\n4194304\n4096\n0\n")
	has(t, bash(t, b, "truncate -s 2G big; ls big"), "File size limit exceeded")
}

func TestBashReportsWhichFilesChanged(t *testing.T) {
	t.Parallel()
	confined(t)
	b := newBox(t)
	old := file(t, b, "old", "x")
	file(t, b, "touched", "x")
	testkit.NoError(t, os.Chtimes(old, time.Unix(1, 0), time.Unix(1, 0)))
	bash(t, b, "sleep 0.05") // file times are coarse
	r := call(t, b, "bash", args{"command": "mkdir d; echo > d/new; echo >> touched; cat old"})
	if !slices.Equal(r.Files, []string{"d/new", "touched"}) {
		t.Errorf("got the files %v", r.Files)
	}
}
