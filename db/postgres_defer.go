package db

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// deferred are the statements of a session that were not sent yet. Each round
// trip to PostgreSQL costs a small statement as much as its work does, so those
// whose result nobody reads wait for the next one that is read, or for COMMIT,
// and are sent together with it: a batch of 64 claims takes a round trip for
// each claim and two more, instead of three for each and six more.
//
// An error of a deferred statement is that of the statement which sent it. The
// transaction is aborted then, so the writer rolls the batch back and runs its
// writes one by one: a write gets only its own errors.
type deferred struct {
	batch *pgconn.Batch
	stmts []*pgStmt
	bytes int
}

// Limits of what is deferred, so that a copy or an import is not kept in memory.
const (
	maxDeferred      = 500
	maxDeferredBytes = 256 << 10
)

var errNoResult = errors.New("PostgreSQL ended the connection before it answered a statement")

// deferExec defers the statement, which bind has given its values.
func (p *pgStmt) deferExec() error {
	d := &p.s.deferred
	if d.batch == nil {
		d.batch = &pgconn.Batch{}
	}
	d.batch.ExecStatement(p.d, p.values, p.binary, p.formats) // encodes the values
	d.stmts = append(d.stmts, p)
	for _, v := range p.values {
		d.bytes += len(v)
	}
	if len(d.stmts) >= maxDeferred || d.bytes >= maxDeferredBytes {
		p.s.free()
		return p.s.flush()
	}
	return nil
}

// take returns what is deferred, and forgets it.
func (s *pgSession) take() (*pgconn.Batch, []*pgStmt) {
	batch, stmts := s.deferred.batch, s.deferred.stmts
	s.deferred = deferred{stmts: stmts[:0]}
	return batch, stmts
}

// flush sends what is deferred and waits for it.
func (s *pgSession) flush() error {
	batch, stmts := s.take()
	if batch == nil {
		return nil
	}
	m := s.c.ExecBatch(background, batch)
	if err := skipResults(m, stmts); err != nil {
		return err
	}
	return m.Close()
}

// skipResults reads over the results of deferred statements, to the first error.
func skipResults(m *pgconn.MultiResultReader, stmts []*pgStmt) error {
	for _, p := range stmts {
		if !m.NextResult() {
			return p.explain(cmp.Or(m.Close(), errNoResult))
		}
		if _, err := m.ResultReader().Close(); err != nil {
			_ = m.Close() // the same error
			return p.explain(err)
		}
	}
	return nil
}

// answer is what comes of a statement that was sent, alone or behind deferred ones.
type answer struct {
	*pgconn.ResultReader
	all *pgconn.MultiResultReader // nil when it was sent alone
}

// send sends the statement, which bind has given its values, behind what is
// deferred.
func (p *pgStmt) send(ctx context.Context) (answer, error) {
	p.s.free()
	if p.s.deferred.batch == nil {
		return answer{ResultReader: p.s.c.ExecStatement(ctx, p.d, p.values, p.binary, p.formats)}, nil
	}
	batch, stmts := p.s.take()
	batch.ExecStatement(p.d, p.values, p.binary, p.formats)
	m := p.s.c.ExecBatch(ctx, batch)
	if err := skipResults(m, stmts); err != nil {
		return answer{}, err
	}
	if !m.NextResult() {
		return answer{}, p.explain(cmp.Or(m.Close(), errNoResult))
	}
	return answer{m.ResultReader(), m}, nil
}

// close reads over the rest of the answer.
func (a answer) close() (pgconn.CommandTag, error) {
	tag, err := a.Close()
	if a.all != nil {
		err = cmp.Or(err, a.all.Close())
	}
	return tag, err
}

// flush sends what the connection has deferred.
func (c *conn) flush() error {
	if s, ok := c.c.(*pgSession); ok {
		s.free()
		return s.flush()
	}
	return nil
}

// discard drops what the connection has deferred: its transaction is undone.
func (c *conn) discard() {
	if s, ok := c.c.(*pgSession); ok {
		s.take()
	}
}

// execDeferred is exec for a statement whose result nobody waits for: PostgreSQL gets
// it with the next one.
func (c *conn) execDeferred(q string, args ...any) error {
	s, err := c.stmt(q)
	if err != nil {
		return err
	}
	p, ok := s.s.(*pgStmt)
	if !ok {
		_, err = s.exec(args)
		return err
	}
	v, err := s.bind(args)
	if err != nil {
		return err
	}
	if err := p.bind(v); err != nil {
		return err
	}
	return p.deferExec()
}
