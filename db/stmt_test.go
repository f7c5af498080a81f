package db

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"taskyard/task"
)

func TestValues(t *testing.T) {
	t.Parallel()
	d, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	read := func(fn func(rx *Rx) error) error { return d.Read(t.Context(), fn) }
	t.Run("named types are stored and read", func(t *testing.T) {
		var id task.ID
		var at task.Time
		var status task.Status
		var flag bool
		var cost float64
		var raw, none []byte
		err := read(func(rx *Rx) error {
			return rx.row("SELECT ?, ?, ?, ?, ?, ?, NULL", task.ID(7), task.Time(8), task.Active, true, 1.5, []byte("raw")).
				Scan(&id, &at, &status, &flag, &cost, &raw, &none)
		})
		if err != nil || id != 7 || at != 8 || status != task.Active || !flag || cost != 1.5 || string(raw) != "raw" || none != nil {
			t.Errorf("%v %v %v %v %v %q %q: %v", id, at, status, flag, cost, raw, none, err)
		}
	})
	t.Run("a count of a bounded read ends with its time", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		err := read(func(rx *Rx) error {
			rx.ctx = ctx
			_, err := rx.count("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000000) SELECT count(*) FROM n")
			return err
		})
		if !task.IsCode(err, task.CodeUnavailable) {
			t.Errorf("count returned %v, want that it took too long", err)
		}
	})
	for what, scan := range map[string]func(rx *Rx) error{
		"NULL in a text is an error":              func(rx *Rx) error { return rx.row("SELECT NULL").Scan(new(string)) },
		"a text in a number is an error":          func(rx *Rx) error { return rx.row("SELECT 'x'").Scan(new(int)) },
		"a column without a target is an error":   func(rx *Rx) error { return rx.row("SELECT 1, 2").Scan(new(int)) },
		"an argument of another kind is an error": func(rx *Rx) error { return rx.row("SELECT ?", struct{}{}).Scan(new(int)) },
		"broken SQL is an error":                  func(rx *Rx) error { return rx.row("SELEC").Scan(new(int)) },
		"a failure while stepping is an error":    func(rx *Rx) error { return rx.row("SELECT abs(-9223372036854775807 - 1)").Scan(new(int)) },
		"a write by a reader is an error":         func(rx *Rx) error { return rx.row("DELETE FROM settings RETURNING key").Scan(new(string)) },
		"more targets than columns is an error":   func(rx *Rx) error { return rx.row("SELECT 1").Scan(new(int), new(int)) },
		"a failed statement can be used again":    func(rx *Rx) error { return rx.row("SELECT abs(-9223372036854775807 - 1)").Scan(new(int)) },
	} {
		t.Run(what, func(t *testing.T) {
			if err := read(scan); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("a missing row is ErrNoRows", func(t *testing.T) {
		err := read(func(rx *Rx) error { return rx.row("SELECT 1 WHERE 0").Scan(new(int)) })
		if !errors.Is(err, sql.ErrNoRows) {
			t.Error(err)
		}
	})
}
