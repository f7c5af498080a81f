package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/cmd"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// manager is a service manager as the server sees it: a socket that receives its
// states.
type manager struct {
	t    testing.TB
	conn *net.UnixConn
	path string
}

func newManager(t testing.TB) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	testkit.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &manager{t, conn, path}
}

// next returns the next datagram, without those of the watchdog unless one is wanted.
func (m *manager) next(watchdog bool) string {
	m.t.Helper()
	testkit.NoError(m.t, m.conn.SetReadDeadline(time.Now().Add(patience)))
	b := make([]byte, 4096)
	for {
		n, err := m.conn.Read(b)
		testkit.NoError(m.t, err)
		if text := string(b[:n]); (text == "WATCHDOG=1") == watchdog {
			return text
		}
	}
}

func (s *server) oneRunCompleted() bool {
	s.t.Helper()
	return s.rows("select count(*) from runs where status = 'completed'")[0] == "1"
}

func TestTheServiceManagerIsNotified(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	s := newServer(t, "serve")
	s.env = []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=400000"}
	s.file("taskyard.toml", "[runners.script]\nkind = \"command\"\ncommand = [\"env\"]\n")
	s.file("agents/env.md", "---\nname: env\ndescription: Prints its environment.\ntools: read\nrunner: script\n---\nGo.\n")
	s.start()
	if got := m.next(false); !strings.HasPrefix(got, "READY=1\nSTATUS=Serving on "+s.url()) {
		t.Errorf("at the start, got %q", got)
	}
	for range 3 {
		m.next(true)
	}
	t.Run("a reload", func(t *testing.T) {
		s.sendHUP()
		var usec int64
		if got := m.next(false); !strings.HasPrefix(got, "RELOADING=1\n") {
			t.Errorf("got %q", got)
		} else if _, err := fmt.Sscanf(strings.Split(got, "\n")[1], "MONOTONIC_USEC=%d", &usec); err != nil || usec == 0 {
			t.Errorf("got %q", got)
		}
		if got := m.next(false); !strings.HasPrefix(got, "READY=1\n") {
			t.Errorf("then got %q", got)
		}
	})
	t.Run("programs of agents do not inherit the socket", func(t *testing.T) {
		c := s.api(s.token("--scope", "operate"))
		call[task.Task](t, c, http.MethodPost, "/api/tasks", map[string]any{"title": "x", "owner": "env"})
		testkit.Eventually(t, "the run has completed", s.oneRunCompleted)
		if got := s.rows("select count(*) from messages where content like '%NOTIFY_SOCKET%' or content like '%WATCHDOG%'"); got[0] != "0" {
			t.Error("the socket was inherited")
		}
	})
	t.Run("a stop", func(t *testing.T) {
		testkit.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		if got := m.next(false); !strings.HasPrefix(got, "STOPPING=1\nSTATUS=Stopping") {
			t.Errorf("got %q", got)
		}
		if code := s.term(); code != exitOK {
			t.Errorf("got exit code %d", code)
		}
	})
}

func TestASocketOfTheServiceManagerIsServed(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "serve")
			address, at := "127.0.0.1:0", ""
			if network == "unix" {
				address = filepath.Join(t.TempDir(), "s")
			}
			ln, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
			testkit.NoError(t, err)
			defer ln.Close()
			f, err := ln.(interface{ File() (*os.File, error) }).File()
			testkit.NoError(t, err)
			defer f.Close()
			if at = "http://" + ln.Addr().String(); network == "unix" {
				at = "unix:" + address
			}
			s.passed = []*os.File{f}
			s.program = []string{"sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`, binary(t)}
			if s.address = strings.TrimPrefix(at, "http://"); network == "tcp" {
				s.args = append(s.args, "--set", "log.format=text")
			}
			s.start() // with --listen, which is ignored
			c := &client.Client{URL: at, Token: s.token("--scope", "read")}
			if me := call[client.Me](t, c, http.MethodGet, "/api/me", nil); me.Scope != "read" {
				t.Errorf("got %+v", me)
			}
			if code := s.term(); code != exitOK {
				t.Errorf("got exit code %d", code)
			}
			if network == "unix" {
				if _, err := os.Lstat(address); err != nil {
					t.Errorf("the socket of the manager was removed: %v", err)
				}
			}
		})
	}
	t.Run("several sockets are refused", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "serve")
		s.program = []string{"sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=2 exec "$0" "$@"`, binary(t)}
		if err := s.tryStart(); err == nil || !strings.Contains(s.log.String(), "2 sockets are passed, but the server takes one") {
			t.Errorf("%v: %s", err, s.log.String())
		}
	})
}

func TestAUnixSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket, run := filepath.Join(dir, "s"), filepath.Join(dir, "run")
	testkit.NoError(t, os.Mkdir(run, 0o755))
	s := newServer(t, "serve")
	s.address, s.env = "unix:"+socket, []string{"RUNTIME_DIRECTORY=" + run}
	s.file("taskyard.toml", "[runners.script]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \""+binary(t)+" whoami\"]\n")
	s.file("agents/me.md", "---\nname: me\ndescription: Asks who it is.\ntools: read\nrunner: script\n---\nGo.\n")
	s.start()
	mode := func() os.FileMode {
		t.Helper()
		fi, err := os.Lstat(socket)
		testkit.NoError(t, err)
		return fi.Mode()
	}
	if got := mode(); got != os.ModeSocket|0o660 {
		t.Errorf("got mode %v", got)
	}
	t.Run("client commands find it with the configuration of the service", func(t *testing.T) {
		var out, errs testkit.Buffer
		token := s.token("--scope", "operate")
		code := cmd.Run(&cmd.Env{
			Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, AddressFile: filepath.Join(run, "address"),
			Getenv: func(k string) string { return map[string]string{"TASKYARD_TOKEN": token}[k] },
		}, []string{"task", "create", "Who am I?", "--owner", "me"})
		if code != exitOK {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
	})
	t.Run("the MCP bridge reaches it", func(t *testing.T) {
		var out testkit.Buffer
		environ := map[string]string{"TASKYARD_URL": s.address, "TASKYARD_TOKEN": s.token("--agent", "me")}
		if stderr, code := bridge(t, strings.NewReader(hello), &out, environ); code != exitOK || !strings.Contains(out.String(), "serverInfo") {
			t.Errorf("got exit code %d: %s", code, stderr)
		}
	})
	t.Run("a ping needs no token", func(t *testing.T) {
		for address, want := range map[string]int{s.address: exitOK, "unix:" + dir + "/none": client.ExitUnreachable} {
			var out, errs testkit.Buffer
			code := cmd.Run(&cmd.Env{
				Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
				Getenv: func(k string) string { return map[string]string{"TASKYARD_URL": address}[k] },
			}, []string{"ping"})
			if code != want || want == exitOK && out.String() != "ready\n" {
				t.Errorf("%s: got exit code %d: %s%s", address, code, out.String(), errs.String())
			}
		}
	})
	t.Run("runs reach the server", func(t *testing.T) {
		testkit.Eventually(t, "the run has completed", s.oneRunCompleted)
	})
	t.Run("two servers do not share it", func(t *testing.T) {
		other := newServer(t, "serve")
		other.address = s.address
		if err := other.tryStart(); err == nil || !strings.Contains(other.log.String(), "in use by another program") {
			t.Errorf("%v: %s", err, other.log.String())
		}
	})
	t.Run("a socket that a killed server left is replaced", func(t *testing.T) {
		s.kill()
		mode()
		s.address = "unix:" + socket + "|0600"
		s.start()
		if got := mode(); got != os.ModeSocket|0o600 {
			t.Errorf("got mode %v", got)
		}
	})
	t.Run("a stop removes it", func(t *testing.T) {
		if code := s.term(); code != exitOK {
			t.Errorf("got exit code %d", code)
		}
		for _, path := range []string{socket, filepath.Join(run, "address")} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s still exists", path)
			}
		}
	})
	t.Run("a file that is not a socket is kept", func(t *testing.T) {
		put(t, socket, "mine")
		if err := s.tryStart(); err == nil || !strings.Contains(s.log.String(), "already exists and is not a socket") {
			t.Errorf("%v: %s", err, s.log.String())
		}
		if b, err := os.ReadFile(socket); err != nil || string(b) != "mine" {
			t.Errorf("%v: %q", err, b)
		}
	})
}
