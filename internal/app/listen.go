package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"taskyard/internal/sleep"
)

// listen takes the address. A server that was killed while it started a
// program leaves its socket, for a moment, to that program's process; so an
// address in use is asked for again, for a second.
func listen(ctx context.Context, address string) (net.Listener, error) {
	const patience, pause = time.Second, 20 * time.Millisecond
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(ctx, socket)
	}
	for waited := time.Duration(0); ; waited += pause {
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return ln, err
		}
		if waited >= patience {
			return nil, fmt.Errorf("%s is in use by another program: stop it, or give another "+
				"address with --listen (port 0 takes a free one)", address)
		}
		if !sleep.For(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// socketMode lets the group of the server connect.
const socketMode = 0o660

// listenUnix makes a socket. One that a killed server left is replaced; one that
// somebody listens on, and any other file, stay as they are.
func listenUnix(ctx context.Context, socket string) (net.Listener, error) {
	path, octal, moded := strings.Cut(socket, "|")
	mode := fs.FileMode(socketMode)
	if moded {
		m, err := strconv.ParseUint(octal, 8, 9)
		if err != nil {
			return nil, err
		}
		mode = fs.FileMode(m)
	}
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("%s already exists and is not a socket: remove it, or give another path with --listen", path)
		}
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("%s is in use by another program: stop it, or give another path with --listen", path), c.Close())
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%s already exists: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// localPeers is a Unix socket whose peers count as 127.0.0.1: they are on
// this machine, and that is the address which rules on proxies and limits know.
type localPeers struct{ net.Listener }

func (l localPeers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return localPeer{c}, nil
}

type localPeer struct{ net.Conn }

func (localPeer) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// doors are where the server listens.
type doors struct {
	main net.Listener
	runs net.Listener // for the runs of this machine, which speak plain HTTP over TCP; nil: they use main
}

// openDoors listens on the address, or takes the listener that is passed. A Unix
// socket gets a port of the loopback interface beside it: programs of agents reach
// MCP servers only over TCP.
func openDoors(ctx context.Context, address string, passed net.Listener) (d doors, err error) {
	if d.main = passed; passed == nil {
		if d.main, err = listen(ctx, address); err != nil {
			return d, err
		}
	}
	if _, tcp := d.main.Addr().(*net.TCPAddr); tcp {
		return d, nil
	}
	d.main = localPeers{d.main}
	if d.runs, err = listen(ctx, "127.0.0.1:0"); err != nil {
		return d, errors.Join(err, d.main.Close())
	}
	return d, nil
}

func (d doors) close() {
	_ = d.main.Close() // a stopped server has closed it
	if d.runs != nil {
		_ = d.runs.Close()
	}
}

// runsURL is the address under which runs reach the server.
func (d doors) runsURL() string {
	if d.runs != nil {
		return loopbackURL(d.runs.Addr())
	}
	return loopbackURL(d.main.Addr())
}

// clientURL is the address for client commands of this machine: the socket, unless the
// server answers below a path, which only an address of HTTP can have.
func (d doors) clientURL(prefix string) string {
	if _, tcp := d.main.Addr().(*net.TCPAddr); !tcp && prefix == "" {
		return loopbackURL(d.main.Addr())
	}
	return d.runsURL() + prefix
}

// loopbackURL is the address under which this machine reaches the server.
func loopbackURL(addr net.Addr) string {
	t, ok := addr.(*net.TCPAddr)
	if !ok {
		return "unix:" + addr.String()
	}
	ip := t.IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + net.JoinHostPort(ip.String(), strconv.Itoa(t.Port))
}

// noteAddress writes where this machine reaches the server into the folder that
// the service manager made for it, for the client commands of everybody. It
// returns what removes it again.
func (in *Instance) noteAddress(address string) (remove func()) {
	folder := in.opt.Getenv("RUNTIME_DIRECTORY")
	if folder == "" || strings.Contains(folder, ":") {
		return func() {}
	}
	file := filepath.Join(folder, "address")
	err := os.WriteFile(file, []byte(address+"\n"), 0o644) //nolint:gosec // everybody may know it
	if err == nil {
		err = os.Chmod(file, 0o644) //nolint:gosec // whatever the umask is
	}
	if err != nil {
		in.opt.Log.Warn("failed to record the address: client commands of this machine need TASKYARD_URL", "file", file, "error", err)
	}
	return func() { _ = os.Remove(file) } // the manager removes the folder, too
}
