package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// timelineName is the file of the data folder in which a server keeps the timeline
// of its database, from one start to the next.
const timelineName = "postgres-timeline"

// timeline is a part of the history of a database: each promotion of a standby
// begins the next one. The zero value is that of a database that has none, as of
// those that only speak the protocol of PostgreSQL.
type timeline struct {
	system string // identifier of the database, the same on its standbys
	number uint64
}

// primaries refuses former primaries. A host that was away while its standby was
// promoted takes writes when it is back, and is asked first where it is named first:
// two histories would begin, of which one is lost.
type primaries struct {
	file string // "": nothing is kept
	log  *slog.Logger

	mu     sync.Mutex
	newest timeline
	warned time.Time
}

// newPrimaries reads what file keeps. A file that cannot be read is as none.
func newPrimaries(file string, log *slog.Logger) *primaries {
	p := &primaries{file: file, log: log}
	if b, err := os.ReadFile(file); err == nil {
		if system, number, found := strings.Cut(strings.TrimSpace(string(b)), " "); found {
			if n, err := strconv.ParseUint(number, 10, 32); err == nil {
				p.newest = timeline{system, n}
			}
		}
	}
	return p
}

// admit returns an error for a connection to a host where another primary of the
// same database has a later timeline.
func (p *primaries) admit(ctx context.Context, c *pgconn.PgConn) error {
	at, err := readTimeline(ctx, c)
	if err != nil || at.number == 0 {
		return err
	}
	c.CustomData()[timelineName] = at
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case at == p.newest:
	case at.system == p.newest.system && at.number < p.newest.number:
		host := c.Conn().RemoteAddr().String()
		if time.Since(p.warned) >= time.Minute {
			p.warned = time.Now()
			p.log.Warn("a former primary of the database takes connections; keep it down, or make it a standby",
				"host", host, "timeline", at.number, "newest_timeline", p.newest.number)
		}
		return fmt.Errorf("%s is a former primary of the database, on timeline %d of %d: keep it down, or make it a standby "+
			"(if it is a restored copy that should be used, delete %s from the data folder)", host, at.number, p.newest.number, timelineName)
	default:
		p.newest = at
		p.save()
	}
	return nil
}

// save writes the newest timeline to the file.
func (p *primaries) save() {
	if p.file == "" {
		return
	}
	temporary := p.file + ".new"
	err := os.WriteFile(temporary, fmt.Appendf(nil, "%s %d\n", p.newest.system, p.newest.number), 0o600)
	if err == nil {
		err = os.Rename(temporary, p.file)
	}
	if err != nil {
		p.log.Warn("the timeline of the database is not kept; a former primary may be taken for it after the next start", "error", err)
	}
}

var errFormerPrimary = errors.New("another host of the database has been promoted")

// isFormer reports whether a standby was promoted since the connection was made to
// its host.
func (p *primaries) isFormer(c *conn) bool {
	s, ok := c.c.(*pgSession)
	if !ok {
		return false
	}
	at, _ := s.c.CustomData()[timelineName].(timeline)
	p.mu.Lock()
	defer p.mu.Unlock()
	return at.system == p.newest.system && at.number < p.newest.number
}

// readTimeline asks for the timeline on which a primary writes. That of its last
// checkpoint is the former one for a while after a promotion.
func readTimeline(ctx context.Context, c *pgconn.PgConn) (at timeline, err error) {
	const ask = "SELECT CAST(system_identifier AS TEXT), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()"
	r := c.ExecParams(ctx, ask, nil, nil, nil, nil).Read()
	if _, ok := errors.AsType[*pgconn.PgError](r.Err); ok {
		return timeline{}, nil // it has no such functions, or not for us
	}
	if r.Err != nil || len(r.Rows) != 1 {
		return timeline{}, r.Err
	}
	at.system = string(r.Rows[0][0])
	at.number, err = strconv.ParseUint(string(r.Rows[0][1]), 16, 32)
	return at, err
}
