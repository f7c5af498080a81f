package main

/*
// The driver's object file has the sqlite3 symbols; they are resolved only in
// the final link step.
#cgo linux LDFLAGS: -Wl,--unresolved-symbols=ignore-all
#cgo darwin LDFLAGS: -Wl,-undefined,dynamic_lookup
#include <stdlib.h>
#include "limit.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"
)

// limit runs the statements of package db in C, on the same file.
type limit struct {
	l *C.limit
}

// statements contains the SQL of a claim and a create in package db.
type statements struct{ claim, tail, event, insert, hour, count string }

// record runs fn and returns the SQL of every statement on connections to a
// database that fn opened.
func record(path string, fn func() error) ([]string, error) {
	C.record_start(C.CString(path)) // never freed: another thread may be comparing it
	err := fn()
	C.record_stop()
	texts := make([]string, C.record_count())
	for i := range texts {
		texts[i] = C.GoString(C.record_text(C.int(i)))
	}
	return texts, err
}

// choose finds the statements of a claim and a create among recorded ones.
func choose(texts []string) (statements, error) {
	var s statements
	wanted := []struct {
		start string
		to    *string
	}{
		{"UPDATE tasks", &s.claim},
		{"SELECT hash FROM events", &s.tail},
		{"INSERT INTO events", &s.event},
		{"INSERT INTO tasks", &s.insert},
		{"INSERT INTO stats_hours", &s.hour},
		{"INSERT INTO task_counts", &s.count},
	}
	for _, w := range wanted {
		for _, text := range texts {
			if !strings.HasPrefix(text, w.start) {
				continue
			}
			if *w.to != "" {
				return s, fmt.Errorf("package db ran two statements that begin with %q: bench/limit.go cannot tell them apart", w.start)
			}
			*w.to = text
		}
		if *w.to == "" {
			return s, fmt.Errorf("package db ran no statement that begins with %q: bring bench/limit.go in step", w.start)
		}
	}
	return s, nil
}

func openLimit(path string, s statements) (*limit, error) {
	texts := []string{path, s.claim, s.tail, s.event, s.insert, s.hour, s.count}
	c := make([]*C.char, len(texts))
	for i, text := range texts {
		c[i] = C.CString(text)
		defer C.free(unsafe.Pointer(c[i]))
	}
	l := C.limit_open(c[0], C.limit_sql{claim: c[1], tail: c[2], event: c[3], insert: c[4], hour: c[5], count: c[6]})
	if l == nil {
		return nil, errors.New(C.GoString(C.limit_error(nil)))
	}
	return &limit{l}, nil
}

func (l *limit) close() { C.limit_close(l.l) }

// run works for at most d and returns how many operations it did and how long
// they took; fewer than perTx mean that the queues are empty.
func (l *limit) run(w work, perTx int, d time.Duration) (int, time.Duration, error) {
	create := C.int(0)
	if w == creating {
		create = 1
	}
	var elapsed C.double
	n := C.limit_run(l.l, create, C.int(perTx), C.int64_t(1)<<60, C.double(d.Seconds()), &elapsed)
	if n < 0 {
		return 0, 0, errors.New(C.GoString(C.limit_error(l.l)))
	}
	return int(n), time.Duration(float64(elapsed) * float64(time.Second)), nil
}

// rest releases claimed tasks and empties the write-ahead log.
func (l *limit) rest() error {
	if C.limit_rest(l.l) != 0 {
		return errors.New(C.GoString(C.limit_error(l.l)))
	}
	return nil
}
