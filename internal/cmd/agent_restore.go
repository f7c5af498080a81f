//go:build !windows

package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"taskyard/internal/agentfile"
)

// agentRestoreCmd restores default agents.
type agentRestoreCmd struct {
	settings
	Names []string `arg:"" optional:"" name:"name" help:"Default agents, such as code-focused (default: all of them)."`
}

// Run writes the missing ones; a running server serves them at once.
func (c *agentRestoreCmd) Run(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	dir := filepath.Join(cfg.Data, "agents")
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("no agents: %w; name the instance's data folder with --data", err)
	}
	written, err := agentfile.Restore(dir, c.Names)
	for _, name := range written {
		fmt.Fprintf(e.Stdout, "restored %s: %s\n", name, filepath.Join(dir, name+".md"))
	}
	if err == nil && len(written) == 0 {
		fmt.Fprintln(e.Stdout, "nothing to restore: the files are there; they are never overwritten")
	}
	return err
}
