package db

import sqlite3 "github.com/mattn/go-sqlite3"

// Exec lets tests run any statement.
func (tx *Tx) Exec(q string, args ...any) error { return tx.do(q, args...) }

// Count lets tests count rows.
func (rx *Rx) Count(q string, args ...any) (int, error) { return rx.count(q, args...) }

// OnPrepare calls fn with every statement that connections prepare until undo is
// called. No database may be open when OnPrepare is called.
func OnPrepare(fn func(q string)) (undo func()) {
	onPrepare = fn
	return func() { onPrepare = nil }
}

// AddWordsFit registers the SQL function words_fit on a connection that this package
// did not open.
func AddWordsFit(c *sqlite3.SQLiteConn) error { return addWordsFit(c) }

// Unpeeked returns a statement as connections prepare it.
func Unpeeked(q string) string { return hideLimit(q) }

// ForPostgres returns a statement as it is sent to PostgreSQL.
func ForPostgres(q string) string { return forPostgres(q) }

// PostgresSettings are the settings of each connection.
var PostgresSettings = pgSettings
