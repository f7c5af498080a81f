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

	"taskyard/internal/testkit"
)

func TestDrive(t *testing.T) {
	t.Parallel()
	t.Run("each call gets its own number, and all are counted", func(t *testing.T) {
		var sum atomic.Int64
		l, err := drive(8, time.Minute, func(_ int, n int64) error {
			if n >= 100 {
				return errEmpty
			}
			sum.Add(n)
			return nil
		})
		if err != nil || l.ops != 100 || sum.Load() != 4950 || len(l.took) != 100 {
			t.Errorf("got %d operations, sum %d: %v", l.ops, sum.Load(), err)
		}
	})
	t.Run("a failure ends the lap and is returned", func(t *testing.T) {
		want := errors.New("broken")
		if _, err := drive(2, time.Minute, func(int, int64) error { return want }); !errors.Is(err, want) {
			t.Error(err)
		}
	})
}

func TestFigures(t *testing.T) {
	t.Parallel()
	var s sheet
	for _, v := range []float64{10, 40, 20} {
		s.add("fast", "/s", atLeast(15, 18), v)
		s.add("slow", "ms", atMost(15, 10), v)
		s.add("plain", "/s", none, 12_345.6)
	}
	t.Run("medians are shown and judged", func(t *testing.T) {
		if f := s.figures[0]; f.Value != 20 || f.Verdict != "goal" {
			t.Errorf("%+v", f)
		}
		if f := s.figures[1]; f.Value != 20 || f.Verdict != "MISS" {
			t.Errorf("%+v", f)
		}
		if f := s.figures[2]; f.Verdict != "" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("a figure between must and goal is ok", func(t *testing.T) {
		if v := atMost(15, 10).verdict(12); v != "ok" {
			t.Error(v)
		}
	})
	t.Run("the table and the JSON show them", func(t *testing.T) {
		var table, text strings.Builder
		rep := newReport(&s)
		testkit.NoError(t, errors.Join(rep.print(&table), rep.writeJSON(&text)))
		var back report
		if err := json.Unmarshal([]byte(text.String()), &back); err != nil || back.Figures[1].Must != 15 || back.Figures[1].Verdict != "MISS" {
			t.Errorf("%v: %s", err, text.String())
		}
		if !strings.Contains(table.String(), "12,346 /s") || !strings.Contains(table.String(), "≤ 15") {
			t.Error(table.String())
		}
	})
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 3: "3", 12.34: "12.3", 100: "100", 1000: "1,000", 1234567: "1,234,567"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestHTTPRows(t *testing.T) {
	t.Parallel()
	var made, free atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("POST /api/tasks", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer secret" || !strings.Contains(string(body), `"owner":"coder"`) {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		free.Add(1)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"%d"}`, made.Add(1))
	})
	mux.HandleFunc("GET /api/tasks/1", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{}`, strings.Repeat(" ", 10_000)) // comes in chunks
	})
	mux.HandleFunc("GET /api/agents/coder/queue", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"tasks":[]}`) })
	signup := func(w http.ResponseWriter, _ *http.Request) {
		if free.Add(-1) < 0 {
			free.Add(1)
			fmt.Fprint(w, `{"task":null}`)
			return
		}
		fmt.Fprint(w, `{"task":{"id":"1"}}`)
	}
	mux.HandleFunc("POST /api/agents/coder/signup", signup)
	mux.HandleFunc("POST /api/agents/coder/complete-and-signup", signup)
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, _ *http.Request) {
		if free.Add(-1) < 0 {
			free.Add(1)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"task":null}}}`)
			return
		}
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"task":{"id":"1"}}}}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	measure := func(token string) (*sheet, error) {
		o := options{url: server.URL + "/", token: token, agent: "coder", rounds: 1}
		b := &bench{options: o, sheet: &sheet{}, lap: 30 * time.Millisecond}
		return b.sheet, b.remote()
	}
	t.Run("every row is measured", func(t *testing.T) {
		s, err := measure("secret")
		if err != nil || len(s.figures) != 3*len(httpRows)+3 { // three are compared with another
			t.Fatalf("got %d figures: %v", len(s.figures), err)
		}
		for _, f := range s.figures {
			if f.Unit == "/s" && f.Value <= 0 {
				t.Errorf("%+v", f)
			}
		}
	})
	t.Run("an error response ends the measurement and is shown", func(t *testing.T) {
		if _, err := measure("wrong"); err == nil || !strings.Contains(err.Error(), "POST /api/tasks HTTP/1.1: 403") {
			t.Error(err)
		}
	})
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-sizes", "many"},
		{"-sizes", "3"},
		{"-rounds", "0"},
		{"-seconds", "-1"},
		{"-nope"},
		{"-url", "example.org"},
	} {
		t.Run("refuses "+strings.Join(args, " "), func(t *testing.T) {
			if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
				t.Error("accepted, want an error")
			}
		})
	}
}
