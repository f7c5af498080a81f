package db

import "taskyard/task"

const tokenCols = "id, name, hint, scope, agent, created_by, created_at, coalesce(expires_at, 0), " +
	"coalesce(used_at, 0), coalesce(revoked_at, 0), coalesce(run_id, 0), coalesce(user_id, 0)"

// listedCols are tokenCols with the name of the person, for lists.
const listedCols = tokenCols + ", coalesce((SELECT u.name FROM users u WHERE u.id = tokens.user_id), '')"

func scanToken(r rowScanner) (t task.Token, err error) {
	return t, r.Scan(&t.ID, &t.Name, &t.Hint, &t.Scope, &t.Agent, &t.CreatedBy, &t.CreatedAt,
		&t.ExpiresAt, &t.UsedAt, &t.RevokedAt, &t.RunID, &t.UserID)
}

func scanListed(r rowScanner) (t task.Token, err error) {
	var person string
	t, err = scanToken(extendedScanner{r, []any{&person}})
	t.Person = person
	return t, err
}

// InsertToken stores a token under the SHA-256 of its secret.
func (tx *Tx) InsertToken(t task.Token, hash []byte) (task.ID, error) {
	return tx.insert("INSERT INTO tokens (hash, hint, name, scope, agent, user_id, run_id, created_by, created_at, expires_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		hash, t.Hint, t.Name, t.Scope, t.Agent, nullZero(t.UserID), nullZero(t.RunID), t.CreatedBy, tx.Now, nullZero(t.ExpiresAt))
}

// TokenByHash returns a token that is neither revoked nor expired.
func (rx *Rx) TokenByHash(hash []byte) (t task.Token, ok bool, err error) {
	return okIfRow(scanToken(rx.row("SELECT "+tokenCols+" FROM tokens WHERE hash = ? AND revoked_at IS NULL "+
		"AND (expires_at IS NULL OR expires_at > ?)", hash, rx.Now)))
}

// Token returns a token by id.
func (rx *Rx) Token(id task.ID) (t task.Token, ok bool, err error) {
	return okIfRow(scanToken(rx.row("SELECT "+tokenCols+" FROM tokens WHERE id = ?", id)))
}

// TokenValid reports whether a token is neither revoked nor expired, and its
// person not disabled. role is the person's role, "" if the token has no
// person.
func (rx *Rx) TokenValid(id task.ID) (valid bool, role task.Role, err error) {
	checked := rx.c.checked
	if checked != nil {
		if t, ok := checked.tokens[id]; ok {
			return t.valid, t.role, nil
		}
	}
	valid, err = optional(rx.row(`SELECT coalesce(u.role, '') FROM tokens k LEFT JOIN users u ON u.id = k.user_id
 WHERE k.id = ? AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?) AND u.disabled_at IS NULL`, id, rx.Now).Scan(&role))
	if checked != nil && err == nil {
		checked.tokens[id] = tokenAccess{valid, role}
	}
	return valid, role, err
}

// AgentTokens returns the tokens of an agent that are not revoked, without
// those of its runs.
func (rx *Rx) AgentTokens(agent string) ([]task.Token, error) {
	rows := rx.query("SELECT "+tokenCols+" FROM tokens WHERE agent = ? AND agent <> '' "+
		"AND revoked_at IS NULL AND run_id IS NULL ORDER BY id", agent)
	return collect(rows, scanToken)
}

// TokenAgents returns the agents that have tokens which are not revoked.
func (rx *Rx) TokenAgents() ([]string, error) {
	rows := rx.query("SELECT DISTINCT agent FROM tokens WHERE agent <> '' AND revoked_at IS NULL AND run_id IS NULL ORDER BY agent")
	return collect(rows, column[string])
}

// Tokens returns the tokens of people and agents, at most 500, newest first;
// tokens of runs are left out.
func (rx *Rx) Tokens() ([]task.Token, error) {
	return collect(rx.query("SELECT "+listedCols+" FROM tokens WHERE run_id IS NULL ORDER BY id DESC LIMIT 500"), scanListed)
}

// UserTokens returns the tokens of a person's account, at most 500, newest first.
func (rx *Rx) UserTokens(user task.ID) ([]task.Token, error) {
	return collect(rx.query("SELECT "+listedCols+" FROM tokens WHERE user_id = ? ORDER BY id DESC LIMIT 500", user), scanListed)
}

// ValidUserTokens returns the tokens of a person's account that are neither
// revoked nor expired.
func (rx *Rx) ValidUserTokens(user task.ID) ([]task.Token, error) {
	rows := rx.query("SELECT "+tokenCols+" FROM tokens WHERE user_id = ? AND revoked_at IS NULL "+
		"AND (expires_at IS NULL OR expires_at > ?) ORDER BY id", user, rx.Now)
	return collect(rows, scanToken)
}

// FreeTokenName revokes the expired tokens of a name, whatever its case, and
// reports whether no other one is valid. Names are unique among the tokens of
// one person, and among those that belong to none (0). Tokens of runs do not
// count.
func (tx *Tx) FreeTokenName(user task.ID, name string) (bool, error) {
	err := tx.do("UPDATE tokens SET revoked_at = ?1 WHERE name = ?2 COLLATE NOCASE AND coalesce(user_id, 0) = ?3 "+
		"AND revoked_at IS NULL AND run_id IS NULL AND expires_at <= ?1", tx.Now, name, user)
	if err != nil {
		return false, err
	}
	n, err := tx.count("SELECT count(*) FROM tokens WHERE name = ? COLLATE NOCASE AND coalesce(user_id, 0) = ? "+
		"AND revoked_at IS NULL AND run_id IS NULL", name, user)
	return n == 0, err
}

// RevokeToken ends a token.
func (tx *Tx) RevokeToken(id task.ID) error {
	return tx.do("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", tx.Now, id)
}

// DropRunTokens deletes the tokens of a run.
func (tx *Tx) DropRunTokens(run task.ID) error {
	return tx.do("DELETE FROM tokens WHERE run_id = ?", run)
}

// TouchTokens records when tokens were last used.
func (tx *Tx) TouchTokens(used map[task.ID]task.Time) error {
	for id, at := range used {
		if err := tx.do("UPDATE tokens SET used_at = ? WHERE id = ?", at, id); err != nil {
			return err
		}
	}
	return nil
}

// Setting returns a stored value, "" if there is none.
func (rx *Rx) Setting(key string) (string, error) {
	var v string
	_, err := optional(rx.row("SELECT value FROM settings WHERE key = ?", key).Scan(&v))
	return v, err
}

// SetSetting stores a value; "" deletes it.
func (tx *Tx) SetSetting(key, value string) error {
	if value == "" {
		return tx.do("DELETE FROM settings WHERE key = ?", key)
	}
	return tx.do("INSERT INTO settings (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2", key, value)
}

// Answer returns the stored answer of an idempotent request and the hash of
// the request that it answers.
func (rx *Rx) Answer(caller, key string, since task.Time) (request []byte, answer string, ok bool, err error) {
	err = rx.row("SELECT request, answer FROM idempotency WHERE caller = ? AND key = ? AND created_at > ?",
		caller, key, since).Scan(&request, &answer)
	ok, err = optional(err)
	return request, answer, ok, err
}

// SaveAnswer stores the answer of an idempotent request.
func (tx *Tx) SaveAnswer(caller, key string, request []byte, answer string) error {
	return tx.do("INSERT INTO idempotency (caller, key, request, answer, created_at) VALUES (?, ?, ?, ?, ?) "+
		"ON CONFLICT (caller, key) DO UPDATE SET request = excluded.request, answer = excluded.answer, created_at = excluded.created_at",
		caller, key, request, answer, tx.Now)
}
