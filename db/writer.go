package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/task"
)

// maxBatch is how many writes share one commit at most.
const maxBatch = 64

// maxYields bounds how often the writer lets others run before it begins.
const maxYields = 8

// Tx writes, and reads what it wrote. It lives as long as one call of the
// function that Write was given, which may be called again: a Tx method's
// effects on the caller's variables must be set, not added up.
type Tx struct {
	Rx
	wrote   bool
	after   []func()
	signals task.Signals
	w       *writer
}

// After calls fn once this write is committed, before Write returns,
// from the caller's goroutine.
func (tx *Tx) After(fn func()) { tx.after = append(tx.after, fn) }

func (tx *Tx) exec(q string, args ...any) (driver.Result, error) {
	s, err := tx.c.stmt(q)
	if err != nil {
		return nil, err
	}
	tx.wrote = true
	return s.exec(args)
}

// do is exec for statements whose result does not matter. With PostgreSQL an
// error of the statement may be returned by a later one.
func (tx *Tx) do(q string, args ...any) error {
	tx.wrote = true
	return tx.c.execDeferred(q, args...)
}

// changed is exec that returns how many rows it changed.
func (tx *Tx) changed(q string, args ...any) (int64, error) {
	res, err := tx.exec(q, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// changedOne is exec that reports whether it changed a row; the statement names
// at most one.
func (tx *Tx) changedOne(q string, args ...any) (bool, error) {
	n, err := tx.changed(q, args...)
	return n == 1, err
}

// insert is exec that returns the new row's id.
func (tx *Tx) insert(q string, args ...any) (id task.ID, err error) {
	if tx.c.postgres() {
		tx.wrote = true
		return id, tx.row(q+" RETURNING id", args...).Scan(&id)
	}
	res, err := tx.exec(q, args...)
	if err != nil {
		return 0, err
	}
	n, err := res.LastInsertId()
	return task.ID(n), err
}

type request struct {
	fn     func(*Tx) error
	leader string // the server that has to lead, "" for none
	tx     *Tx
	done   chan error
	state  atomic.Int32 // 0 queued, 1 taken by the writer, 2 given up by the caller
}

// take reports whether the request is now the writer's: its caller has not given
// it up.
func (r *request) take() bool { return r.state.CompareAndSwap(0, 1) }

func (r *request) run(tx *Tx) error {
	if err := tx.mayLead(r.leader); err != nil {
		return err
	}
	return r.fn(tx)
}

type writer struct {
	db    *DB
	c     *conn
	queue chan *request
	quit  chan struct{}
	ended chan struct{}
	once  sync.Once

	counters *counters

	tail    []byte       // hash of the log's last line within the open transaction
	signals task.Signals // of the open transaction, for other servers
	callers int          // callers that the last batch had, with those queued behind it

	busy sync.Mutex // held while a batch runs

	Batches, Writes atomic.Int64
	commitNanos     atomic.Int64
	commits         [len(commitBounds) + 1]atomic.Int64
}

func newWriter(d *DB, c *conn) *writer {
	w := &writer{
		db: d, c: c, counters: newCounters(c),
		queue: make(chan *request, 4*maxBatch), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	c.keepChecked()
	go w.loop()
	return w
}

// Write hands fn to the one writer, which runs it with others in one
// transaction, and returns when that is committed and synced. An error of fn
// undoes fn alone. fn may be called more than once; it does SQL through tx and
// nothing else: no waiting, no other I/O, no Write or Read. A context that
// ends while fn is queued cancels it; afterwards it has no effect.
func (d *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	if err := d.refusal(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // else it were left to chance which case below is taken
	}
	r := &request{fn: fn, done: make(chan error, 1)}
	r.leader, _ = ctx.Value(asLeader{}).(string)
	select {
	case d.writer.queue <- r:
	case <-d.writer.quit:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return d.finish(r, err)
	case <-ctx.Done():
		if r.state.CompareAndSwap(0, 2) {
			return ctx.Err()
		}
	case <-d.writer.ended:
		select {
		case err := <-r.done:
			return d.finish(r, err)
		default:
			return errClosed
		}
	}
	return d.finish(r, <-r.done)
}

func (d *DB) finish(r *request, err error) error {
	if err != nil {
		return d.explain(err)
	}
	for _, fn := range r.tx.after {
		fn()
	}
	return nil
}

func (w *writer) shut() {
	w.once.Do(func() { close(w.quit) })
	<-w.ended
}

func (w *writer) loop() {
	defer close(w.ended)
	for {
		select {
		case r := <-w.queue:
			w.run(w.gather(r))
		case <-w.quit:
			for {
				select {
				case r := <-w.queue:
					w.run(w.gather(r))
				default:
					return
				}
			}
		}
	}
}

// gather takes what is queued now. It yields to callers that were just
// answered, and never waits for company.
func (w *writer) gather(first *request) []*request {
	batch := make([]*request, 0, maxBatch)
	if first.take() {
		batch = append(batch, first)
	}
	batch = w.join(batch)
	// Callers that the last commit has just answered are runnable: let them
	// ask again now, or they would split into two halves that take turns.
	for yields := 0; len(batch) < min(w.callers, maxBatch) && yields < maxYields; yields++ {
		runtime.Gosched()
		batch = w.join(batch)
	}
	return batch
}

// join adds what is queued now to a batch.
func (w *writer) join(batch []*request) []*request {
	for len(batch) < maxBatch {
		select {
		case r := <-w.queue:
			if r.take() {
				batch = append(batch, r)
			}
		default:
			return batch
		}
	}
	return batch
}

// run commits a batch. When it breaks as a whole, each write is run alone, so
// that one failure undoes only itself.
func (w *writer) run(batch []*request) {
	if len(batch) == 0 {
		return
	}
	w.busy.Lock()
	defer w.busy.Unlock()
	batch, errs, broken := w.try(batch, true)
	for again := 0; w.db.pg.lost(broken) && again < pgRetries; again++ {
		w.db.pg.pause(w.db.stop, again)
		batch, errs, broken = w.try(batch, true)
	}
	if broken != nil {
		_ = w.db.explain(broken) // notes what concerns the whole store
	}
	if broken != nil && len(batch) > 1 && w.db.refusal() == nil {
		for _, r := range batch {
			_, one, b := w.try([]*request{r}, false)
			if b != nil {
				one[0] = b
			}
			r.done <- one[0]
		}
		return
	}
	for i, r := range batch {
		if broken != nil {
			errs[i] = broken
		}
		r.done <- errs[i]
	}
	w.callers = len(batch) + len(w.queue)
}

// idle waits until no batch runs. Whoever noted a fault before calls it to know
// that no further one begins.
func (w *writer) idle() {
	w.busy.Lock()
	defer w.busy.Unlock()
}

// undoError breaks a batch: a closure failed after it had written.
type undoError struct{ cause error }

func (e undoError) Error() string { return e.cause.Error() }
func (e undoError) Unwrap() error { return e.cause }

// try runs the batch in one transaction, with what was queued while another
// server was writing, if more may join it. errs are the closures' own errors; a
// non-nil broken means that nothing was committed.
func (w *writer) try(batch []*request, more bool) (all []*request, errs []error, broken error) {
	w.db.CheckFile()
	if err := w.db.refusal(); err != nil {
		return batch, make([]error, len(batch)), err
	}
	w.tail = nil
	now, err := w.begin()
	if err != nil {
		return batch, make([]error, len(batch)), err
	}
	if more && w.db.pg != nil {
		batch = w.join(batch)
	}
	errs, broken = w.transact(batch, now)
	return batch, errs, broken
}

// transact runs the batch in the transaction that has begun, and commits it.
func (w *writer) transact(batch []*request, now task.Time) (errs []error, broken error) {
	errs = make([]error, len(batch))
	w.signals = task.Signals{}
	w.counters.forget()
	w.c.checked.forget()
	wrote := false
	for i, r := range batch {
		r.tx = &Tx{Rx: Rx{c: w.c, Now: now, counters: w.counters}, w: w}
		errs[i] = call(r.run, r.tx)
		if errs[i] != nil && (r.tx.wrote || w.c.aborted()) {
			w.rollback()
			return errs, undoError{errs[i]}
		}
		if wrote = wrote || r.tx.wrote; errs[i] == nil {
			w.signals.Add(&r.tx.signals)
		}
	}
	if err := w.counters.write(); err != nil {
		w.rollback()
		return errs, fmt.Errorf("count tasks: %w", err)
	}
	start := time.Now()
	if err := w.commit(wrote); err != nil {
		w.rollback()
		if commitUncertain(err) {
			_ = w.db.explain(err) // from here on nothing is acknowledged
			return errs, errUnknown("the disk failed while it was written (" + err.Error() + ")")
		}
		return errs, fmt.Errorf("commit: %w", err)
	}
	if wrote {
		w.db.clearFault(causeDisk)
		if w.db.CheckFile(); w.db.faultAtLeast(causeFiles) != nil {
			return errs, errUnknown("a file of the database was deleted or replaced meanwhile")
		}
		took := time.Since(start)
		w.commitNanos.Add(int64(took))
		i := 0
		for i < len(commitBounds) && took > commitBounds[i] {
			i++
		}
		w.commits[i].Add(1)
		w.Batches.Add(1)
		w.Writes.Add(int64(len(batch)))
	}
	return errs, nil
}

// begin begins a transaction and returns its time.
func (w *writer) begin() (task.Time, error) {
	if w.db.pg != nil {
		return w.db.pg.begin(w)
	}
	err := w.c.exec("BEGIN IMMEDIATE")
	return w.db.Now(), err
}

func (w *writer) commit(wrote bool) error {
	if w.db.pg != nil {
		return w.db.pg.commit(w, wrote)
	}
	return w.c.exec("COMMIT")
}

func (w *writer) rollback() {
	w.c.discard()
	// After some failures SQLite has rolled back by itself.
	if err := w.c.exec("ROLLBACK"); err != nil {
		w.db.log.Debug("rollback", "error", err)
	}
}

// call runs fn and turns a panic into an error, so that one bad closure does
// not end the writer.
func call(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			tx.wrote = true
			err = fmt.Errorf("panic in a write: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(tx)
}

// commitBounds are the upper bounds of the times by which commits are counted.
var commitBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second,
}

// Metrics is what the writer did since the start.
type Metrics struct {
	Batches, Writes int64
	CommitTime      time.Duration // summed
	Queued          int           // waiting now
	WALBytes        int64

	commits [len(commitBounds) + 1]int64 // by time, the last beyond all bounds
}

// CommitBuckets returns how many commits took at most each of the bucket's
// seconds, and how many there were.
func (m *Metrics) CommitBuckets() (upTo map[float64]uint64, all uint64) {
	upTo = make(map[float64]uint64, len(commitBounds))
	for i, bound := range commitBounds {
		all += uint64(m.commits[i])
		upTo[bound.Seconds()] = all
	}
	return upTo, all + uint64(m.commits[len(commitBounds)])
}

// Metrics reads the writer's counters.
func (d *DB) Metrics() Metrics {
	w := d.writer
	m := Metrics{
		Batches: w.Batches.Load(), Writes: w.Writes.Load(), CommitTime: time.Duration(w.commitNanos.Load()),
		Queued: len(w.queue), WALBytes: fileSize(d.path + "-wal"),
	}
	for i := range w.commits {
		m.commits[i] = w.commits[i].Load()
	}
	return m
}

var errClosed = task.Errorf(task.Unavailable, task.CodeUnavailable, "The server is stopping; try again in a moment")
