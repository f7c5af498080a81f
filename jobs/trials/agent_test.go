//go:build linux

package trials

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// agentArg makes the test binary act as an agent's program.
const agentArg = "__misbehave"

// runMarker returns an argument that identifies a run's processes after they lose
// their environment.
func runMarker(run, instance string) string { return "of-run-" + run + "-of-" + instance + "." }

var self = runMarker(os.Getenv("TASKYARD_RUN_ID"), os.Getenv("TASKYARD_YARD_ID"))

const result = `{"summary":"all is done","success":true}`

// agent plays the part named what.
func agent(what string, args []string) {
	switch what {
	case "hang":
		fmt.Println("ready")
		hang()
	case "deaf":
		ignore()
		fmt.Println("ready")
		hang()
	case "grandchild": // holds stdout
		child(os.Stdout, "sleep", nil)
		fmt.Println(result)
	case "setsid":
		child(nil, "sleep", &syscall.SysProcAttr{Setsid: true})
		fmt.Println(result)
	case "daemon":
		bare(self, "middle")
		fmt.Println(result)
	case "flood": // args[0] bytes in lines of 80
		n, _ := strconv.Atoi(args[0])
		out := bufio.NewWriterSize(os.Stdout, 64<<10)
		for line := strings.Repeat("x", 79) + "\n"; n > 0; n -= len(line) {
			_, _ = out.WriteString(line)
		}
		_ = out.Flush()
		fmt.Println(result)
	case "line": // args[0] bytes in one line
		n, _ := strconv.Atoi(args[0])
		for block := bytes.Repeat([]byte("y"), 1<<20); n > 0; n -= len(block) {
			_, _ = os.Stdout.Write(block)
		}
		fmt.Println("\n" + result)
	case "garbage":
		_, _ = os.Stdout.Write([]byte("a\xffb\x00c\xed\xa0\x80d\xc0\xaf\xf5\n\xe2\x82"))
		fmt.Println("\n" + result)
	case "nothing":
	case "bomb":
		bomb()
	case "stay": // with what args[0] says below it
		stay(args[0])
	case "middle", "deaf-middle", "hop", "sleep", "deaf-sleep":
		below(what, args)
	}
}

func ignore() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) }

// raceFile is the file that each process of the part race creates.
const raceFile = "alive"

// hang does not use select{}, which the Go runtime reports as a deadlock.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// bomb starts processes forever.
func bomb() {
	_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "while :; do sleep 600 & done"}, os.Environ())
}

// stay starts processes of a kind and never exits.
func stay(kind string) {
	switch kind {
	case "deaf":
		ignore()
	case "setsid":
		child(nil, "deaf-sleep", &syscall.SysProcAttr{Setsid: true})
	case "daemon":
		bare(self, "deaf-middle")
	case "hop":
		bare(self, "hop")
	case "race": // like hop, but too fast to be listed
		ignore()
		script := `: >"$1"; sh -c "$0" "$0" "$1" &`
		c := exec.Command("/bin/sh", "-c", script, script, filepath.Join(os.TempDir(), raceFile))
		c.SysProcAttr, c.Env = &syscall.SysProcAttr{Setsid: true}, []string{"PATH=/bin"}
		_ = c.Start()
	case "children":
		for range 10 {
			child(os.Stdout, "deaf-sleep", nil)
		}
	}
	fmt.Println("ready")
	hang()
}

// child starts this program with another part.
func child(out *os.File, part string, attr *syscall.SysProcAttr) {
	c := exec.Command(os.Args[0], agentArg, part, self)
	c.SysProcAttr, c.Stdout = attr, out
	if err := c.Start(); err != nil {
		fmt.Println("not started:", err)
	}
}

// bare starts this program in a new session, without an environment.
func bare(name, part string) {
	c := exec.Command(os.Args[0], agentArg, part, name)
	c.SysProcAttr, c.Env = &syscall.SysProcAttr{Setsid: true}, []string{"PATH=/bin"}
	if err := c.Start(); err != nil {
		fmt.Println("not started:", err)
	}
	if strings.HasSuffix(part, "middle") {
		_ = c.Wait() // its child then is an orphan
	}
}

// below plays the parts of an agent's descendants.
func below(what string, args []string) {
	name := args[0]
	switch what {
	case "middle":
		bare(name, "sleep")
	case "deaf-middle":
		ignore()
		bare(name, "deaf-sleep")
	case "hop": // replaces its process again and again
		ignore()
		bare(name, "hop")
	case "deaf-sleep":
		ignore()
		hang()
	case "sleep":
		hang()
	}
}
