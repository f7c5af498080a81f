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

// listen listens on the address. If a server is killed while it starts a
// program, that program's process may hold the socket for a moment, so an
// address in use is retried for a second.
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

// socketMode lets the server's group connect.
const socketMode = 0o660

// listenUnix creates a socket. It replaces one left by a killed server, but not
// one that is in use, or any other file.
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

// localPeers is a Unix socket whose peers count as 127.0.0.1: they are on this
// machine, and the rules for proxies and limits need an address.
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

// listeners are the listeners of the server.
type listeners struct {
	main net.Listener
	runs net.Listener // for the runs of this machine, which use plain HTTP over TCP; nil: they use main
}

// openListeners listens on the address, or uses the passed listener. For a Unix
// socket, it also opens a loopback port, because agents' programs reach MCP
// servers only over TCP.
func openListeners(ctx context.Context, address string, passed net.Listener) (d listeners, err error) {
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

func (d listeners) close() {
	_ = d.main.Close() // a stopped server has already closed it
	if d.runs != nil {
		_ = d.runs.Close()
	}
}

// runsURL returns the server's URL for runs.
func (d listeners) runsURL() string {
	if d.runs != nil {
		return loopbackURL(d.runs.Addr())
	}
	return loopbackURL(d.main.Addr())
}

// clientURL returns the URL for client commands on this machine: the socket,
// unless the server is served below a path, which only HTTP URLs support.
func (d listeners) clientURL(prefix string) string {
	if _, tcp := d.main.Addr().(*net.TCPAddr); !tcp && prefix == "" {
		return loopbackURL(d.main.Addr())
	}
	return d.runsURL() + prefix
}

// loopbackURL returns the server's URL on this machine.
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

// writeAddressFile writes the server's URL on this machine to the runtime folder of
// the service, for the client commands of all users. The returned function
// deletes it.
func (in *Instance) writeAddressFile(address string) (remove func()) {
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
	return func() { _ = os.Remove(file) } // the manager also deletes the folder
}
