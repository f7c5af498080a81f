package systemd

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func getenv(vars map[string]string) func(string) string {
	return func(k string) string { return vars[k] }
}

func TestNothingIsSentWithoutAManager(t *testing.T) {
	t.Parallel()
	for _, n := range []*Notifier{nil, NewNotifier(getenv(nil)), NewNotifier(getenv(map[string]string{"WATCHDOG_USEC": "1000"}))} {
		if err := n.Ready("x"); err != nil || n.WatchdogEvery() != 0 {
			t.Errorf("got %v, watchdog every %v", err, n.WatchdogEvery())
		}
	}
}

func TestTheWatchdogIsOnlyForThisProcess(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, pid string
		want      time.Duration
	}{
		{"no process is named", "", 15 * time.Second},
		{"this one", strconv.Itoa(os.Getpid()), 15 * time.Second},
		{"another one", "1", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := NewNotifier(getenv(map[string]string{"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": test.pid}))
			if got := n.WatchdogEvery(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestAStatusIsOneLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n := NewNotifier(getenv(map[string]string{"NOTIFY_SOCKET": path}))
	if err := n.Ready("two\nREADY=0"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	size, err := conn.Read(b)
	if want := "READY=1\nSTATUS=two READY=0"; err != nil || string(b[:size]) != want {
		t.Errorf("%v: %q", err, b[:size])
	}
	t.Run("a manager that does not read causes only a short delay", func(t *testing.T) {
		begin := time.Now()
		for err = nil; err == nil; {
			err = n.Watchdog() // until the queue of the socket is full
		}
		if took := time.Since(begin); took > 10*timeout {
			t.Errorf("it took %v", took)
		}
	})
}

func TestOnlyAPassedSocketIsUsed(t *testing.T) {
	t.Parallel()
	for _, vars := range []map[string]string{
		nil, {"LISTEN_FDS": "1"}, {"LISTEN_FDS": "1", "LISTEN_PID": "1"}, {"LISTEN_FDS": "0", "LISTEN_PID": strconv.Itoa(os.Getpid())},
	} {
		if ln, err := Listener(getenv(vars)); ln != nil || err != nil {
			t.Errorf("%v: got %v, %v", vars, ln, err)
		}
	}
}
