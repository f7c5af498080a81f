package db

import (
	"time"

	"taskyard/task"
)

const userCols = "id, name, role, created_at, coalesce(last_seen_at, 0), coalesce(disabled_at, 0)"

func scanUser(r rowScanner) (u task.User, err error) {
	return u, r.Scan(&u.ID, &u.Name, &u.Role, &u.CreatedAt, &u.LastSeenAt, &u.DisabledAt)
}

// InsertUser adds a person; password is the argon2id hash.
func (tx *Tx) InsertUser(name string, role task.Role, password string) (task.ID, error) {
	return tx.insert("INSERT INTO users (name, role, password, created_at) VALUES (?, ?, ?, ?)", name, role, password, tx.Now)
}

// User returns a person by ID; ok is false if there is none.
func (rx *Rx) User(id task.ID) (u task.User, ok bool, err error) {
	return okIfRow(scanUser(rx.row("SELECT "+userCols+" FROM users WHERE id = ?", id)))
}

// UserByName returns a person and the password hash, whatever the case of the name.
func (rx *Rx) UserByName(name string) (u task.User, password string, ok bool, err error) {
	u, ok, err = okIfRow(scanUser(extendedScanner{rx.row("SELECT "+userCols+", password FROM users WHERE name = ?", name), []any{&password}}))
	return u, password, ok, err
}

// Users returns all people by name.
func (rx *Rx) Users() ([]task.User, error) {
	return collect(rx.query("SELECT "+userCols+" FROM users ORDER BY name"), scanUser)
}

// UserCount returns how many people there are.
func (rx *Rx) UserCount() (int, error) { return rx.count("SELECT count(*) FROM users") }

// AdminCount returns how many admins can sign in.
func (rx *Rx) AdminCount() (int, error) {
	return rx.count("SELECT count(*) FROM users WHERE role = 'admin' AND disabled_at IS NULL")
}

// OtherReviewers returns how many people but one may decide on approvals.
func (rx *Rx) OtherReviewers(name string) (int, error) {
	return rx.count("SELECT count(*) FROM users WHERE role IN ('reviewer', 'admin') AND disabled_at IS NULL AND name <> ?", name)
}

// SetRole sets the role of a person.
func (tx *Tx) SetRole(id task.ID, role task.Role) error {
	return tx.do("UPDATE users SET role = ? WHERE id = ?", role, id)
}

// SetPassword writes a new argon2id hash.
func (tx *Tx) SetPassword(id task.ID, hash string) error {
	return tx.do("UPDATE users SET password = ? WHERE id = ?", hash, id)
}

// SetDisabled bars a person, or lets them in again.
func (tx *Tx) SetDisabled(id task.ID, disabled bool) error {
	var at any
	if disabled {
		at = tx.Now
	}
	return tx.do("UPDATE users SET disabled_at = ? WHERE id = ?", at, id)
}

// NoteSignIn records that a person signed in.
func (tx *Tx) NoteSignIn(id task.ID) error {
	return tx.do("UPDATE users SET last_seen_at = ? WHERE id = ?", tx.Now, id)
}

// The addresses of a person that are remembered: the last so many, so long.
const (
	maxKnownAddresses = 20
	knownAddressLife  = 90 * 24 * time.Hour
)

// KnownAddress reports whether a person signed in from an address lately.
func (rx *Rx) KnownAddress(user task.ID, address string) (bool, error) {
	n, err := rx.count("SELECT count(*) FROM known_addresses WHERE user_id = ? AND address = ? AND seen_at > ?",
		user, address, rx.Now.Add(-knownAddressLife))
	return n > 0, err
}

// RememberAddress records that a person signed in from an address.
func (tx *Tx) RememberAddress(user task.ID, address string) error {
	err := tx.do("INSERT INTO known_addresses (user_id, address, seen_at) VALUES (?, ?, ?) "+
		"ON CONFLICT (user_id, address) DO UPDATE SET seen_at = excluded.seen_at", user, address, tx.Now)
	if err != nil {
		return err
	}
	return tx.do(`DELETE FROM known_addresses WHERE user_id = ?1 AND (seen_at <= ?2 OR address NOT IN (
 SELECT address FROM known_addresses WHERE user_id = ?1 ORDER BY seen_at DESC, address
 LIMIT ?3))`, user, tx.Now.Add(-knownAddressLife), maxKnownAddresses)
}

// Session is a stored browser session, under the hash of its token.
type Session struct {
	Hash    string // set only by Sessions
	Data    []byte
	Expires task.Time
}

// Session returns a session that has not expired.
func (rx *Rx) Session(hash string) (s Session, ok bool, err error) {
	err = rx.row("SELECT data, expires_at FROM sessions WHERE hash = ? AND expires_at > ?", hash, rx.Now).Scan(&s.Data, &s.Expires)
	ok, err = optional(err)
	return s, ok, err
}

// SaveSession writes a session.
func (tx *Tx) SaveSession(hash string, user task.ID, s Session) error {
	return tx.do(`INSERT INTO sessions (hash, user_id, data, expires_at) VALUES (?1, ?2, ?3, ?4)
 ON CONFLICT (hash) DO UPDATE SET user_id = ?2, data = ?3, expires_at = ?4`, hash, nullZero(user), s.Data, s.Expires)
}

// KeepSession rewrites a session if it still exists, and reports whether it did.
func (tx *Tx) KeepSession(hash string, s Session) (bool, error) {
	return tx.changedOne("UPDATE sessions SET data = ?, expires_at = ? WHERE hash = ?", s.Data, s.Expires, hash)
}

// Sessions returns the sessions of a person that have not expired, at most 100.
func (rx *Rx) Sessions(user task.ID) ([]Session, error) {
	rows := rx.query("SELECT hash, data, expires_at FROM sessions WHERE user_id = ? "+
		"AND expires_at > ? ORDER BY expires_at DESC LIMIT 100", user, rx.Now)
	return collect(rows, func(r rowScanner) (s Session, err error) { return s, r.Scan(&s.Hash, &s.Data, &s.Expires) })
}

// DropUserSession ends a session if it is the person's, and reports whether it was.
func (tx *Tx) DropUserSession(user task.ID, hash string) (bool, error) {
	return tx.changedOne("DELETE FROM sessions WHERE user_id = ? AND hash = ?", user, hash)
}

// DropSession ends a session.
func (tx *Tx) DropSession(hash string) error {
	return tx.do("DELETE FROM sessions WHERE hash = ?", hash)
}

// DropSessions ends all sessions of a person but the one kept ("" for none).
func (tx *Tx) DropSessions(user task.ID, kept string) error {
	return tx.do("DELETE FROM sessions WHERE user_id = ? AND hash <> ?", user, kept)
}

// DropExpired deletes expired sessions and old idempotency keys.
func (tx *Tx) DropExpired(keysBefore task.Time) error {
	if err := tx.do("DELETE FROM sessions WHERE expires_at <= ?", tx.Now); err != nil {
		return err
	}
	return tx.do("DELETE FROM idempotency WHERE created_at < ?", keysBefore)
}
