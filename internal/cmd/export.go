//go:build !windows

package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"taskyard/internal/app"
	"taskyard/service"
)

type exportCmd struct {
	settings
	Force bool   `help:"Replace files of an earlier export."`
	Dir   string `arg:"" help:"Folder for tasks.json, history.jsonl, todos.json and projects.json; created if missing."`
}

// Run writes the tasks of an instance to files, even while a server is running.
func (c *exportCmd) Run(e *Env) error {
	return c.withExisting(e, func(in *app.Instance) error { return exportTo(e.Ctx, in, e.Stdout, c.Dir, c.Force) })
}

// exportTo writes each file under a temporary name and syncs it. The files get
// their names after all are complete.
func exportTo(ctx context.Context, in *app.Instance, out io.Writer, dir string, force bool) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	names := []string{"tasks.json", "history.jsonl", "todos.json", "projects.json"}
	files := make([]*exportFile, len(names))
	for i, name := range names {
		if files[i], err = newExportFile(filepath.Join(dir, name), force); err != nil {
			return errors.Join(err, dropAll(files))
		}
	}
	n, err := in.Service.Export(ctx, admin, service.ExportTo{Tasks: files[0], History: files[1], Todos: files[2], Projects: files[3]})
	for _, f := range files {
		err = errors.Join(err, f.done())
	}
	if err != nil {
		return errors.Join(err, dropAll(files))
	}
	for _, f := range files {
		if err := os.Rename(f.tmp, f.path); err != nil {
			return errors.Join(err, dropAll(files))
		}
	}
	if err := syncFolder(dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s, next id %d\n", files[0].path, plural(n.Open, "draft or active task", "drafts and active tasks"), n.NextID)
	fmt.Fprintf(out, "%s: %s\n", files[1].path, plural(n.Archived, "done or canceled task", "done and canceled tasks"))
	fmt.Fprintf(out, "%s: %s in %s\n", files[2].path, plural(n.Items, "item", "items"), plural(n.Lists, "todo list", "todo lists"))
	fmt.Fprintf(out, "%s: %s\n", files[3].path, plural(n.Projects, "project", "projects"))
	fmt.Fprintf(out, "The tasks contain %s. Agents are files already: copy %s.\n",
		plural(n.Comments, "comment", "comments"), filepath.Join(in.Config.Data, "agents"))
	fmt.Fprintln(out, "Results, runs, transcripts, the log, people and tokens are not exported: use taskyard backup for those.")
	return nil
}

// exportFile is a file that gets its name when it is complete.
type exportFile struct {
	*bufio.Writer
	f         *os.File
	path, tmp string
}

func newExportFile(path string, force bool) (*exportFile, error) {
	if _, err := os.Lstat(path); err == nil && !force {
		return nil, fmt.Errorf("%s exists already; give another folder, or --force to replace it", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return nil, err
	}
	return &exportFile{bufio.NewWriterSize(f, 1<<18), f, path, f.Name()}, nil
}

// done writes and syncs the remaining data and closes the file.
func (x *exportFile) done() error {
	return errors.Join(x.Flush(), x.f.Sync(), x.f.Close())
}

// dropAll deletes the files that have no name yet.
func dropAll(files []*exportFile) (err error) {
	for _, f := range files {
		if f == nil {
			continue
		}
		_ = f.f.Close() // already closed if all were written
		if e := os.Remove(f.tmp); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// plural returns a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
