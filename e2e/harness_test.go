package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	_ "github.com/mattn/go-sqlite3" // reads the database from outside

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/runner"
)

// Exit codes of the command line.
const (
	exitOK      = client.ExitDone
	exitRefused = client.ExitRefused
	exitUsage   = client.ExitUsage
)

// patience is the limit of every wait: the machine may be busy.
const patience = testkit.Timeout

func TestMain(m *testing.M) {
	// A server in this process starts its helpers from this binary.
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		testkit.EndHelper(code)
	}
	agents := map[string]func() int{
		delegateArg: delegateMain, handingArg: handingMain, weakeningArg: weakeningMain, changingArg: changingMain,
	}
	if len(os.Args) > 1 && agents[os.Args[1]] != nil {
		testkit.EndHelper(agents[os.Args[1]]())
	}
	if len(os.Args) > 2 && os.Args[1] == clockedArg {
		clockedMain(os.Args[2]) // does not return
	}
	if err := os.Chdir(".."); err != nil { // paths are relative to the repository
		panic(err)
	}
	if os.Getenv("GOGC") == "" { // otherwise the caller compares values
		_ = os.Setenv("GOGC", strconv.Itoa(testkit.TestGC))
	}
	atOnce := 6 // the tests wait for other processes
	if testkit.Whole() {
		atOnce = 4 // some tests measure times of the server
	}
	testkit.RunBeside(atOnce)
	code := m.Run()
	takenPorts.Range(func(_, lock any) bool { return os.Remove(lock.(*flock.Flock).Path()) == nil })
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

var built struct {
	once sync.Once
	dir  string
	err  error
}

// binary builds the program once and returns its path.
func binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "taskyard-test-"); built.err != nil { //nolint:usetesting // it outlives the test
			return
		}
		// Linking without symbols, which are not needed here, takes half the time.
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s", "-o", filepath.Join(built.dir, "taskyard"), "taskyard")
		out, err := build.CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatalf("build: %v", built.err)
	}
	return filepath.Join(built.dir, "taskyard")
}

// server is a process of the built program with a data folder.
type server struct {
	t       testing.TB
	args    []string // the command: serve or demo, with flags except --data and --listen
	program []string // instead of the built program
	data    string
	store   string    // the URL of its database; "": SQLite in data
	peers   []*server // servers that share its database, and start and end with it
	front   string    // the URL of a proxy in front of it and its peers; "": none
	address string    // the same at each start
	public  string    // the host of its public_url, if it has one
	env     []string
	cmd     *exec.Cmd
	first   string // the first line on stdout
	ended   chan struct{}
	log     *testkit.Buffer
	errs    *os.File   // instead of log
	passed  []*os.File // inherited files, from descriptor 3
}

// newServer returns a server that is not started yet. No process of its instance may
// be left at the end of the test.
func newServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := newProcess(t, args...)
	n, err := serversWanted()
	if err != nil {
		t.Fatalf("%s: %v", serversKey, err)
	}
	if n > 1 && args[0] == "serve" {
		s.shareWith(n - 1)
	}
	return s
}

func newProcess(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{t: t, args: args, data: filepath.Join(t.TempDir(), "data"), address: freeAddress(t), log: &testkit.Buffer{}}
	testkit.NoError(t, os.MkdirAll(filepath.Join(s.data, "agents"), 0o700))
	t.Cleanup(func() {
		s.kill()
		// Without their server, the shims end the processes that they supervise.
		testkit.Eventually(t, "every process of the instance has ended", func() bool { return len(s.processes(nil)) == 0 })
		if t.Failed() {
			t.Logf("log of the server:\n%s", s.log.Tail(6000))
		}
	})
	return s
}

// takenPorts are the ports that tests of this process use, by their locks.
var takenPorts sync.Map

// freeAddress finds a port below those that the kernel assigns by itself: while a
// server is down, no other process takes it, and no other test either. A file that
// is locked until this process ends reserves it across packages.
func freeAddress(t testing.TB) string {
	t.Helper()
	locks := filepath.Join(os.TempDir(), "taskyard-test-ports")
	if err := os.MkdirAll(locks, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		port := 15_000 + rand.IntN(15_000)
		lock := flock.New(filepath.Join(locks, strconv.Itoa(port)))
		if _, taken := takenPorts.LoadOrStore(port, lock); taken {
			continue
		}
		if held, err := lock.TryLock(); err != nil || !held {
			takenPorts.Delete(port)
			continue
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			continue
		}
		testkit.NoError(t, ln.Close())
		return address
	}
	t.Fatal("no port is free")
	return ""
}

// read returns the content of a file.
func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	testkit.NoError(t, err)
	return string(b)
}

// put writes an executable file, with its parent folders, and returns its path.
func put(t testing.TB, path, text string) string {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o700)
	}
	testkit.NoError(t, err)
	return path
}

// installed returns the path of a program of this machine. If it is missing, the
// test is skipped; how says how to install it.
func installed(t testing.TB, name, how string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing: %s", name, how)
	}
	return path
}

// output runs a command that must exit with 0, and returns its stdout and stderr.
func output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// startBeside starts a program that runs until the end of the test, and returns its
// output.
func startBeside(t testing.TB, cmd *exec.Cmd) *testkit.Buffer {
	t.Helper()
	log := &testkit.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	testkit.NoError(t, testkit.StartTied(cmd))
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of %s:\n%s", filepath.Base(cmd.Path), log.Tail(6000))
		}
	})
	return log
}

// testBinary returns the path of this program, which acts as several agents.
func testBinary(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	testkit.NoError(t, err)
	return self
}

// file writes a file in the data folder, and in those of its peers.
func (s *server) file(name, text string) {
	s.t.Helper()
	for _, one := range s.instance() {
		put(s.t, filepath.Join(one.data, name), text)
	}
}

// start starts the program and returns when it prints where it listens.
func (s *server) start() {
	s.t.Helper()
	if err := s.tryStart(); err != nil {
		s.t.Fatalf("%v\n%s", err, s.log.Tail(4000))
	}
}

func (s *server) tryStart() error {
	argv := s.program
	if argv == nil {
		argv = []string{binary(s.t)}
	}
	argv = append(append(append([]string(nil), argv...), s.args...), "--data", s.data, "--listen", s.address)
	argv = append(argv, s.storeFlags()...)
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), argv[0], argv[1:]...) // kill ends it
	if cmd.Stderr = s.log; s.errs != nil {
		cmd.Stderr = s.errs
	}
	// A test that runs across a full hour gets no tick.
	cmd.ExtraFiles = s.passed
	cmd.Env = append(append([]string{"TASKYARD_SCHEDULER_CRON=0 5 1 1 *"}, os.Environ()...), s.env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := testkit.StartTied(cmd); err != nil { // if this process is killed, the server must end too
		return err
	}
	s.cmd, s.ended = cmd, make(chan struct{})
	line := make(chan string, 1)
	go func() {
		defer close(s.ended)
		r := bufio.NewReader(out)
		text, _ := r.ReadString('\n')
		line <- strings.TrimSpace(text)
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait()
	}()
	select {
	case s.first = <-line:
	case <-time.After(patience):
		return errors.New("the server did not start in time")
	}
	if err := s.listensWhereItShould(); err != nil {
		return err
	}
	return s.startPeers()
}

func (s *server) listensWhereItShould() error {
	u, err := url.Parse(s.first)
	if err != nil || u.Host == "" {
		select { // once it has ended, the log contains the reason
		case <-s.ended:
		case <-time.After(patience):
		}
		return fmt.Errorf("the first line is %q, want a link", s.first)
	}
	if u.Host != s.address && u.Host != s.public && !strings.HasPrefix(s.address, "unix:") {
		return fmt.Errorf("it listens on %s, want %s", u.Host, s.address)
	}
	return nil
}

func (s *server) storeFlags() []string {
	if s.store == "" {
		return nil
	}
	return []string{"--set", "database=" + s.store}
}

// kill kills the server, as a power cut would.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
	for _, p := range s.peers {
		p.kill()
	}
}

// term asks the server to stop and returns its exit code.
func (s *server) term() int {
	s.t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatal("the server did not stop")
	}
	code := s.cmd.ProcessState.ExitCode()
	s.cmd = nil
	for _, p := range s.peers {
		code = max(code, p.term())
	}
	return code
}

// sendHUP makes the server reload its configuration.
func (s *server) sendHUP() {
	s.t.Helper()
	testkit.NoError(s.t, s.cmd.Process.Signal(syscall.SIGHUP))
}

func (s *server) url() string {
	return cmp.Or(s.front, "http://"+s.address)
}

// command runs another command of the program with the same data folder.
func (s *server) command(stdin string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	args = append(append(args, "--data", s.data), s.storeFlags()...)
	cmd := exec.CommandContext(ctx, binary(s.t), args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(out.String()), strings.TrimSpace(errs.String()), cmd.ProcessState.ExitCode()
}

// token creates a token with the command line, while the server runs.
func (s *server) token(args ...string) string {
	s.t.Helper()
	out, errs, code := s.command("", append([]string{"token", "create"}, args...)...)
	if code != exitOK || !strings.HasPrefix(out, "ty_") {
		s.t.Fatalf("token create: exit code %d, %q, %s", code, out, errs)
	}
	return out
}

// api returns a client with a token.
func (s *server) api(token string) *client.Client {
	return &client.Client{URL: s.url(), Token: token, HTTP: &http.Client{Timeout: patience}}
}

// call makes a request that must succeed.
func call[T any](t testing.TB, c *client.Client, method, path string, in any) T {
	t.Helper()
	var out T
	if err := c.Do(t.Context(), method, path, in, &out); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// rows reads the database from outside: one string per row, columns separated by |.
func (s *server) rows(query string, args ...any) []string {
	s.t.Helper()
	var list []string
	var err error
	if s.store == "" {
		list, err = readRows(filepath.Join(s.data, "taskyard.db"), query, args...)
	} else {
		list, err = readPostgres(s.store, query, args...)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return list
}

func readRows(path, query string, args ...any) ([]string, error) {
	d, err := sql.Open("sqlite3", "file:"+path+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return queryRows(d, query, args...)
}

func queryRows(d *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := d.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var list []string
	for rows.Next() {
		cells, into := make([]any, len(cols)), make([]any, len(cols))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		parts := make([]string, len(cols))
		for i, c := range cells {
			if is, ok := c.(bool); ok { // SQLite returns numbers
				c = map[bool]int{true: 1}[is]
			}
			parts[i] = fmt.Sprint(c)
		}
		list = append(list, strings.Join(parts, "|"))
	}
	return list, rows.Err()
}

// wantNoProcesses fails if processes of this instance are running: those of the given
// runs, or of any.
func (s *server) wantNoProcesses(when string, runs []string) {
	s.t.Helper()
	if left := s.processes(runs); len(left) > 0 {
		s.t.Errorf("%s, %d processes are still running: %v", when, len(left), left)
	}
}

// processes finds the running processes that have the marks of this instance.
func (s *server) processes(runs []string) (found []string) {
	for _, one := range s.instance() {
		found = append(found, one.ownProcesses(runs)...)
	}
	return found
}

func (s *server) ownProcesses(runs []string) []string {
	id, err := os.ReadFile(filepath.Join(s.data, "yard-id"))
	if err != nil {
		return nil
	}
	mark := "TASKYARD_YARD_ID=" + strings.TrimSpace(string(id))
	var found []string
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || len(env) == 0 { // a zombie has no environment
			continue
		}
		vars := strings.Split(string(env), "\x00")
		if !slices.Contains(vars, mark) {
			continue
		}
		hit := len(runs) == 0
		for _, r := range runs {
			hit = hit || slices.Contains(vars, "TASKYARD_RUN_ID="+r)
		}
		if hit {
			cmdline, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			found = append(found, e.Name()+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}

// asJSON is for failure messages.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
