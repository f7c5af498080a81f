//go:build linux

package supervise_test

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

	"taskyard/runner/command"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// sh returns a command that runs a shell script.
func sh(script string) *command.Runner {
	return &command.Runner{Program: runnertest.Program("/bin/sh", "-c", script)}
}

// play returns a command that runs a scripted agent of this binary.
func play(name string, args ...string) *command.Runner {
	return &command.Runner{Program: runnertest.Agent(name, args...)}
}

func TestMain(m *testing.M) { runnertest.Main(m, agents) }

// agents are programs with every misbehavior that sh cannot produce, and a server.
var agents = map[string]func(args []string){
	"env": func([]string) {
		env := os.Environ()
		sort.Strings(env)
		fmt.Println(strings.Join(env, "\n"))
	},
	"deaf": func([]string) { // ignores TERM
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("ready")
		runnertest.Hang()
	},
	"lines":          sayLines,
	"line":           sayLine,
	"headless":       func([]string) { leaveHeadless() },
	"headless-child": func([]string) { loseHead() },
	"daemon":         leaveDaemon,
	"server":         server,
}

// sayLines prints args[0] bytes in lines of 80.
func sayLines(args []string) {
	n, _ := strconv.Atoi(args[0])
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for line := strings.Repeat("x", 79) + "\n"; n > 0; n -= len(line) {
		_, _ = out.WriteString(line)
	}
	_ = out.Flush()
	fmt.Println(`{"summary":"all said","success":true}`)
}

// sayLine prints args[0] bytes in one line that begins with args[1].
func sayLine(args []string) {
	n, _ := strconv.Atoi(args[0])
	_, _ = os.Stdout.WriteString(args[1])
	for block := bytes.Repeat([]byte("y"), 1<<20); n > 0; n -= len(block) {
		_, _ = os.Stdout.Write(block)
	}
	fmt.Println("\nthe end")
}

// leaveHeadless leaves a process whose first thread has ended.
func leaveHeadless() {
	program := runnertest.Agent("headless-child")
	headless := exec.Command(program.Argv[0], program.Argv[1:]...)
	out, _ := headless.StdoutPipe()
	_ = headless.Start()
	fmt.Printf("pid %d\n", headless.Process.Pid)
	_, _ = io.Copy(os.Stdout, out)
}

// leaveDaemon leaves a process in another session, without a parent and an
// environment.
func leaveDaemon(args []string) {
	middle := exec.Command("/bin/sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!")
	middle.Env = []string{"PATH=" + os.Getenv("PATH")}
	middle.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pid, _ := middle.Output()
	fmt.Printf("pid %s", pid)
	if len(args) > 0 {
		fmt.Printf("self %d\n", os.Getpid())
		runnertest.Hang()
	}
}

// The first thread of a process runs init.
func init() {
	if len(os.Args) > 2 && os.Args[2] == "headless-child" {
		runtime.LockOSThread()
	}
}

// loseHead ends the first thread of this process, which the kernel then shows as a
// zombie. Another thread waits for that.
func loseHead() {
	go func() {
		for !strings.Contains(readStat(os.Getpid()), ") Z ") {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("headless")
		_ = os.Stdout.Close()
		runnertest.Hang()
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

func readStat(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return string(b)
}

// server runs one agent forever, as a server would, and reports its output.
func server(args []string) {
	supervise.SetInstance(args[0])
	id, _ := strconv.Atoi(args[1])
	spec := supervise.Spec{RunID: task.ID(id), TaskID: 1, Dir: args[2]}
	_, _ = play("daemon", "stay").Run(context.Background(), spec, printer{})
}

type printer struct{}

func (printer) Started(p supervise.Process) error { fmt.Println("shim", p.PID); return nil }
func (printer) Event(e supervise.Event)           { fmt.Println(e.Text) }
