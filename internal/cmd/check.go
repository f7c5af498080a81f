//go:build !windows

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"taskyard/db"
	"taskyard/internal/app"
	"taskyard/task"
)

type checkCmd struct {
	settings
	Head string `help:"End of the log that you recorded earlier, from check or the server's log: the log must still have that line." placeholder:"LINE:HASH"`
}

// Run checks the store and the definitions.
func (c *checkCmd) Run(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if err := hasDatabase(e, cfg); err != nil {
		return err
	}
	if cfg.Database == "" { // PostgreSQL does that itself
		if err := db.CheckFileIntegrity(e.Ctx, app.DBPath(cfg.Data)); err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, "integrity and references: ok")
	}
	return openInstance(e, cfg, func(in *app.Instance) error { return checkInstance(e.Ctx, in, e.Stdout, c.Head) })
}

func checkInstance(ctx context.Context, in *app.Instance, out io.Writer, head string) error {
	err := in.DB.Snapshot(ctx, func(rx *db.Rx) error {
		if err := checkLog(ctx, in, rx, out, head); err != nil {
			return err
		}
		if err := rx.CheckInvariants(); err != nil {
			return err
		}
		fmt.Fprintln(out, "invariants: ok")
		if err := rx.CheckSearch(); err != nil {
			return err
		}
		state, err := rx.IndexState()
		if err != nil {
			return err
		}
		if state.Behind > 0 {
			fmt.Fprintf(out, "search: ok as far as it is indexed (%d %%); the server indexes the rest\n", state.Percent())
			return nil
		}
		fmt.Fprintln(out, "search: ok")
		return nil
	})
	if err != nil {
		return err
	}
	return checkAgents(ctx, in, out)
}

// checkAgents reports invalid definitions, and reviewers in them who cannot
// vote. It returns an error if the owner of open tasks has no definition, as in
// an instance whose agents were lost.
func checkAgents(ctx context.Context, in *app.Instance, out io.Writer) error {
	invalid := 0
	for _, a := range in.Agents.Agents() {
		if a.Status == task.AgentInvalid {
			invalid++
			fmt.Fprintf(out, "agent %s: invalid: %s\n", a.ID, a.Problems[0].Message)
		}
		err := in.Service.CheckReviewers(ctx, a)
		if e, ok := errors.AsType[*task.Error](err); ok {
			fmt.Fprintf(out, "agent %s: warning: %s\n", a.ID, e.Message)
		} else if err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "agents: %d, %d invalid\n", len(in.Agents.Agents()), invalid)
	var undefined []string
	err := in.DB.Read(ctx, func(rx *db.Rx) error {
		owners, err := rx.OpenOwners()
		for _, o := range owners {
			if _, ok := in.Agents.Agent(o.Owner); !ok {
				undefined = append(undefined, fmt.Sprintf("%s (%d open)", o.Owner, o.Open))
			}
		}
		return err
	})
	if err == nil && len(undefined) > 0 {
		err = fmt.Errorf("these owners of open tasks have no definition in %s: %s; restore their files from a backup, or move the tasks",
			in.Agents.Dir(), strings.Join(undefined, ", "))
	}
	return err
}

// checkLog looks for lines that were changed, removed or cut off.
func checkLog(ctx context.Context, in *app.Instance, rx *db.Rx, out io.Writer, noted string) error {
	n, err := rx.CheckChain()
	if err != nil {
		return err
	}
	if err := rx.CheckTail(); err != nil {
		return err
	}
	if noted != "" {
		h, err := db.ParseHead(noted)
		if err != nil {
			return &usageError{err.Error()}
		}
		if err := rx.HasHead(h); err != nil {
			return err
		}
	}
	ends, err := app.BackupEnds(ctx, in.Config.Data, allBackups)
	if err != nil {
		return err
	}
	compared, err := rx.CheckBackups(ends)
	if err != nil {
		return err
	}
	back, err := rx.Restored()
	if err != nil {
		return err
	}
	end, err := rx.Head()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "log: %d lines, hash chain unbroken, end present, consistent with %d backups; its end is %s\n", n, compared, end)
	if back.At != 0 {
		fmt.Fprintf(out, "log: the database was restored on %s; it lacks the lines after %d of the previous one\n", back.At, back.Last)
	}
	return nil
}

// allBackups is more than a folder contains.
const allBackups = 1 << 30
