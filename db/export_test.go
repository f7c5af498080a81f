package db

import sqlite3 "github.com/mattn/go-sqlite3"

// Exec lets tests try what no method does.
func (tx *Tx) Exec(q string, args ...any) error { return tx.do(q, args...) }

// Count lets tests count rows.
func (rx *Rx) Count(q string, args ...any) (int, error) { return rx.count(q, args...) }

// OnPrepare has fn told every statement that connections prepare, until undo
// is called. No database may be open then.
func OnPrepare(fn func(q string)) (undo func()) {
	onPrepare = fn
	return func() { onPrepare = nil }
}

// AddWordsFit gives connections past this package the function of its lists.
func AddWordsFit(c *sqlite3.SQLiteConn) error { return addWordsFit(c) }

// Unpeeked is a statement as connections prepare it.
func Unpeeked(q string) string { return unpeeked(q) }

// ForPostgres is a statement as PostgreSQL gets it.
func ForPostgres(q string) string { return forPostgres(q) }

// PostgresSettings are those of each connection.
var PostgresSettings = pgSettings
