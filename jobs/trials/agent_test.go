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

// agentArg makes the test binary the program of an agent.
const agentArg = "__misbehave"

// runMarker returns an argument that identifies processes of a run that have
// lost their environment.
func runMarker(run, instance string) string { return "of-run-" + run + "-of-" + instance + "." }

var self = runMarker(os.Getenv("TASKYARD_RUN_ID"), os.Getenv("TASKYARD_YARD_ID"))

const result = `{"summary":"all is done","success":true}`

// agent plays one of the parts.
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

// raceFile is what the part race makes in each of its lives.
const raceFile = "alive"

// hang is not select{}, which the Go runtime would notice.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// bomb starts processes without end.
func bomb() {
	_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "while :; do sleep 600 & done"}, os.Environ())
}

// stay leaves processes of a kind behind, and never ends.
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
	case "race": // as hop, and too fast to be listed
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

// child starts this program in another part.
func child(out *os.File, part string, attr *syscall.SysProcAttr) {
	c := exec.Command(os.Args[0], agentArg, part, self)
	c.SysProcAttr, c.Stdout = attr, out
	if err := c.Start(); err != nil {
		fmt.Println("not started:", err)
	}
}

// bare starts this program in a session of its own, without its environment.
func bare(name, part string) {
	c := exec.Command(os.Args[0], agentArg, part, name)
	c.SysProcAttr, c.Env = &syscall.SysProcAttr{Setsid: true}, []string{"PATH=/bin"}
	if err := c.Start(); err != nil {
		fmt.Println("not started:", err)
	}
	if strings.HasSuffix(part, "middle") {
		_ = c.Wait() // its own child is an orphan then
	}
}

// below plays the parts of those below an agent.
func below(what string, args []string) {
	name := args[0]
	switch what {
	case "middle":
		bare(name, "sleep")
	case "deaf-middle":
		ignore()
		bare(name, "deaf-sleep")
	case "hop": // is never the same process for long
		ignore()
		bare(name, "hop")
	case "deaf-sleep":
		ignore()
		hang()
	case "sleep":
		hang()
	}
}
