// Command peers measures other job queues for Go: how many jobs per second
// they finish and claim, durably, on this machine. `go run ./bench -only peers`
// measures Taskyard in turn with it; `go run .` in this folder measures them
// alone.
//
// River works jobs that do nothing, inserted before, with its batched completer:
// with 64 workers, as many as Taskyard has callers, and with what its own
// benchmark uses (2,000 workers). A job counts once its completion is committed,
// which its worker does not wait for; p50 and p99 are the time until then. With
// goqite, 64 callers each delete the message that they hold and receive the
// next, in one transaction. Each commit is synced to the disk. Neither has a log,
// rules or relations.
//
// It is a module of its own, so that nothing of it is in Taskyard's.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"
)

type options struct {
	postgres string
	dir      string
	only     string
	lap      time.Duration
	jobs     int
	json     bool
	stderr   io.Writer
}

// row is the result of one peer in one lap. bench reads the JSON names.
type row struct {
	Peer      string  `json:"peer"`
	Version   string  `json:"version"`
	Operation string  `json:"operation"`
	Jobs      int     `json:"jobs"` // completed jobs
	PerSecond float64 `json:"perSecond"`
	P50       float64 `json:"p50"` // milliseconds
	P99       float64 `json:"p99"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{stderr: stderr}
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.postgres, "postgres", "", "address of a database of PostgreSQL, for a superuser; "+
		"River gets a schema of its own in it, which is dropped")
	f.StringVar(&o.dir, "dir", "", "folder for databases of SQLite, on a real disk; they are removed")
	f.StringVar(&o.only, "only", "", "one peer: river-64, river-2000 (River with that many workers) or goqite")
	f.DurationVar(&o.lap, "lap", 3*time.Second, "how long each peer works at most")
	f.IntVar(&o.jobs, "jobs", 60_000, "jobs that are inserted for each peer")
	f.BoolVar(&o.json, "json", false, "print an array of JSON instead of a table")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.postgres == "" && o.dir == "" {
		return fmt.Errorf("name what to measure: -postgres, -dir, or both")
	}
	if o.lap <= 0 || o.jobs < 100 {
		return fmt.Errorf("-lap must be positive, -jobs at least 100")
	}
	rows, err := measure(ctx, o)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(stdout).Encode(rows)
	}
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "peer\tversion\toperation\tjobs\tper second\tp50\tp99")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.0f\t%.2f ms\t%.2f ms\n", r.Peer, r.Version, r.Operation, r.Jobs, r.PerSecond, r.P50, r.P99)
	}
	return t.Flush()
}

// peers are measured in this order.
var peers = []struct {
	name string
	on   func(options) bool
	work func(ctx context.Context, o options, dir string) (row, error)
}{
	{"river-64", onPostgres, riverOnPostgres(callers)},
	{"river-2000", onPostgres, riverOnPostgres(benchWorkers)},
	{"river-64", onSQLite, riverOnSQLite(callers)},
	{"river-2000", onSQLite, riverOnSQLite(benchWorkers)},
	{"goqite", onSQLite, goqiteOnSQLite},
}

func onPostgres(o options) bool { return o.postgres != "" }
func onSQLite(o options) bool   { return o.dir != "" }

func measure(ctx context.Context, o options) ([]row, error) {
	dir := ""
	if o.dir != "" {
		var err error
		if dir, err = os.MkdirTemp(o.dir, "peers-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
	}
	var rows []row
	for _, p := range peers {
		if !p.on(o) || o.only != "" && o.only != p.name {
			continue
		}
		r, err := p.work(ctx, o, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, r)
	}
	if rows == nil {
		return nil, fmt.Errorf("-only: no peer there is called %q", o.only)
	}
	return rows, nil
}

// newRow returns the result for n jobs.
func newRow(peer, module, operation string, n int, elapsed time.Duration, took []time.Duration) row {
	slices.Sort(took)
	at := func(share float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return float64(took[min(int(share*float64(len(took))), len(took)-1)].Microseconds()) / 1000
	}
	return row{peer, version(module), operation, n, float64(n) / max(elapsed.Seconds(), 1e-9), at(0.5), at(0.99)}
}

// version returns the version of a module in this program.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return cmp.Or(m.Version, "unknown")
		}
	}
	return "unknown"
}
