package db

import "errors"

// Nested runs fn so that an error of it undoes what fn wrote, and nothing
// else of the transaction. It returns fn's error. Nested calls do not nest.
func (tx *Tx) Nested(fn func() error) error {
	tail := tx.w.tail
	if err := tx.flushCounts(); err != nil {
		return err
	}
	ids := tx.counters.ids // which are stored now
	if err := tx.c.execDeferred("SAVEPOINT nested"); err != nil {
		return err
	}
	err := fn()
	if e := tx.c.flush(); err == nil { // what fn deferred is its own, whatever it returned
		err = e
	}
	if err != nil {
		tx.w.tail, tx.counters.ids, tx.counters.stored = tail, ids, ids
		tx.counters.forget() // what is gathered is of fn
		tx.c.checked.forget()
		if e := tx.c.exec("ROLLBACK TO nested"); e != nil {
			tx.wrote = true // the whole write has to go
			return errors.Join(err, e)
		}
	}
	if e := tx.c.execDeferred("RELEASE nested"); e != nil {
		return errors.Join(err, e)
	}
	return err
}
