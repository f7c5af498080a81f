package db

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"taskyard/task"
)

const eventCols = "id, at, actor, kind, coalesce(task_id, 0), coalesce(run_id, 0), " +
	"agent, changes, coalesce(token_id, 0), request_id, address"

func scanEvent(r rowScanner) (e task.Event, err error) {
	var changes string
	err = r.Scan(&e.ID, &e.At, &e.Actor, &e.Kind, &e.TaskID, &e.RunID, &e.Agent,
		&changes, &e.TokenID, &e.RequestID, &e.Address)
	if changes != "" {
		e.Changes = json.RawMessage(changes)
	}
	return e, err
}

// insertEvent has the id as its last argument, which SQLite does not need.
var insertEvent = storeSQL{
	"INSERT INTO events (at, actor, kind, task_id, run_id, agent, changes, token_id, request_id, address, hash) " +
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	"INSERT INTO events (at, actor, kind, task_id, run_id, agent, changes, token_id, request_id, address, hash, id) " +
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
}

// AddEvent appends a line to the log, hashed together with the line before.
// Its id and time are set here.
func (tx *Tx) AddEvent(e task.Event) error {
	prev, err := tx.lastHash()
	if err != nil {
		return err
	}
	e.At = tx.Now
	sum := Chain(prev, e)
	args := []any{
		e.At, e.Actor, e.Kind, nullZero(e.TaskID), nullZero(e.RunID), e.Agent, string(e.Changes),
		nullZero(e.TokenID), e.RequestID, e.Address, sum,
	}
	if tx.c.postgres() {
		tx.counters.ids.event++
		args = append(args, tx.counters.ids.event)
	}
	err = tx.do(insertEvent.forStore(&tx.Rx), args...)
	tx.w.tail = sum
	return err
}

func (tx *Tx) lastHash() ([]byte, error) {
	if tx.w.tail != nil {
		return tx.w.tail, nil
	}
	// Another process (a command line) may have written since: ask the file.
	var h []byte
	err := tx.row("SELECT hash FROM events ORDER BY id DESC LIMIT 1").Scan(&h)
	if errors.Is(err, sql.ErrNoRows) {
		return []byte{}, nil
	}
	return h, err
}

// Chain returns the hash of a line of the log that follows one with the hash prev,
// none for the first line.
func Chain(prev []byte, e task.Event) []byte {
	b := append(make([]byte, 0, 512), prev...) // most lines fit
	for _, n := range [...]int64{int64(e.At), int64(e.TaskID), int64(e.RunID)} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, s := range [...]string{e.Actor, e.Kind, e.Agent} {
		b = appendSized(b, s)
	}
	b = appendSized(b, e.Changes)
	// Lines from before these fields existed were hashed without them.
	if e.TokenID != 0 || e.RequestID != "" || e.Address != "" {
		b = binary.BigEndian.AppendUint64(b, uint64(e.TokenID))
		b = appendSized(b, e.RequestID)
		b = appendSized(b, e.Address)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// appendSized appends the length of a text and the text.
func appendSized[T string | json.RawMessage](b []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

// Events returns up to f.Limit lines after f.After, oldest first.
func (rx *Rx) Events(f task.EventFilter) ([]task.Event, error) {
	where, args := "id > ?", []any{f.After}
	if f.TaskID != 0 {
		where, args = where+" AND task_id = ?", append(args, f.TaskID)
	}
	if f.Nouns != nil {
		where, args = where+" AND substr(kind, 1, instr(kind, '.') - 1) IN (SELECT value FROM json_each(?))", append(args, asJSON(f.Nouns))
	}
	return rx.eventsWithin("SELECT "+eventCols+" FROM events WHERE "+where+" ORDER BY id LIMIT ?", append(args, f.Limit)...)
}

// AgentSaved returns the newest save or deletion of an agent's definition, or
// nil.
func (rx *Rx) AgentSaved(agent string) (*task.Event, error) {
	list, err := rx.events("SELECT "+eventCols+" FROM events INDEXED BY events_definition WHERE agent = ? "+
		"AND kind IN ('agent.saved', 'agent.deleted') ORDER BY id DESC LIMIT 1", agent)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

func (rx *Rx) events(q string, args ...any) ([]task.Event, error) {
	return collect(rx.query(q, args...), scanEvent)
}

// eventsWithin returns lines within the budget of the answer.
func (rx *Rx) eventsWithin(q string, args ...any) ([]task.Event, error) {
	list, _, err := within(rx, rx.query(q, args...), scanEvent)
	return list, err
}

// LastEventID returns the id of the newest line, or 0.
func (rx *Rx) LastEventID() (task.ID, error) {
	var id task.ID
	err := rx.row("SELECT coalesce(max(id), 0) FROM events").Scan(&id)
	return id, err
}

// CheckChain walks the whole log and returns its length, or an error that
// names the first line whose hash does not fit.
func (rx *Rx) CheckChain() (int, error) {
	rows := rx.query("SELECT " + eventCols + ", hash FROM events ORDER BY id")
	n, prev := 0, []byte{}
	err := each(rows, func(r rowScanner) error {
		var sum []byte
		e, err := scanEvent(extendedScanner{r, []any{&sum}})
		if err != nil {
			return err
		}
		if !bytes.Equal(Chain(prev, e), sum) {
			return fmt.Errorf("line %d of the log was changed, or a line before it was removed", e.ID)
		}
		n, prev = n+1, sum
		return nil
	})
	return n, err
}

// LastEvents returns the newest lines of a task, oldest first.
func (rx *Rx) LastEvents(id task.ID, limit int) ([]task.Event, error) {
	return rx.events("SELECT * FROM (SELECT "+eventCols+" FROM events WHERE task_id = ? ORDER BY id DESC LIMIT ?) ORDER BY 1", id, limit)
}
