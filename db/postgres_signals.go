package db

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"taskyard/task"
)

const (
	signalsChannel = "taskyard"
	maxSignals     = 7900 // bytes; PostgreSQL takes fewer than 8,000
	signalsPoll    = time.Second
	// signalsGrace is how long after its commit a notification may come. A poll can see
	// what was committed before the notification of it is there.
	signalsGrace = 100 * time.Millisecond
)

// signalsMessage is what a server tells the others after a batch of writes.
type signalsMessage struct {
	From    string       `json:"from"`
	Signals task.Signals `json:"news"`
}

// Announce notifies the other servers on the database of what this write
// changes, once it is committed. With SQLite there are no other servers.
func (tx *Tx) Announce(signals *task.Signals) {
	if tx.c.postgres() {
		tx.signals.Add(signals)
	}
}

// payload returns the notification of a batch, "" for none.
func (pg *pgStore) payload(signals task.Signals) string {
	if signals.Empty() {
		return ""
	}
	b, err := json.Marshal(signalsMessage{pg.name, signals})
	if err != nil || len(b) > maxSignals {
		b, _ = json.Marshal(signalsMessage{pg.name, task.Signals{All: true}})
	}
	return string(b)
}

// Listen calls onSignals with what other servers announce, in the order of the
// commits; with All when it cannot know, as after the connection was lost. It
// returns when ctx ends.
func (d *DB) Listen(ctx context.Context, onSignals func(*task.Signals)) {
	pg := d.pg
	if pg == nil {
		return
	}
	l := &listener{pg: pg, onSignals: onSignals}
	for again := 0; ctx.Err() == nil; again++ {
		err := l.listen(ctx, func() { again = 0 })
		if ctx.Err() != nil {
			return
		}
		d.log.Warn("changes of other servers come late: the connection that tells them was lost", "error", err)
		pg.pause(d.stop, min(again, pgRetries))
	}
}

// listener is the connection that receives the notifications of other servers.
type listener struct {
	pg        *pgStore
	onSignals func(*task.Signals)
	last      int64 // when others wrote last, as far as a poll saw
	received  bool  // a notification, since the last poll
}

// listen listens until the connection is lost; began is called once it does.
func (l *listener) listen(ctx context.Context, began func()) error {
	c, err := pgConnect(ctx, l.pg.url, true, l.pg.primaries, l.receive)
	if err != nil {
		return err
	}
	defer c.Close()
	rx := &Rx{c: c}
	session := c.c.(*pgSession).c
	if err := session.Exec(ctx, "LISTEN "+signalsChannel).Close(); err != nil {
		return err
	}
	began()
	l.missed() // whatever was committed before
	for {
		if l.pg.primaries.isFormer(c) {
			return errFormerPrimary
		}
		unheard, err := l.poll(rx)
		if err == nil && unheard {
			if err = receiveUntilTimeout(ctx, session, signalsGrace); err == nil && !l.received {
				l.missed()
			}
		}
		if err == nil {
			err = receiveUntilTimeout(ctx, session, signalsPoll)
		}
		if err != nil {
			return err
		}
	}
}

// receiveUntilTimeout receives notifications until limit has passed.
func receiveUntilTimeout(ctx context.Context, session *pgconn.PgConn, limit time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if err := session.WaitForNotification(wait); err != nil {
			if ctx.Err() == nil && pgconn.Timeout(err) {
				return nil
			}
			return err
		}
	}
}

// poll reports whether others have written without a notification that came, as
// behind a proxy which passes none on.
func (l *listener) poll(rx *Rx) (unheard bool, err error) {
	heard := l.received
	l.received = false
	var last int64
	if err := rx.row("SELECT coalesce(max(at), 0) FROM commits WHERE writer <> ?", l.pg.name).Scan(&last); err != nil {
		return false, err
	}
	unheard = last != l.last && !heard
	l.last = last
	return unheard, nil
}

func (l *listener) receive(payload string) {
	l.received = true
	if payload == "" {
		return
	}
	var b signalsMessage
	if json.Unmarshal([]byte(payload), &b) != nil {
		b.Signals.All = true
	}
	if b.From != l.pg.name {
		l.onSignals(&b.Signals)
	}
}

func (l *listener) missed() { l.onSignals(&task.Signals{All: true}) }
