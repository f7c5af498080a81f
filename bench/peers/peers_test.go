package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// measured runs the program with few jobs and a lap that is long enough for all
// of them, and returns its rows.
func measured(t *testing.T, args ...string) []row {
	t.Helper()
	var out, errs bytes.Buffer
	if err := run(t.Context(), append(args, "-json", "-jobs", "300", "-lap", "1m"), &out, &errs); err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	var rows []row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	for _, r := range rows {
		if r.PerSecond <= 0 || r.P50 <= 0 || r.P99 < r.P50 || !strings.HasPrefix(r.Version, "v") {
			t.Errorf("%+v", r)
		}
	}
	return rows
}

func TestPeersOnSQLiteFinishEveryJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := map[string]int{"River on SQLite, 64 workers": 100, "River on SQLite, 2000 workers": 100, "goqite on SQLite, 64 callers": 300}
	rows := measured(t, "-dir", dir)
	for _, r := range rows {
		if r.Jobs != want[r.Peer+" on "+r.Operation] {
			t.Errorf("got %+v, want the jobs of %v", r, want)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("got %d rows", len(rows))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRiverOnPostgresFinishesEveryJob needs the address of a database.
func TestRiverOnPostgresFinishesEveryJob(t *testing.T) {
	t.Parallel()
	url := os.Getenv("TASKYARD_TEST_POSTGRES")
	if url == "" || url == "start" {
		t.Skip("TASKYARD_TEST_POSTGRES is not an address")
	}
	rows := measured(t, "-postgres", url)
	for _, r := range rows {
		if r.Jobs != 300 {
			t.Errorf("%+v", r)
		}
	}
	if len(rows) != 2 {
		t.Errorf("got %d rows", len(rows))
	}
}

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{},
		{"-dir", dir, "-lap", "0s"},
		{"-dir", dir, "-jobs", "1"},
		{"-dir", dir, "-only", "x"},
		{"-dir", dir + "/none"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out, &out); err == nil {
			t.Errorf("%v: accepted, want an error", args)
		}
	}
}
