package testkit

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// StartReplicatedPostgres is like StartPostgres, with a primary and a standby
// that follows it by streaming replication. A synchronous standby has each
// commit before it is acknowledged. The URL of both contains both hosts, of
// which the primary is used.
func StartReplicatedPostgres(synchronous bool) (primary, standby *PostgresServer, err error) {
	const name = "standby"
	settings := notDurable
	if synchronous {
		settings = append([]string{"-c", "synchronous_standby_names=" + name}, notDurable...)
	}
	if primary, err = startPostgres(memoryFolder(), settings...); err != nil {
		return nil, nil, err
	}
	if standby, err = newPostgres(memoryFolder()); err != nil {
		return nil, nil, err
	}
	if err := standby.do("pg_basebackup", "-D", filepath.Join(standby.dir, "data"), "--write-recovery-conf",
		"--dbname", "host="+primary.dir+" user=taskyard application_name="+name, "--checkpoint=fast", "--no-sync"); err != nil {
		return nil, nil, err
	}
	if err := standby.start(notDurable); err != nil {
		return nil, nil, err
	}
	primary.URL = postgresURL(primary.dir, standby.dir) + "&target_session_attrs=read-write"
	standby.URL = primary.URL
	return primary, standby, nil
}

// End stops the server permanently and immediately, and waits for its end.
func (p *PostgresServer) End() error {
	pid, err := p.pid()
	if err != nil {
		return err
	}
	if err := errors.Join(os.Remove(filepath.Join(p.dir, "run")), syscall.Kill(pid, syscall.SIGQUIT)); err != nil {
		return err
	}
	for range 600 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("PostgreSQL does not stop")
}

// Promote makes a standby the primary.
func (p *PostgresServer) Promote() error {
	return p.do("pg_ctl", "promote", "-D", filepath.Join(p.dir, "data"))
}

// Return restarts a server that was ended, with its data: a former primary
// accepts writes again.
func (p *PostgresServer) Return() error { return p.start(notDurable) }
