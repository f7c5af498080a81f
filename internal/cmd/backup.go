//go:build !windows

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"taskyard/db"
	"taskyard/internal/app"
	"taskyard/internal/config"
)

type backupCmd struct {
	settings
	File        string `arg:"" help:"New file to write; its name ends in .tar.zst."`
	IncludeRuns bool   `help:"Include the private folders of runs, which may be large."`
}

// Run writes a backup.
func (c *backupCmd) Run(e *Env) error {
	if !strings.HasSuffix(c.File, app.ArchiveSuffix) {
		return &usageError{fmt.Sprintf("a backup is an archive of the whole instance: name it %s%s",
			strings.TrimSuffix(c.File, ".db"), app.ArchiveSuffix)}
	}
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if err := hasDatabase(e, cfg); err != nil {
		return err
	}
	m, err := app.WriteBackup(e.Ctx, cfg, c.File, app.BackupOptions{
		Runs: c.IncludeRuns, Version: e.Build.Version,
		CopyDatabase: func(ctx context.Context, file string) error {
			return db.CopyFileInto(ctx, cmp.Or(cfg.Database, app.DBPath(cfg.Data)), file)
		},
	})
	if err != nil {
		return err
	}
	fi, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "backup written and checked: %s (%d files, %d bytes)\n", c.File, len(m.Files), fi.Size())
	return nil
}

// hasDatabase returns an error for a folder without an instance, which is
// usually the wrong folder.
func hasDatabase(e *Env, cfg *config.Config) error {
	if cfg.Database != "" {
		return nil
	}
	data := cfg.Data
	if fi, err := os.Stat(data); err == nil && fi.IsDir() {
		if err := db.FinishRestoreIfPending(app.DBPath(data), newLogger(e, config.Log{Level: "error"})); err != nil {
			return err
		}
	}
	if _, err := os.Stat(app.DBPath(data)); err != nil {
		return fmt.Errorf("no database: %w; name the instance's data folder with --data", err)
	}
	return nil
}

type restoreCmd struct {
	settings
	File    string `arg:"" help:"Backup to restore: an archive, or the copy of a database."`
	Replace bool   `help:"Replace the instance in the data folder, which is kept beside the new one."`
	Revive  bool   `help:"Make tokens and sessions that were revoked since the backup valid again."`
}

// Run restores a backup; the server must be stopped.
func (c *restoreCmd) Run(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	r, err := app.Restore(e.Ctx, cfg, c.File, app.RestoreOptions{Replace: c.Replace, Revive: c.Revive})
	if err != nil {
		return err
	}
	c.report(e.Stdout, cfg.Data, r)
	c.printRevived(e.Stdout, r.Rights)
	return nil
}

// report prints what was restored.
func (c *restoreCmd) report(out io.Writer, data string, r app.Restored) {
	former := "instance"
	if m := r.Manifest; m != nil {
		fmt.Fprintf(out, "restored to %s: the instance of %s, written by taskyard %s (%d files)\n",
			data, m.Created.Format("2006-01-02 15:04:05 MST"), m.Version, len(m.Files))
	} else {
		former = "database"
		fmt.Fprintf(out, "restored to %s: the backup is only a database; agents and configuration are as they were\n", app.DBPath(data))
	}
	if r.Kept != "" {
		fmt.Fprintf(out, "the previous %s is kept in %s\n", former, r.Kept)
	}
	if r.ConfigFile != "" {
		fmt.Fprintf(out, "a different configuration file is in use; the one from the backup is %s: compare them\n", r.ConfigFile)
	}
}

// printRevived prints which revoked rights the backup restores.
func (c *restoreCmd) printRevived(out io.Writer, v db.Revived) {
	if !v.Compared {
		fmt.Fprintln(out, "there was no previous database to compare with: tokens that were revoked since "+
			"the backup are valid again; list them with taskyard token list")
		if v.Sessions > 0 && !c.Revive {
			fmt.Fprintf(out, "sessions in the backup that were ended: %d; people must sign in again\n", v.Sessions)
		}
		return
	}
	stay := "stay ended; --revive lets them count again"
	if c.Revive {
		stay = "count again, as --revive asks"
	}
	for _, t := range v.Tokens {
		fmt.Fprintln(out, "revoked since the backup:", t)
	}
	if n := len(v.Tokens) + v.Runs + v.Sessions; n > 0 {
		fmt.Fprintf(out, "ended since the backup: %d tokens, %d tokens of runs, %d sessions: they %s\n", len(v.Tokens), v.Runs, v.Sessions, stay)
	}
}
