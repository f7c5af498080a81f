package browser

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/task"
)

// agentAddr is the variable with the address of the test for a scripted agent.
const agentAddr = "SCRIPTED_AGENT_ADDR"

// scriptedAgent is the process of a run: it prints what its test sends. The line
// "exit" ends it with success, "fail" without.
func scriptedAgent() int {
	conn, err := net.Dial("tcp", os.Getenv(agentAddr))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer conn.Close()
	fmt.Fprintln(conn, os.Getenv("TASKYARD_TASK_ID"))
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		switch text := lines.Text(); text {
		case "exit":
			return 0
		case "fail":
			fmt.Fprintln(os.Stderr, "the scripted agent gives up")
			return 3
		default:
			fmt.Println(text)
		}
	}
	return 0
}

// stage is where scripted agents connect to get their lines.
type stage struct {
	ln   net.Listener
	mu   sync.Mutex
	runs map[string]chan net.Conn
}

func newStage(t testing.TB) *stage {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	s := &stage{ln: ln, runs: map[string]chan net.Conn{}}
	go s.serve()
	return s
}

func (s *stage) serve() {
	for {
		conn, err := s.ln.Accept()
		if err != nil {
			return
		}
		go func() {
			id, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil {
				_ = conn.Close()
				return
			}
			s.connections(strings.TrimSpace(id)) <- conn
		}()
	}
}

func (s *stage) connections(id string) chan net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[id] == nil {
		s.runs[id] = make(chan net.Conn, 8)
	}
	return s.runs[id]
}

// actor is the agent of one run of a task.
type actor struct {
	t    testing.TB
	conn net.Conn
}

// agent waits until the process of a run of the task has started.
func (s *stage) agent(t testing.TB, id task.ID) *actor {
	t.Helper()
	select {
	case conn := <-s.connections(id.String()):
		t.Cleanup(func() { _ = conn.Close() })
		return &actor{t, conn}
	case <-time.After(patience):
		t.Fatalf("no run of #%d started", id)
		return nil
	}
}

// say makes the agent print a line.
func (a *actor) say(format string, args ...any) {
	a.t.Helper()
	if _, err := io.WriteString(a.conn, fmt.Sprintf(format, args...)+"\n"); err != nil {
		a.t.Fatal(err)
	}
}
