//go:build !windows

package cmd

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"taskyard/internal/app"
	"taskyard/internal/config"
	"taskyard/internal/worker"
	"taskyard/runner"
	"taskyard/runner/supervise"
)

type workerCmd struct {
	URL      string   `help:"Address of the server (default TASKYARD_URL)." placeholder:"URL"`
	Labels   []string `help:"Labels of this machine; it takes runs whose runner requires no others." placeholder:"LABEL"`
	Exec     string   `help:"The agent: a program and its arguments, separated by spaces. It executes the runs of every runner." placeholder:"PROGRAM"`
	Config   string   `help:"Configuration file, instead of --exec: its [runners.*] execute the runs of the server's runners with the same names." placeholder:"FILE"`
	Dir      string   `help:"Folder for the private folders of the runs." default:"taskyard-worker" placeholder:"DIR"`
	Name     string   `help:"Name of this machine on the server (default: the host name)." placeholder:"NAME"`
	Parallel int      `help:"Maximum number of runs at the same time." default:"1"`

	Keep time.Duration `help:"How long to keep the folders of runs, such as 720h; at least 1h." default:"2160h" placeholder:"TIME"`
}

// Run leases runs of a server and executes them until it is told to stop. The
// token, which has the scope worker, is never an argument.
func (c *workerCmd) Run(e *Env) error {
	o, err := c.options(e)
	if err != nil {
		return err
	}
	w, err := worker.New(o)
	if err != nil {
		return err
	}
	if err := hide(); err != nil {
		o.Log.Warn("memory and environment are open to programs of the same account", "error", err)
	}
	ctx, cancel := context.WithCancel(e.Ctx)
	defer cancel()
	ignoreHangup(ctx, func() { o.Log.Info("ignoring SIGHUP") })
	return w.Run(e.Ctx)
}

func (c *workerCmd) options(e *Env) (worker.Options, error) {
	var none worker.Options
	address := cmp.Or(c.URL, e.Getenv("TASKYARD_URL"))
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return none, &usageError{"give --url, the address of the server, such as http://taskyard.example.org:8080"}
	}
	if e.Getenv("TASKYARD_TOKEN") == "" && e.Getenv("TASKYARD_TOKEN_FILE") == "" {
		return none, &usageError{"set TASKYARD_TOKEN, or TASKYARD_TOKEN_FILE, to a token of the scope worker; Settings, Tokens makes one"}
	}
	token, err := clientEnv(e).Token()
	if err != nil {
		return none, err
	}
	if c.Parallel < 1 || c.Parallel > 64 {
		return none, &usageError{"--parallel must be 1 to 64"}
	}
	if c.Keep < time.Hour {
		return none, &usageError{"--keep must be 1h or more"}
	}
	o := worker.Options{
		URL: address, Token: token, Name: c.Name, Labels: c.Labels, Dir: c.Dir, Slots: c.Parallel, Keep: c.Keep,
		Log: newLogger(e, config.Log{Level: "info"}),
	}
	o.Runner, o.Runners, err = c.runners(e)
	return o, err
}

// runners returns a function that finds a runner by name, and the names of this
// worker's runners: none for all.
func (c *workerCmd) runners(e *Env) (find func(name string) supervise.Runner, names []string, err error) {
	argv := strings.Fields(c.Exec)
	switch {
	case (len(argv) == 0) == (c.Config == ""):
		return nil, nil, &usageError{"give either --exec or --config: what executes the runs"}
	case len(argv) > 0:
		kind, _ := runner.FindKind("command")
		one := kind.New(runner.Settings{Argv: argv})
		if p := one.Probe(e.Ctx); !p.Installed {
			return nil, nil, &usageError{p.Problem}
		}
		return func(string) supervise.Runner { return one }, []string{}, nil
	}
	cfg, _, err := config.Load(config.LoadOptions{File: c.Config, Environ: nil, Flags: map[string]string{}})
	if err != nil {
		return nil, nil, &usageError{"configuration: " + err.Error()}
	}
	known := app.Runners(cfg)
	if names = slices.Collect(maps.Keys(known)); len(names) == 0 {
		return nil, nil, &usageError{c.Config + " has no [runners.*] that this worker could use"}
	}
	return func(name string) supervise.Runner { return known[name] }, names, nil
}
