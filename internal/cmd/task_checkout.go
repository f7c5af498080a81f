package cmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"taskyard/internal/client"
	"taskyard/runner/checkout"
)

// taskCmd contains the commands for tasks; checkout uses Git on this machine.
type taskCmd struct {
	client.Tasks `embed:""`
	Checkout     taskCheckoutCmd `cmd:"" help:"Check the branch of a task out into a Git worktree on this machine, and print its path."`
}

type taskCheckoutCmd struct {
	client.OneTask
	Dir    string `arg:"" optional:"" help:"Folder of the worktree (default: one per task, in taskyard/checkouts of the data folder of your account)." complete:"file"`
	Remote string `help:"Fetch the branch from this URL or remote, into the clone that the current folder is in." placeholder:"URL"`
}

// Run creates the worktree or updates it to the tip of the branch.
func (c *taskCheckoutCmd) Run(e *Env, ce *client.Env) error {
	b, err := ce.TaskBranch(c.ID)
	if err != nil {
		return err
	}
	o := checkout.Options{
		Repository: b.Project.Repository, Remote: c.Remote, Branch: b.Branch,
		Pattern: b.Project.BranchPrefix + b.Task.ID.String(),
		New:     b.Project.Branch(b.Task.ID, b.Task.Title), From: b.Project.DefaultBranch,
	}
	if m := b.Project.Merge; m != nil {
		o.From = cmp.Or(m.Into, o.From)
	}
	if c.Remote != "" {
		if o.Repository, err = os.Getwd(); err != nil {
			return err
		}
	}
	if o.Dir, err = c.folder(e, b.Project.Key+"-"+b.Task.ID.String()); err != nil {
		return err
	}
	done, err := checkout.Checkout(e.Ctx, o)
	if err != nil {
		return err
	}
	if ce.JSON {
		return json.NewEncoder(e.Stdout).Encode(done)
	}
	fmt.Fprintln(e.Stdout, done.Path)
	fmt.Fprintf(e.Stderr, "%s is at %.12s. To add commits: git push %s HEAD:%s\n", done.Branch, done.Commit, c.target(), done.Branch)
	return nil
}

func (c *taskCheckoutCmd) target() string {
	return cmp.Or(c.Remote, ".")
}

// folder returns the folder that was named, or that of the task.
func (c *taskCheckoutCmd) folder(e *Env, name string) (string, error) {
	if c.Dir != "" {
		return filepath.Abs(c.Dir)
	}
	data := e.Getenv("XDG_DATA_HOME")
	if home := e.Getenv("HOME"); data == "" && home != "" {
		data = filepath.Join(home, ".local", "share")
	}
	if !filepath.IsAbs(data) {
		return "", errors.New("neither HOME nor XDG_DATA_HOME says where your data is: name the folder of the worktree")
	}
	return filepath.Join(data, "taskyard", "checkouts", name), nil
}
