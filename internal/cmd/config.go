//go:build !windows

package cmd

import (
	"cmp"
	"errors"
	"fmt"

	"taskyard/internal/app"
)

type configCmd struct {
	Show  configShowCmd  `cmd:"" default:"withargs" help:"Print the effective configuration and where each value comes from (the default)."`
	Check configCheckCmd `cmd:"" help:"Check the configuration, the variables that it names, and the runners, without starting anything."`
}

type configShowCmd struct{ settings }

// Run prints the effective configuration.
func (c *configShowCmd) Run(e *Env) error {
	cfg, src, err := c.load(e, nil)
	if err != nil {
		return err
	}
	return cfg.Print(e.Stdout, src)
}

type configCheckCmd struct{ settings }

// Run checks the configuration like a start or reload of the server.
func (c *configCheckCmd) Run(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	errs, warnings := app.CheckConfig(cfg, e.Getenv)
	for _, w := range warnings {
		fmt.Fprintln(e.Stdout, "warning:", w)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	file := cmp.Or(cfg.File(), "no file; defaults, variables and flags")
	_, err = fmt.Fprintf(e.Stdout, "configuration ok: %s (data in %s)\n", file, cfg.Data)
	return err
}
