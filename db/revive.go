package db

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"taskyard/task"
)

// Revived is what a restored backup brings back although it was ended since.
type Revived struct {
	Compared bool     // false: there is no former database that can be read, so nothing is known
	Tokens   []string // names and first characters of tokens that were revoked, but for those of runs
	Runs     int      // tokens of runs that have ended
	Sessions int      // sessions that were ended; all of the backup where nothing is known
}

// rights are the valid tokens and the sessions of a database, by their hashes.
type rights struct {
	tokens   map[string]string // "" for the token of a run, else name and hint
	sessions map[string]bool
}

// readRights reads what is valid at a moment. Databases of all versions have
// these columns.
func readRights(ctx context.Context, c *sql.DB, now task.Time) (r rights, err error) {
	r = rights{tokens: map[string]string{}, sessions: map[string]bool{}}
	list := func(q string, add func(hash, text string)) {
		if err != nil {
			return
		}
		rows, e := c.QueryContext(ctx, q, int64(now))
		if err = e; e != nil {
			return
		}
		defer rows.Close()
		for rows.Next() {
			var hash, text string
			if err = rows.Scan(&hash, &text); err != nil {
				return
			}
			add(hash, text)
		}
		err = rows.Err()
	}
	list(`SELECT hex(hash), CASE WHEN run_id IS NULL THEN name || ' (' || hint || '…)' ELSE '' END FROM tokens
 WHERE revoked_at IS NULL AND coalesce(expires_at, 1 << 62) > ? ORDER BY id`, func(hash, text string) { r.tokens[hash] = text })
	list("SELECT hash, '' FROM sessions WHERE expires_at > ?", func(hash, _ string) { r.sessions[hash] = true })
	return r, err
}

// revokeEnded ends, in the backup at staged, the rights that ended since in the
// database at present: tokens that are no longer valid there and sessions that
// it does not have. With keep it only reports which. It also keeps the ids, claims
// and leases that were given since from being given again, and notes where the log
// was cut, which check asks for.
func revokeEnded(ctx context.Context, staged, present string, now task.Time, keep bool) (v Revived, err error) {
	c, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: staged}).EscapedPath()+"?_journal_mode=DELETE&_synchronous=FULL&_txlock=immediate")
	if err != nil {
		return v, err
	}
	c.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, c.Close()) }()
	old, err := readRights(ctx, c, now)
	if err != nil {
		return v, err
	}
	valid, given, err := readCurrent(ctx, present, now)
	if err != nil {
		return v, err
	}
	v, tokens, sessions := endedSince(old, valid)
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return v, err
	}
	defer func() { _ = tx.Rollback() }()
	if !keep {
		if err := endRights(ctx, tx, tokens, sessions, now); err != nil {
			return v, err
		}
	}
	if err := errors.Join(skipIssuedIDs(ctx, tx, given), skipIssuedNumbers(ctx, tx)); err != nil {
		return v, err
	}
	if err := recordRestore(ctx, tx, now); err != nil {
		return v, err
	}
	return v, tx.Commit()
}

// readCurrent returns the rights and the last ids of the database at present; no
// rights where there is none that can be read.
func readCurrent(ctx context.Context, present string, now task.Time) (*rights, map[string]int64, error) {
	if !fileExists(present) {
		return nil, nil, nil
	}
	c, err := openReadOnly(present)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = c.Close() }()
	valid, err := readRights(ctx, c, now)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // what cannot be read is not compared
	}
	given, err := readLastIDs(ctx, c)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // as above
	}
	return &valid, given, nil
}

// endedSince returns the hashes of the tokens and sessions of old that are not
// valid any more. Where nothing is known of that, no token has ended and every
// session.
func endedSince(old rights, valid *rights) (v Revived, tokens, sessions []string) {
	v.Compared = valid != nil
	if valid == nil {
		valid = &rights{tokens: old.tokens}
	}
	for hash, text := range old.tokens {
		if _, ok := valid.tokens[hash]; ok {
			continue
		}
		tokens = append(tokens, hash)
		if text == "" {
			v.Runs++
		} else {
			v.Tokens = append(v.Tokens, text)
		}
	}
	slices.Sort(v.Tokens)
	for hash := range old.sessions {
		if !valid.sessions[hash] {
			sessions = append(sessions, hash)
		}
	}
	v.Sessions = len(sessions)
	return v, tokens, sessions
}

// endRights revokes tokens and deletes sessions, by their hashes.
func endRights(ctx context.Context, tx *sql.Tx, tokens, sessions []string, now task.Time) error {
	for _, hash := range tokens {
		b, err := hex.DecodeString(hash)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE tokens SET revoked_at = ? WHERE hash = ?", int64(now), b); err != nil {
			return err
		}
	}
	for _, hash := range sessions {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE hash = ?", hash); err != nil {
			return err
		}
	}
	return nil
}

// readLastIDs returns the last ids that a database gave to tasks and runs.
func readLastIDs(ctx context.Context, c *sql.DB) (map[string]int64, error) {
	rows, err := c.QueryContext(ctx, "SELECT name, seq FROM sqlite_sequence WHERE name IN ('tasks', 'runs')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	given := map[string]int64{}
	for rows.Next() {
		var name string
		var last int64
		if err := rows.Scan(&name, &last); err != nil {
			return nil, err
		}
		given[name] = last
	}
	return given, rows.Err()
}

// skipIssuedIDs makes the next tasks and runs get later ids than those given. Folders of
// runs and branches are named by them and outlive a restore: another task or run
// with the id would work in them.
func skipIssuedIDs(ctx context.Context, tx *sql.Tx, given map[string]int64) error {
	for name, last := range given {
		var own int64
		err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?", name).Scan(&own)
		if err != nil {
			return err
		}
		if own >= last {
			continue
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = ?", name); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", name, last); err != nil {
			return err
		}
	}
	return nil
}

// maxIssuedSinceBackup is more than the claims of a task, and the leases of a run, that are
// given between two backups.
const maxIssuedSinceBackup = 1000

// skipIssuedNumbers gives the next claim of a task and the next lease of a run a number
// that no holder was given since the backup: workers and agents work on while a
// database is restored, and would pass for the holders of today.
func skipIssuedNumbers(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "UPDATE runs SET lease = lease + ? WHERE status = 'pending'", maxIssuedSinceBackup)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE tasks SET claim_seq = claim_seq + ? WHERE archived_at IS NULL AND claim_holder IS NULL",
			maxIssuedSinceBackup)
	}
	return err
}

// restored is the setting in which a database remembers when it was put in
// place of a later one, and the end of its log then.
const restored = "restored"

// Restored is when a database was put back from a backup, and how long its log
// was then.
type Restored struct {
	At   task.Time `json:"at"`
	Last task.ID   `json:"last"`
}

func recordRestore(ctx context.Context, tx *sql.Tx, now task.Time) error {
	r := Restored{At: now}
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM events").Scan(&r.Last); err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO settings (key, value) VALUES (?, ?) "+
		"ON CONFLICT (key) DO UPDATE SET value = excluded.value", restored, string(b))
	return err
}
