package db

import (
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

// A host that loses power stops acknowledging packets and does not close its connections.
func TestAVanishedHostIsNoticed(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("requires root to create a network namespace")
	}
	const limit = 2 * time.Second
	for name, sends := range map[string]bool{"while it is asked": true, "while it is not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The goroutine stays locked to its thread, so the namespace ends with it.
			runtime.LockOSThread()
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				t.Skip("cannot create a network namespace: ", err)
			}
			loopback(t, true)
			ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			c, err := lossyDialer(limit).DialContext(t.Context(), "tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			loopback(t, false)
			if sends {
				if _, err := c.Write([]byte("a statement")); err != nil {
					t.Fatal(err)
				}
			}
			begin := time.Now()
			if err := c.SetReadDeadline(begin.Add(20 * limit)); err != nil {
				t.Fatal(err)
			}
			_, err = c.Read(make([]byte, 1))
			if !errors.Is(err, unix.ETIMEDOUT) || !isLost(err) {
				t.Errorf("after %v the read returned %v", time.Since(begin), err)
			}
			t.Logf("noticed after %v", time.Since(begin).Round(10*time.Millisecond))
		})
	}
}

func TestConnectionsNoticeTheLossOfTheirHost(t *testing.T) {
	t.Parallel()
	cfg, err := pgconn.ParseConfig("postgres://one.example,two.example/taskyard")
	if err != nil {
		t.Fatal(err)
	}
	chooseHost(cfg, false, nil)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := cfg.DialFunc(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got int
	if e := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) }); e != nil {
		t.Fatal(e)
	}
	if want := int(hostLostAfter.Milliseconds()); err != nil || got != want {
		t.Errorf("TCP_USER_TIMEOUT: got %d ms (%v), want %d ms", got, err, want)
	}
}

// loopback switches the loopback device of the thread's network namespace on or off.
func loopback(t *testing.T, on bool) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	if on {
		r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	}
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(r))); e != 0 {
		t.Fatal(e)
	}
}
