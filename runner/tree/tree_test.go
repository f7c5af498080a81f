//go:build linux

package tree

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"

	"golang.org/x/sys/unix"
)

// The test binary is also a process that confines itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__confined":
			confined()
			testkit.EndHelper(0)
		case "__keeper":
			keep(os.Args[2])
		case "__heir":
			_ = BecomeKeeper()
			_ = unix.Exec("/bin/sh", []string{"sh", "-c", "cat <&7; echo asked"}, os.Environ())
		}
	}
	os.Exit(m.Run())
}

// confined prints the limits that remain after it has confined itself, and those
// of a shell that it starts.
func confined() {
	runtime.LockOSThread() // as the callers do: niceness is per thread
	restore := LowerPriority()
	if err := (Limits{FileSize: 1 << 20, OpenFiles: 64, CPUSeconds: 77}).Set(); err != nil {
		fmt.Println(err)
	}
	if err := Isolate(); err != nil {
		fmt.Println(err)
	}
	_ = unix.Exec("/bin/sh", []string{
		"sh", "-c",
		`ulimit -f; ulimit -n; ulimit -t; ulimit -c; cat /proc/self/oom_score_adj; grep NoNewPrivs /proc/self/status
kill -0 $PPID && echo reaches its parent; cat /proc/$PPID/environ >/dev/null && echo reads its parent; nice`,
	}, os.Environ())
	restore()
}

func TestLimitsOfAProgram(t *testing.T) {
	cmd := exec.Command(os.Args[0], "__confined")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := strings.Join(strings.Fields(string(out)), " ")
	// ulimit counts files in blocks of 512 bytes.
	if want := "2048 64 77 0 1000 NoNewPrivs: 1"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " 10") {
		t.Errorf("got %q, want %q", got, want)
	}
	version, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if int(version) >= signalLandlock && strings.Contains(got, "parent") {
		t.Errorf("it reaches other programs: %q", got)
	}
}

// Files with which a server was started, such as those that its own starter forgot
// to close, are not for agents.
func TestOpenFilesAreNotInherited(t *testing.T) {
	secret, err := os.CreateTemp(t.TempDir(), "")
	if err == nil {
		_, err = secret.WriteAt([]byte("of the server's starter\n"), 0)
	}
	testkit.NoError(t, err)
	t.Cleanup(func() { _ = secret.Close() })
	cmd := exec.Command(os.Args[0], "__heir")
	cmd.ExtraFiles = []*os.File{nil, nil, nil, nil, secret} // 7
	if out, err := cmd.Output(); err != nil || string(out) != "asked\n" {
		t.Errorf("got %v; a program of the keeper read %q", err, out)
	}
}

// keep runs a process that is replaced all the time, and creates a file each time.
func keep(name string) {
	if err := BecomeKeeper(); err != nil {
		fmt.Println(err)
	}
	script := `: >"$1"; sh -c "$0" "$0" "$1" &`
	cmd := exec.Command("/bin/sh", "-c", script, script, name)
	fmt.Println("ready", cmd.Start())
	for {
		var status unix.WaitStatus
		_, _ = unix.Wait4(-1, &status, 0, nil)
	}
}

func TestAProcessThatKeepsReplacingItselfIsKilled(t *testing.T) {
	for range 10 {
		name := filepath.Join(t.TempDir(), "alive")
		cmd := exec.Command(os.Args[0], "__keeper", name)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		testkit.NoError(t, err)
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready <nil>\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		for _, err := os.Stat(name); err != nil; _, err = os.Stat(name) {
			runtime.Gosched()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		n, err := KillAll(ctx, func() []Proc { return Descendants(cmd.Process.Pid) })
		cancel()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if n == 0 || err != nil {
			t.Errorf("got %d killed, %v", n, err)
		}
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
		<-time.After(100 * time.Millisecond) // hundreds of replacements
		if _, err := os.Stat(name); err == nil {
			t.Error("the process is still running")
			_ = os.RemoveAll(filepath.Dir(name)) // its shell then ends
		}
	}
}

func TestAProcessThatKeepsExecutingItselfIsFound(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	testkit.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700))
	mark := "TASKYARD_TEST=" + rand.Text()
	cmd := exec.Command(script)
	cmd.Env = []string{mark}
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	// The parent death signal is bound to this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	testkit.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	missed := 0
	for range 1000 {
		if found := Marked(mark); len(found) != 1 || found[0].PID != cmd.Process.Pid {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("missed %d times in 1000", missed)
	}
}

// brood starts a shell with a child that holds 40 MB of its own.
func brood(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `x=$(head -c 40000000 /dev/zero | tr '\0' x); sleep 600 & echo ready; wait`)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	testkit.NoError(t, err)
	t.Cleanup(func() {
		KillOnce(func() []Proc { return Descendants(os.Getpid()) })
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
}

func TestCensus(t *testing.T) {
	brood(t)
	for _, tt := range []struct {
		name   string
		census Census
		want   string
	}{
		{"without limits, nothing is exceeded", Census{}, ""},
		{"high limits are not exceeded", Census{Processes: 100, Memory: 4 << 30}, ""},
		{"too many processes", Census{Processes: 1}, "more than 1 processes at one time"},
		{"too much memory", Census{Memory: 32 << 20}, "more than 32 MiB of memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.census.Look(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a look between two full ones is cheap", func(t *testing.T) {
		c := Census{Processes: 1, last: time.Now()}
		var info unix.Sysinfo_t
		testkit.NoError(t, unix.Sysinfo(&info))
		c.threads = info.Procs
		if got := c.Look(); got != "" {
			t.Errorf("it looked at all processes: %q", got)
		}
	})
	if MaxMemory() < 64<<20 {
		t.Errorf("got a maximum of %d bytes", MaxMemory())
	}
}

func TestStraysAreFoundOnlyIfTheyAreAdopted(t *testing.T) {
	brood(t)
	if got := Strays(); got != nil {
		t.Errorf("a process that adopts nobody found %v", got)
	}
}
