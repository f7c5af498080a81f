// Command bench measures the store and, given a server, its HTTP interface,
// each figure beside the limit that plain C reaches with the same statements
// on the same file. Absolute figures differ from machine to machine; compare
// ratios.
package main

import (
	"context"
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
	seconds float64
	rounds  int
	json    string
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
	f.StringVar(&sizes, "sizes", "1000,100000", "tasks in the databases, parted by commas")
	f.Float64Var(&o.seconds, "seconds", 3, "how long each row works in each round")
	f.IntVar(&o.rounds, "rounds", 3, "rounds; the median counts")
	f.StringVar(&o.json, "json", "", "file for the figures as JSON")
	f.StringVar(&o.dir, "dir", "bench/out", "folder for databases: on a real disk, since a memory file system syncs for nothing")
	f.StringVar(&o.url, "url", "", "a running server to measure over HTTP, such as http://127.0.0.1:8080; it is filled with tasks")
	f.StringVar(&o.token, "token", os.Getenv("TASKYARD_TOKEN"), "bearer token for -url with the scopes operate and act-as")
	f.StringVar(&o.agent, "agent", "general-purpose", "agent of that server whose queue is used")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for part := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < owners {
			return o, fmt.Errorf("-sizes: %q is not a number of at least %d", part, owners)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.seconds <= 0 || o.rounds < 1 {
		return o, fmt.Errorf("-seconds and -rounds must be positive")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	d := time.Duration(o.seconds * float64(time.Second))
	var rows []*row
	for _, size := range o.sizes {
		fmt.Fprintf(stderr, "store of %d tasks\n", size)
		more, err := measureStore(ctx, o, size, d)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	if o.url != "" {
		fmt.Fprintf(stderr, "server at %s\n", o.url)
		more, err := newClient(o).measure(ctx, o.rounds, d)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	return o.write(newReport(rows), stdout)
}

func measureStore(ctx context.Context, o options, size int, d time.Duration) ([]*row, error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(o.dir, "store-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	s, err := openStore(ctx, folder, size)
	if err != nil {
		return nil, err
	}
	rows, err := s.measure(ctx, o.rounds, d)
	if e := s.close(); err == nil {
		err = e
	}
	return rows, err
}

func (o options) write(r report, stdout io.Writer) error {
	if err := r.print(stdout); err != nil || o.json == "" {
		return err
	}
	f, err := os.Create(o.json)
	if err != nil {
		return err
	}
	err = r.writeJSON(f)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
