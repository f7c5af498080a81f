package db

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// The settings of each connection. A server that is suspended inside a
// transaction would hold up all others: its transaction ends with it.
var pgSettings = map[string]string{
	"application_name":                    "taskyard",
	"idle_in_transaction_session_timeout": "5000",
	"lock_timeout":                        "30000",
	// Those of the role or the database would end writes that wait for another
	// server, long copies, and connections that nobody uses.
	"statement_timeout":    "0",
	"idle_session_timeout": "0",
	"tcp_user_timeout":     "10000",
	"TimeZone":             "UTC",
	// As those of SQLite, plans are made once a statement; one of a task takes
	// longer to make than to run.
	"plan_cache_mode": "force_generic_plan",
	"jit":             "off",
	// Each list has an index. Without knowing its limit, PostgreSQL would rather
	// read the whole table, with more processes.
	"random_page_cost":                "1.1",
	"max_parallel_workers_per_gather": "0",
	"standard_conforming_strings":     "on",
}

// hostTime is how long a connection to one of several hosts may take, before the
// next one is tried.
const hostTime = 2 * time.Second

// chooseHost makes connections go only to the primary, also where the address
// leaves out target_session_attrs. A standby would refuse each write, and what it
// reads is old. Former primaries are refused, and the loss of the host is noticed.
func chooseHost(cfg *pgconn.Config, readOnly bool, known *primaries) {
	cfg.DialFunc = dialHost
	switch {
	case readOnly: // which would look like a standby to a look at what may be written
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	case cfg.ValidateConnect == nil:
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	several := slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != cfg.Host || f.Port != cfg.Port })
	if several && cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = hostTime
	}
	if takesWrites := cfg.ValidateConnect; known != nil {
		cfg.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
			if err := takesWrites(ctx, c); err != nil {
				return err
			}
			return known.admit(ctx, c)
		}
	}
}

// pgConnect opens a session, with no former primary where those are known. readOnly
// ones cannot write. hear, if not nil, is called with the notifications that come.
func pgConnect(ctx context.Context, url string, readOnly bool, known *primaries, hear func(payload string)) (*conn, error) {
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	chooseHost(cfg, readOnly, known)
	for k, v := range pgSettings {
		if cfg.RuntimeParams[k] == "" {
			cfg.RuntimeParams[k] = v
		}
	}
	if readOnly {
		cfg.RuntimeParams["default_transaction_read_only"] = "on"
	}
	if hear != nil {
		cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { hear(n.Payload) }
	} else {
		cfg.BuildContextWatcherHandler = cancelRequest
	}
	c, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	// A pooler that gives transactions to different sessions, each with its own
	// statements, must not run one of another connection.
	return &conn{c: &pgSession{c: c, name: rand.Text()[:10] + "_"}, stmts: make(map[string]*stmt, 64)}, nil
}

// cancelRequest makes a context that ends cancel the statement, where the connection
// would be lost otherwise.
func cancelRequest(c *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 5 * time.Second}
}

// suitable returns an error for a database that would not keep what is written to
// it, and for a connection pooler that drops the settings of connections.
func (c *conn) suitable() error {
	var encoding, limit string
	err := (&Rx{c: c}).row("SELECT current_setting('server_encoding'), current_setting('idle_in_transaction_session_timeout')").
		Scan(&encoding, &limit)
	switch {
	case err != nil:
		return err
	case encoding != "UTF8":
		return fmt.Errorf("the database has the encoding %s; create one with ENCODING 'UTF8' TEMPLATE template0", encoding)
	case limit == "0":
		return errors.New("the settings of connections have no effect, as behind a connection pooler, and " +
			"a server that is suspended could block all others; connect to PostgreSQL directly")
	}
	return nil
}

// mayUseTables returns an error that names a table which the user may not read and
// write, as after a restore by another user. Tables of others do not matter.
func (c *conn) mayUseTables() error {
	rx := &Rx{c: c}
	rows := rx.query("SELECT relname FROM pg_class " +
		"WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace) AND NOT (has_table_privilege(oid, 'SELECT') " +
		"AND has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')) " +
		"ORDER BY relname")
	denied, err := collect(rows, column[string])
	if err != nil || len(denied) == 0 {
		return err
	}
	files, err := fs.Glob(pgMigrations, "migrations/postgres/*.sql")
	if err != nil {
		return err
	}
	for _, file := range files {
		made, err := fs.ReadFile(pgMigrations, file)
		if err != nil {
			return err
		}
		for _, table := range denied {
			if bytes.Contains(made, []byte("CREATE TABLE "+table+" (")) {
				return fmt.Errorf("this user of PostgreSQL may not read and write the table %s: "+
					"make the user the owner of the database and of all its tables", table)
			}
		}
	}
	return nil
}
