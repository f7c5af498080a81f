//go:build !windows

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"taskyard/db"
	"taskyard/internal/app"
	"taskyard/internal/config"
	"taskyard/internal/exchange"
	"taskyard/service"
	"taskyard/task"
)

type importCmd struct {
	settings
	From    string            `help:"taskyard, beads, taskmaster or backlog." enum:"taskyard,beads,taskmaster,backlog" default:"taskyard"`
	History string            `help:"A history.jsonl in addition to tasks.json; found automatically in a folder." placeholder:"FILE"`
	Owner   string            `help:"Agent that gets the tasks whose owner is unknown here." placeholder:"AGENT" complete:"agent"`
	Map     map[string]string `help:"Another name for an owner or author, such as --map old=coder; may be repeated." placeholder:"OLD=AGENT"`
	DryRun  bool              `help:"Show what would be imported, and write nothing."`
	Path    string            `arg:"" help:"File, or folder: of an export, or of the other program's project."`
}

// importBeside is the largest import while a server is running: a larger one
// would block its writes for too long.
const importBeside = 10_000

// Run imports tasks, all or nothing.
func (c *importCmd) Run(e *Env) error {
	if c.History != "" && c.From != exchange.FromTaskyard {
		return &usageError{"--history belongs to --from taskyard"}
	}
	plan, err := c.read()
	if err != nil {
		return err
	}
	if !c.DryRun {
		if err := c.rehearse(e); err != nil {
			return err
		}
	}
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if len(plan.Items) > importBeside && !c.DryRun && cfg.Database == "" {
		if err := app.MakeData(cfg.Data); err != nil {
			return err
		}
		if err := db.FinishRestoreIfPending(app.DBPath(cfg.Data), newLogger(e, config.Log{Level: "error"})); err != nil {
			return err
		}
		lock, err := db.AcquireLock(app.DBPath(cfg.Data))
		if err != nil {
			return fmt.Errorf("more than %d tasks are imported into a stopped instance: %w", importBeside, err)
		}
		defer func() { _ = lock.Release() }()
	}
	into := func(in *app.Instance) error { return c.into(e.Ctx, e.Stdout, in, plan) }
	if c.DryRun {
		return c.withNewInstance(e, into)
	}
	return c.withInstance(e, into)
}

// rehearse validates an import into a data folder without a database, before
// one is created there.
func (c *importCmd) rehearse(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if app.HasDatabase(cfg) {
		return nil
	}
	plan, err := c.read() // preparing a plan for import changes it
	if err != nil {
		return err
	}
	return c.withNewInstance(e, func(in *app.Instance) error {
		_, err := in.Service.PrepareImport(admin, plan, c.options())
		if err != nil {
			printReport(e.Stdout, plan)
		}
		return err
	})
}

func (c *importCmd) options() service.ImportOptions {
	return service.ImportOptions{Owner: c.Owner, Map: c.Map}
}

// withNewInstance is like withInstance, but does not change a data folder
// without a database: fn receives an empty instance elsewhere, with the agents
// of that folder.
func (c *importCmd) withNewInstance(e *Env, fn func(*app.Instance) error) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if app.HasDatabase(cfg) {
		return openInstance(e, cfg, fn)
	}
	dir, err := os.MkdirTemp("", "taskyard-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // it contains no tasks
	agents := filepath.Join(cfg.Data, "agents")
	if err := os.CopyFS(filepath.Join(dir, "agents"), os.DirFS(agents)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	cfg.Data = dir
	in, err := app.Open(e.Ctx, cfg, e.appOptions(newLogger(e, config.Log{Level: "error"})))
	if err != nil {
		return err
	}
	return errors.Join(fn(in), in.Close())
}

func (c *importCmd) read() (*exchange.Plan, error) {
	folder, name, err := splitPath(c.Path)
	if err != nil {
		return nil, err
	}
	var history func() (fs.FS, string)
	if c.History != "" {
		sys, file, err := splitPath(c.History)
		if err != nil {
			return nil, err
		}
		history = func() (fs.FS, string) { return sys, file }
	}
	return exchange.Read(c.From, folder, name, history)
}

// splitPath returns a folder and the name of a file in it, "." for the folder
// itself.
func splitPath(path string) (fs.FS, string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if fi.IsDir() {
		return os.DirFS(path), ".", nil
	}
	return os.DirFS(filepath.Dir(path)), filepath.Base(path), nil
}

func (c *importCmd) into(ctx context.Context, out io.Writer, in *app.Instance, plan *exchange.Plan) error {
	ready, err := in.Service.PrepareImport(admin, plan, c.options())
	printReport(out, plan)
	if err != nil {
		return err
	}
	if c.DryRun {
		fmt.Fprintln(out, "Dry run: nothing was written.")
		return nil
	}
	got, err := in.Service.Import(ctx, admin, ready)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Imported. Tasks: %d, comments: %d, items of todo lists: %d. No agent was started; the next tick takes active tasks.\n",
		len(got.IDs), got.Comments, got.Items)
	if got.Projects > 0 {
		fmt.Fprintf(out, "Projects: %d. Their repositories were not examined.\n", got.Projects)
	}
	printIDs(out, got)
	return nil
}

func printIDs(out io.Writer, got service.Imported) {
	if got.KeptIDs {
		fmt.Fprintln(out, "Every task kept its ID.")
		return
	}
	if len(got.IDs) == 0 {
		return
	}
	fmt.Fprintln(out, "\nold id → new id")
	for _, id := range got.IDs {
		fmt.Fprintf(out, "%s → %d\n", sanitize(strings.TrimPrefix(id.Ref, "#")), id.ID)
	}
}

// printReport prints how values are mapped, what is left out, and every
// problem.
func printReport(out io.Writer, p *exchange.Plan) {
	fmt.Fprintf(out, "Tasks from %s: %d, of which %d draft, %d active, %d done, %d canceled.\n", p.From, len(p.Items),
		p.ByStatus(task.Draft), p.ByStatus(task.Active), p.ByStatus(task.Done), p.ByStatus(task.Canceled))
	printCounts(out, "What becomes what", p.Report.Maps)
	printCounts(out, "Left out", p.Report.Omitted)
	printCounts(out, "Notes", p.Report.Notes)
	fmt.Fprintln(out)
	if len(p.Report.Problems) == 0 {
		return
	}
	fmt.Fprintln(out, "Problems:")
	for _, f := range p.Report.Problems {
		fmt.Fprintf(out, "  %s: %s\n", sanitize(f.Field), sanitize(f.Message))
	}
	if p.Report.More > 0 {
		fmt.Fprintf(out, "  and %d more\n", p.Report.More)
	}
}

func printCounts(out io.Writer, title string, list exchange.Counts) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range list {
		first := ""
		if c.First != "" {
			first = "first: " + sanitize(c.First)
		}
		fmt.Fprintf(w, "  %s\t%d\t%s\n", sanitize(c.What), c.N, first)
	}
	_ = w.Flush() // like other errors of stdout
}

// sanitize makes a file's text safe for the terminal.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, s)
}
