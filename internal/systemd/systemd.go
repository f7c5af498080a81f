// Package systemd speaks the protocol of a service manager: it is told the
// state of the service, and passes sockets that it listens on itself.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Notifier tells the service manager about the state of this process. One
// without a manager does nothing, and neither does nil.
type Notifier struct {
	socket string
	every  time.Duration
}

// NewNotifier returns what tells the manager that started this process, if one
// did. Programs that this process starts must not inherit its variables.
func NewNotifier(getenv func(string) string) *Notifier {
	n := &Notifier{socket: getenv("NOTIFY_SOCKET")}
	if pid := getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return n
	}
	if usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && usec > 0 && n.socket != "" {
		n.every = time.Duration(usec) * time.Microsecond / 2
	}
	return n
}

// WatchdogEvery is how often the manager wants to hear that the process works:
// twice within its patience. 0: it does not.
func (n *Notifier) WatchdogEvery() time.Duration {
	if n == nil {
		return 0
	}
	return n.every
}

// Ready tells that the service is up, or up again after a reload, and what it does.
func (n *Notifier) Ready(status string) error { return n.send("READY=1", statusLine(status)) }

// Reloading tells that the configuration is being read again; Ready ends it.
func (n *Notifier) Reloading() error {
	return n.send("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", monotonic()), "STATUS=Reloading the configuration")
}

// Stopping tells that the service is going down.
func (n *Notifier) Stopping(status string) error { return n.send("STOPPING=1", statusLine(status)) }

// Watchdog tells that the process works.
func (n *Notifier) Watchdog() error { return n.send("WATCHDOG=1") }

func statusLine(s string) string { return "STATUS=" + strings.ReplaceAll(s, "\n", " ") }

// patience bounds how long a manager that does not read holds the server up.
const patience = time.Second

// send writes one datagram of assignments, one per line.
func (n *Notifier) send(lines ...string) error {
	if n == nil || n.socket == "" {
		return nil
	}
	name := n.socket
	if name[0] == '@' {
		name = "\x00" + name[1:] // of the abstract name space
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	if err = c.SetWriteDeadline(time.Now().Add(patience)); err == nil {
		_, err = c.Write([]byte(strings.Join(lines, "\n")))
	}
	return errors.Join(err, c.Close())
}

// firstFD is the descriptor of the first socket that is passed.
const firstFD = 3

// Listener returns the socket that the manager listens on for this process, or nil.
// Error: there are several, or it is none that accepts connections.
func Listener(getenv func(string) string) (net.Listener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 1 {
		return nil, nil //nolint:nilerr // no socket is passed
	}
	if n > 1 {
		return nil, fmt.Errorf("socket activation: %d sockets are passed, but the server takes one: give the unit one Listen line", n)
	}
	f := os.NewFile(firstFD, "socket of systemd")
	ln, err := net.FileListener(f) // a copy that programs do not inherit
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("socket activation: the socket that is passed accepts no connections: %w", err)
	}
	return ln, nil
}
