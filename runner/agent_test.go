//go:build linux

package runner

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskyard/internal/testkit"
	"taskyard/runner/confine/escape"
	"taskyard/task"
)

// The test binary plays three more parts: the shim, agents, and a server.
const (
	agentArg  = "__agent"
	serverArg = "__server"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case ShimArg:
			testkit.EndHelper(ShimMain(os.Args[2:]))
		case agentArg:
			agent(os.Args[2], os.Args[3:])
			testkit.EndHelper(0)
		case escape.Arg:
			escape.Main(os.Args[2:], os.Stdout)
			testkit.EndHelper(0)
		case serverArg:
			server(os.Args[2:])
			testkit.EndHelper(0)
		}
	}
	SetInstance(fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err := os.Setenv(hookSecretName, hookSecret); err != nil { // before tests that run beside each other
		panic(err)
	}
	testkit.RunBeside(6) // they wait for programs
	goleak.VerifyTestMain(m)
}

// agent is a scripted program with every misbehavior that sh cannot show.
func agent(what string, args []string) {
	switch what {
	case "env":
		env := os.Environ()
		sort.Strings(env)
		fmt.Println(strings.Join(env, "\n"))
	case "claude":
		fakeClaude(args)
	case "deaf": // to TERM
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("ready")
		select {}
	case "lines": // args[0] bytes in lines of 80
		n, _ := strconv.Atoi(args[0])
		out := bufio.NewWriterSize(os.Stdout, 64<<10)
		for line := strings.Repeat("x", 79) + "\n"; n > 0; n -= len(line) {
			_, _ = out.WriteString(line)
		}
		_ = out.Flush()
		fmt.Println(`{"summary":"all said","success":true}`)
	case "line": // args[0] bytes in one line that begins with args[1]
		n, _ := strconv.Atoi(args[0])
		_, _ = os.Stdout.WriteString(args[1])
		for block := bytes.Repeat([]byte("y"), 1<<20); n > 0; n -= len(block) {
			_, _ = os.Stdout.Write(block)
		}
		fmt.Println("\nthe end")
	case "headless": // leaves a process whose first thread has ended
		headless := exec.Command(os.Args[0], agentArg, "headless-child")
		out, _ := headless.StdoutPipe()
		_ = headless.Start()
		fmt.Printf("pid %d\n", headless.Process.Pid)
		_, _ = io.Copy(os.Stdout, out)
	case "headless-child":
		loseHead()
	case "acp":
		acpAgent(args)
	case "daemon": // leaves a process in another session, without parent and environment
		middle := exec.Command("/bin/sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!")
		middle.Env = []string{"PATH=" + os.Getenv("PATH")}
		middle.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		pid, _ := middle.Output()
		fmt.Printf("pid %s", pid)
		if len(args) > 0 {
			fmt.Printf("self %d\n", os.Getpid())
			select {}
		}
	}
}

// The first thread of a process is that of init.
func init() {
	if len(os.Args) > 2 && os.Args[2] == "headless-child" {
		runtime.LockOSThread()
	}
}

// loseHead ends the first thread of this process, for which the kernel shows
// it as a zombie, and tells so from another.
func loseHead() {
	go func() {
		for !strings.Contains(statOf(os.Getpid()), ") Z ") {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("headless")
		_ = os.Stdout.Close()
		select {}
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

func statOf(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return string(b)
}

// server runs one agent for ever, as a server would, and tells what it says.
func server(args []string) {
	SetInstance(args[0])
	id, _ := strconv.Atoi(args[1])
	c := &Command{Argv: []string{os.Args[0], agentArg, "daemon", "stay"}, Grace: 200 * time.Millisecond}
	spec := Spec{RunID: task.ID(id), TaskID: 1, Dir: args[2]}
	_, _ = c.Run(context.Background(), spec, printer{})
}

type printer struct{}

func (printer) Started(p Process) error { fmt.Println("shim", p.PID); return nil }
func (printer) Event(e Event)           { fmt.Println(e.Text) }
