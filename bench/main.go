// Command bench measures the store and the server: each result relative to the
// limit of this machine, or in units of an empty handler, in the same run.
// Absolute results depend on the machine; compare ratios.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

type options struct {
	sizes   []int
	archive int
	open    int
	seconds float64
	rounds  int
	quick   bool
	only    string
	json    string
	bin     string
	dir     string
	url     string
	token   string
	agent   string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	var sizes string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&sizes, "sizes", "1000,100000,1000000", "tasks in the databases of the store rows, separated by commas")
	f.IntVar(&o.archive, "archive", 1_000_000, "archived tasks that are searched")
	f.IntVar(&o.open, "open", 100_000, "open tasks of the HTTP rows")
	f.Float64Var(&o.seconds, "seconds", 1.5, "how long each row works in each round")
	f.IntVar(&o.rounds, "rounds", 3, "rounds; the median counts")
	f.BoolVar(&o.quick, "quick", false, "small databases and one short round: a look, not a measurement")
	f.StringVar(&o.only, "only", "", "parts to measure, of "+strings.Join(partNames(), ", ")+"; separated by commas; "+
		"large takes long, postgres and peers need PostgreSQL, and peers the module proxy, so only when they are named")
	f.StringVar(&o.bin, "bin", "", "server to measure, as make build writes it; built from this tree when empty")
	f.StringVar(&o.json, "json", "", "file for the figures as JSON")
	f.StringVar(&o.dir, "dir", "bench/out", "folder for databases: on a real disk, since a memory file system syncs for nothing")
	f.StringVar(&o.url, "url", "", "measure a running server instead, such as http://127.0.0.1:8080; it is filled with tasks")
	f.StringVar(&o.token, "token", os.Getenv("TASKYARD_TOKEN"), "bearer token for -url with the scopes operate and act-as")
	f.StringVar(&o.agent, "agent", "general-purpose", "agent of that server whose queue is used")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		sizes, o.archive, o.open, o.seconds, o.rounds = "1000,20000", 50_000, 20_000, 0.5, 1
	}
	for part := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < owners {
			return o, fmt.Errorf("-sizes: %q is not a number of at least %d", part, owners)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.seconds <= 0 || o.rounds < 1 || o.archive < 1000 || o.open < 1000 {
		return o, fmt.Errorf("-seconds and -rounds must be positive, -archive and -open at least 1000")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	b := &bench{options: o, sheet: &sheet{}, lap: time.Duration(o.seconds * float64(time.Second)), stderr: stderr, start: time.Now()}
	if o.url != "" {
		err = b.remote()
	} else {
		err = b.local(ctx)
	}
	if err == nil {
		b.progress("done")
		err = tooLarge(b.sheet.pages)
	}
	return errors.Join(o.write(newReport(b.sheet), stdout), err) // the completed parts are still valid
}

func (o options) write(r report, stdout io.Writer) error {
	if err := r.print(stdout); err != nil || o.json == "" {
		return err
	}
	f, err := os.Create(o.json)
	if err != nil {
		return err
	}
	return errors.Join(r.writeJSON(f), f.Close())
}
