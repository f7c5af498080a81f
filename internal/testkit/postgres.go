package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// PostgresServer is a running server of the installed PostgreSQL.
type PostgresServer struct {
	URL string // URL of its first database
	dir string
	bin string // folder of the programs
}

// Crash stops the server immediately, like a power failure, and restarts it.
func (p *PostgresServer) Crash() error {
	pid, err := p.pid()
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGQUIT)
}

// pid returns the PID of its main process.
func (p *PostgresServer) pid() (int, error) {
	b, err := os.ReadFile(filepath.Join(p.dir, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	return strconv.Atoi(first)
}

// StartPostgres starts a server of the installed PostgreSQL, with sockets in a
// temporary folder and no network. When this process ends for any reason, the
// server stops and its folder is deleted. It does not sync to the disk.
func StartPostgres() (*PostgresServer, error) {
	return startPostgres(memoryFolder(), notDurable...)
}

var notDurable = []string{"-c", "fsync=off", "-c", "full_page_writes=off"}

// StartDurablePostgres is like StartPostgres, for measurements: each commit is
// synced to the disk.
func StartDurablePostgres() (*PostgresServer, error) { return startPostgres("/var/tmp") }

func startPostgres(place string, settings ...string) (*PostgresServer, error) {
	p, err := newPostgres(place)
	if err != nil {
		return nil, err
	}
	if err := p.do("initdb", "-D", filepath.Join(p.dir, "data"),
		"-U", "taskyard", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"); err != nil {
		return nil, err
	}
	return p, p.start(settings)
}

// newPostgres creates the folder of a server.
func newPostgres(place string) (*PostgresServer, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(place, "taskyard-postgres-")
	if err != nil {
		return nil, err
	}
	attr, err := postgresUser()
	if err != nil {
		return nil, err
	}
	if c := attr.Credential; c != nil {
		if err := errors.Join(os.Chown(dir, int(c.Uid), int(c.Gid)), os.Chmod(dir, 0o711)); err != nil {
			return nil, err
		}
	}
	return &PostgresServer{URL: postgresURL(dir), dir: dir, bin: bin}, nil
}

// postgresURL returns the URL of the first database of the servers with these
// folders.
func postgresURL(dirs ...string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("taskyard"), Path: "/postgres",
		RawQuery: "host=" + url.QueryEscape(strings.Join(dirs, ",")),
	}
	return u.String()
}

// postgresUser returns process attributes for PostgreSQL, which refuses to run
// as root.
func postgresUser() (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}

// command returns a command of PostgreSQL, or one that starts it.
func (p *PostgresServer) command(name string, args ...string) (*exec.Cmd, error) {
	attr, err := postgresUser()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.SysProcAttr, cmd.Dir = attr, p.dir
	return cmd, nil
}

// do runs a program of PostgreSQL and waits for it.
func (p *PostgresServer) do(program string, args ...string) error {
	cmd, err := p.command(filepath.Join(p.bin, program), args...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// start starts the server on its data, and returns when it answers.
func (p *PostgresServer) start(settings []string) error {
	run, err := p.command("sh", append([]string{"-c", keepRunning, "sh", p.bin, p.dir}, settings...)...)
	if err != nil {
		return err
	}
	in, err := run.StdinPipe()
	if err != nil {
		return err
	}
	if err := run.Start(); err != nil {
		return err
	}
	openPipes = append(openPipes, in)
	for range 600 {
		if p.do("pg_isready", "-q", "-h", p.dir) == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	return fmt.Errorf("PostgreSQL does not start: %s", log)
}

// memoryFolder returns a folder in a memory file system, where creating a
// database per test is ten times as fast; "": the usual place, if there is none
// with enough space.
func memoryFolder() string {
	const place, room = "/dev/shm", 4 << 30
	var st syscall.Statfs_t
	if err := syscall.Statfs(place, &st); err != nil || st.Bavail < room/uint64(st.Bsize) {
		return ""
	}
	return place
}

// keepRunning is a shell script that restarts the server until the process that
// started the shell has ended.
const keepRunning = `bin=$1 dir=$2; shift 2; cd "$dir" && touch run
while [ -e run ]; do "$bin/postgres" -D data -k "$dir" "$@" -c listen_addresses= \
 -c max_connections=400 -c shared_buffers=64MB -c log_min_messages=fatal >>log 2>&1; done &
read _; rm run; kill -INT "$(head -n 1 data/postmaster.pid)"; wait; cd / && rm -rf "$dir"`

// openPipes are the pipes that servers read until this process ends.
var openPipes []io.Closer

// programs returns the folder with the programs of the newest PostgreSQL.
func programs() (string, error) {
	list, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			list = append(list, p)
		}
	}
	list = slices.DeleteFunc(list, func(p string) bool { return !isFile(filepath.Join(filepath.Dir(p), "initdb")) })
	if len(list) == 0 {
		return "", errors.New("no PostgreSQL is installed (Debian: postgresql)")
	}
	return filepath.Dir(list[len(list)-1]), nil
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
