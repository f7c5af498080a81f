package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestDrive(t *testing.T) {
	t.Parallel()
	t.Run("each call has its own number and all are counted", func(t *testing.T) {
		var sum atomic.Int64
		l, err := drive(8, time.Minute, func(n int64) error {
			if n >= 100 {
				return errEmpty
			}
			sum.Add(n)
			return nil
		})
		if err != nil || l.ops != 100 || sum.Load() != 4950 || len(l.took) != 100 {
			t.Errorf("%d operations, sum %d: %v", l.ops, sum.Load(), err)
		}
	})
	t.Run("a failure ends it and is told", func(t *testing.T) {
		want := errors.New("broken")
		if _, err := drive(2, time.Minute, func(int64) error { return want }); !errors.Is(err, want) {
			t.Error(err)
		}
	})
}

func TestRow(t *testing.T) {
	t.Parallel()
	r := &row{Name: "x", Size: 10, Callers: 1}
	for _, ops := range []int{10, 40, 20} {
		r.round(lap{ops: ops, elapsed: time.Second, took: []time.Duration{time.Millisecond, 2 * time.Millisecond}}, 100)
	}
	r.finish()
	t.Run("medians count", func(t *testing.T) {
		if r.Rate != 20 || r.Limit != 100 || r.Ratio != 0.2 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("percentiles are over all rounds", func(t *testing.T) {
		if r.P50 != 2 || r.P99 != 2 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the table and the JSON show them", func(t *testing.T) {
		var table, text strings.Builder
		rep := newReport([]*row{r})
		if err := errors.Join(rep.print(&table), rep.writeJSON(&text)); err != nil {
			t.Fatal(err)
		}
		var back report
		if err := json.Unmarshal([]byte(text.String()), &back); err != nil || back.Rows[0].Ratio != 0.2 {
			t.Errorf("%v: %s", err, text.String())
		}
		if !strings.Contains(table.String(), "20 %") {
			t.Error(table.String())
		}
	})
}

func TestHTTPRows(t *testing.T) {
	t.Parallel()
	var made, claimed atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/tasks", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer secret" || !strings.Contains(string(body), `"owner":"coder"`) {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"%d"}`, made.Add(1))
	})
	mux.HandleFunc("GET /api/tasks/{id}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
	mux.HandleFunc("POST /api/agents/coder/signup", func(w http.ResponseWriter, _ *http.Request) {
		if claimed.Add(1) > made.Load() {
			fmt.Fprint(w, `{"task":null}`)
			return
		}
		fmt.Fprint(w, `{"task":{"id":"1"}}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	t.Run("every row is measured", func(t *testing.T) {
		rows, err := newClient(options{url: server.URL + "/", token: "secret", agent: "coder"}).measure(t.Context(), 1, 30*time.Millisecond)
		if err != nil || len(rows) != len(httpRows) {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		if rows[0].Rate <= 0 || rows[1].Rate <= 0 || rows[2].Rate <= 0 {
			t.Errorf("%+v %+v %+v", rows[0], rows[1], rows[2])
		}
	})
	t.Run("an answer that is no success ends it and is shown", func(t *testing.T) {
		_, err := newClient(options{url: server.URL, token: "wrong", agent: "coder"}).measure(t.Context(), 1, time.Second)
		if err == nil || !strings.Contains(err.Error(), "POST /api/tasks: 403") {
			t.Error(err)
		}
	})
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-sizes", "many"}, {"-sizes", "3"}, {"-rounds", "0"}, {"-seconds", "-1"}, {"-nope"}} {
		t.Run("refused: "+strings.Join(args, " "), func(t *testing.T) {
			if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
				t.Error("no error")
			}
		})
	}
}
