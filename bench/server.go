package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"taskyard/db"
)

// buildServer builds the binary to measure, like `make build`.
func buildServer(ctx context.Context, folder string) (string, error) {
	bin := filepath.Join(folder, "taskyard")
	out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "taskyard").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return filepath.Abs(bin)
}

// instance is a data folder with its server.
type instance struct {
	bin, data string
	env       []string // in addition to that of this process
	addr      string   // host:port
	cmd       *exec.Cmd
	cookie    string // of a session, "" before the first
}

// pullOnly is an agent that claims its work itself.
const pullOnly = "---\nname: %s\ndescription: Claims its work itself.\ntools: read\nrunner: none\n---\nWork through your queue.\n"

// newInstance creates a data folder with pull-only agents.
func newInstance(bin, data string, agents []string) (*instance, error) {
	inst := &instance{bin: bin, data: data}
	if err := os.MkdirAll(filepath.Join(data, "agents"), 0o700); err != nil {
		return nil, err
	}
	for _, a := range agents {
		if err := inst.write(filepath.Join("agents", a+".md"), fmt.Sprintf(pullOnly, a)); err != nil {
			return nil, err
		}
	}
	return inst, nil
}

// fill writes to the database before the server starts. now is the clock for
// the data; nil: the current time.
func (inst *instance) fill(ctx context.Context, now func() time.Time, write func(*db.DB) error) error {
	d, err := db.Open(ctx, db.Options{Path: filepath.Join(inst.data, "taskyard.db"), Now: now})
	if err != nil {
		return err
	}
	return errors.Join(write(d), d.Close())
}

func (inst *instance) write(name, text string) error {
	return os.WriteFile(filepath.Join(inst.data, name), []byte(text), 0o600)
}

// start starts the server and returns the time until its first answer.
func (inst *instance) start(ctx context.Context) (time.Duration, error) {
	log, err := os.OpenFile(filepath.Join(inst.data, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	inst.cmd = exec.CommandContext(ctx, inst.bin, "serve", "--data", inst.data, "--listen", "127.0.0.1:0")
	inst.cmd.Env = append(os.Environ(), inst.env...)
	inst.cmd.Cancel = func() error { return inst.cmd.Process.Signal(syscall.SIGTERM) }
	inst.cmd.WaitDelay = 10 * time.Second
	inst.cmd.Stderr = log
	out, err := inst.cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := inst.cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, errors.Join(fmt.Errorf("the server did not start; its log: %s", inst.logTail()), inst.stop())
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		return 0, errors.Join(err, inst.stop())
	}
	inst.addr = u.Host
	w, err := dial(inst.addr)
	if err == nil {
		err = w.ask(request("GET", "/healthz", inst.addr, ""))
		w.close()
	}
	return time.Since(begin), err
}

func (inst *instance) logTail() string {
	b, _ := os.ReadFile(filepath.Join(inst.data, "server.log"))
	return string(b[max(0, len(b)-500):])
}

// stop stops the server as an operator would.
func (inst *instance) stop() error {
	if err := inst.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return inst.cmd.Wait()
}

// command runs a command of the binary on the data folder, while the server is
// running.
func (inst *instance) command(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, inst.bin, append(args, "--data", inst.data)...)
	cmd.Env = append(os.Environ(), inst.env...)
	cmd.Stdin = strings.NewReader(stdin)
	var errText bytes.Buffer
	cmd.Stderr = &errText
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("taskyard %s: %w: %s", args[0], err, errText.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// token creates a token with the rights for the rows.
func (inst *instance) token(ctx context.Context) (string, error) {
	return inst.command(ctx, "", "token", "create", "--scope", "operate act-as")
}

// session adds a person, signs in with the form, and returns the cookie, which
// remains valid after a restart.
func (inst *instance) session(ctx context.Context, role string) (string, error) {
	const password = "correct horse battery"
	if inst.cookie != "" {
		return inst.cookie, nil
	}
	if _, err := inst.command(ctx, password+"\n", "user", "add", "bench", "--role", role); err != nil {
		return "", err
	}
	w, err := dial(inst.addr)
	if err != nil {
		return "", err
	}
	defer w.close()
	form := url.Values{"name": {"bench"}, "password": {password}}.Encode()
	a, err := w.exchange(request("POST", "/login", inst.addr, form, "Content-Type: application/x-www-form-urlencoded",
		"Origin: http://"+inst.addr, "Sec-Fetch-Site: same-origin"))
	if err == nil && (a.status != 303 || a.cookie == "") {
		err = fmt.Errorf("sign in: %d: %.300s", a.status, a.body)
	}
	inst.cookie = a.cookie
	return a.cookie, err
}

// cpu returns the server's CPU time, with a resolution of 10 ms.
func (inst *instance) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", inst.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The fields after the name, which may contain anything but ends with ")".
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, fmt.Errorf("unknown form of /proc/PID/stat: %s", b)
	}
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err1, err2)
}

// cpuExact is like cpu, with nanosecond resolution.
func (inst *instance) cpuExact() (sum time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", inst.cmd.Process.Pid))
	for _, t := range threads {
		b, e := os.ReadFile(t)
		if e != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(b), " ")
		n, e := strconv.ParseInt(first, 10, 64)
		err = errors.Join(err, e)
		sum += time.Duration(n)
	}
	return sum, err
}

// rss returns the server's memory in MiB.
func (inst *instance) rss() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", inst.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("no VmRSS in /proc/PID/status")
}

// settle waits until the server is idle, so that background work of an earlier
// row does not affect the next.
func (inst *instance) settle() error {
	before, err := inst.cpu()
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		now, e := inst.cpu()
		if err = errors.Join(err, e); err != nil || now-before < 20*time.Millisecond {
			return err
		}
		before = now
	}
	return errors.New("the server does not come to rest")
}
