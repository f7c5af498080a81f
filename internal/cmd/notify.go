//go:build !windows

package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"taskyard/internal/app"
	"taskyard/internal/config"
	"taskyard/internal/notify"
)

type notifyCmd struct {
	Test notifyTestCmd `cmd:"" help:"Send a test message to a configured service, without the server."`
}

type notifyTestCmd struct {
	settings
	Name string `arg:"" help:"Name of the service, as in [notify.NAME]."`
}

const testLimit = 30 * time.Second

// Run sends a message and reports whether the service accepted it.
func (c *notifyTestCmd) Run(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	n, ok := cfg.Notify[c.Name]
	if !ok {
		return &usageError{"no service is called " + c.Name + knownServices(cfg)}
	}
	t, err := app.OpenTarget(c.Name, n, e.Getenv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(e.Ctx, testLimit)
	defer cancel()
	if err := t.Send(ctx, notify.Message{Title: "Taskyard: a test", Text: "This is a test of " + c.Name +
		". The link leads to the inbox.", Link: cfg.PublicURL + "/"}); err != nil {
		return fmt.Errorf("not sent to %s (%s): %w", c.Name, t.Kind(), err)
	}
	fmt.Fprintf(e.Stdout, "sent to %s (%s)\n", c.Name, t.Kind())
	return nil
}

func knownServices(c *config.Config) string {
	if len(c.Notify) == 0 {
		return ": the configuration has no [notify.NAME]"
	}
	return ": known are " + strings.Join(slices.Sorted(maps.Keys(c.Notify)), ", ")
}
