// Package systemd implements the protocol of a service manager, which receives
// the state of the service, and passes sockets that it listens on.
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

// Notifier notifies the service manager of the state of this process. Without a
// manager, and if nil, it does nothing.
type Notifier struct {
	socket string
	every  time.Duration
}

// NewNotifier returns a notifier for the manager that started this process, if
// there is one. Programs that this process starts must not inherit its
// variables.
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

// WatchdogEvery returns the interval for Watchdog, half of the manager's
// timeout; 0: disabled.
func (n *Notifier) WatchdogEvery() time.Duration {
	if n == nil {
		return 0
	}
	return n.every
}

// Ready reports that the service has started or reloaded, and its status.
func (n *Notifier) Ready(status string) error { return n.send("READY=1", statusLine(status)) }

// Reloading reports that the configuration is being reloaded; Ready ends it.
func (n *Notifier) Reloading() error {
	return n.send("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", monotonic()), "STATUS=Reloading the configuration")
}

// Stopping reports that the service is stopping.
func (n *Notifier) Stopping(status string) error { return n.send("STOPPING=1", statusLine(status)) }

// Watchdog reports that the process is working.
func (n *Notifier) Watchdog() error { return n.send("WATCHDOG=1") }

func statusLine(s string) string { return "STATUS=" + strings.ReplaceAll(s, "\n", " ") }

// timeout bounds how long a manager that does not read can block the server.
const timeout = time.Second

// send writes one datagram of assignments, one per line.
func (n *Notifier) send(lines ...string) error {
	if n == nil || n.socket == "" {
		return nil
	}
	name := n.socket
	if name[0] == '@' {
		name = "\x00" + name[1:] // in the abstract namespace
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	if err = c.SetWriteDeadline(time.Now().Add(timeout)); err == nil {
		_, err = c.Write([]byte(strings.Join(lines, "\n")))
	}
	return errors.Join(err, c.Close())
}

// firstFD is the descriptor of the first passed socket.
const firstFD = 3

// Listener returns the socket that the manager passed to this process, or nil.
// It returns an error if there are several, or if the socket does not accept
// connections.
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
