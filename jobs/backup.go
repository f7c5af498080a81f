package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// Backup configures when and where backups of the instance are made.
type Backup struct {
	Cron  string // "": never
	Dir   string
	Keep  int
	Write func(ctx context.Context, file string) error // a new file
	After []string                                     // program and arguments that receive the file; nil: none
	Limit time.Duration                                // timeout of that program
}

// backup writes a backup, deletes the oldest ones, and starts the program that
// copies it elsewhere.
func (j *Jobs) backup(ctx context.Context) error {
	b := j.plan.Load().Backup
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return err
	}
	name := "taskyard-" + time.Now().UTC().Format(backupTime) + ".tar.zst"
	file := filepath.Join(b.Dir, name)
	if err := b.Write(ctx, file); err != nil {
		return err
	}
	old := b.files()
	if i := slices.Index(old, file) + 1; i > 0 { // later names come from a clock that was ahead
		old = slices.Concat(old[i:], old[:i])
	}
	for ; len(old) > b.Keep; old = old[1:] {
		if err := os.Remove(old[0]); err != nil {
			return err
		}
	}
	if len(b.After) == 0 {
		return nil
	}
	err := supervise.RunOwn(ctx, b.after(file), b.Limit, func(line string) {
		j.log.Info("backup.after", "file", name, "output", line)
	})
	if err != nil {
		return fmt.Errorf("the backup %s is written, but backup.after (%s) failed: %w", name, b.After[0], err)
	}
	return nil
}

// backupTime is the format of the time in the name of a scheduled backup.
const backupTime = "20060102T150405.000"

// files lists the scheduled backups, oldest first: archives, and the database
// copies of earlier versions. Other files in the folder are ignored.
func (b Backup) files() (list []string) {
	entries, err := os.ReadDir(b.Dir) // sorted by name, which contains the time
	if err != nil {
		return nil
	}
	for _, e := range entries {
		at, ok := strings.CutSuffix(strings.TrimPrefix(e.Name(), "taskyard-"), ".tar.zst")
		if !ok {
			at, ok = strings.CutSuffix(at, ".db")
		}
		if _, err := time.Parse(backupTime, at); ok && err == nil && strings.HasPrefix(e.Name(), "taskyard-") {
			list = append(list, filepath.Join(b.Dir, e.Name()))
		}
	}
	return list
}

// after returns the command line with the name of the file, which is the last
// argument unless a placeholder marks its position.
func (b Backup) after(file string) []string {
	argv, named := make([]string, len(b.After)), false
	for i, arg := range b.After {
		argv[i] = strings.ReplaceAll(arg, "{file}", file)
		named = named || argv[i] != arg
	}
	if !named {
		argv = append(argv, file)
	}
	return argv
}

// newest returns when the newest scheduled backup was written, 0 for none, and
// its size in bytes.
func (b Backup) newest() (at task.Time, size int64) {
	for _, f := range b.files() {
		if fi, err := os.Stat(f); err == nil && task.TimeFromStd(fi.ModTime()) >= at {
			at, size = task.TimeFromStd(fi.ModTime()), fi.Size()
		}
	}
	return at, size
}
