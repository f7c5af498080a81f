package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"taskyard/internal/config"
	"taskyard/internal/notify"
	"taskyard/jobs"
	"taskyard/service"
	"taskyard/task"
)

// notifyTargets tells the rules which services outside are told what.
func notifyTargets(c *config.Config) []service.NotifyTarget {
	var list []service.NotifyTarget
	for _, name := range slices.Sorted(maps.Keys(c.Notify)) {
		t := service.NotifyTarget{Name: name}
		for _, k := range c.Notify[name].Kinds {
			t.Kinds = append(t.Kinds, task.OutKind(k))
		}
		list = append(list, t)
	}
	return list
}

// openTarget reads the address of a configured service from its variable.
func openTarget(name string, n config.Notify, getenv func(string) string) (*notify.Target, error) {
	t, err := notify.Open(getenv(n.URLEnv))
	if err != nil {
		return nil, fmt.Errorf("notify.%s: the variable %s: %w", name, n.URLEnv, err)
	}
	return t, nil
}

// outletsOf opens the services outside. Error: a variable is empty, or holds
// no address.
func outletsOf(c *config.Config, getenv func(string) string) ([]jobs.Outlet, error) {
	var list []jobs.Outlet
	for _, name := range slices.Sorted(maps.Keys(c.Notify)) {
		t, err := openTarget(name, c.Notify[name], getenv)
		if err != nil {
			return nil, err
		}
		list = append(list, jobs.Outlet{Name: name, Send: func(ctx context.Context, title, text, link string) error {
			return t.Send(ctx, notify.Message{Title: title, Text: text, Link: link})
		}})
	}
	return list, nil
}

type notifyCmd struct {
	Test notifyTestCmd `cmd:"" help:"Send a test message to a service of the configuration, without the server."`
}

type notifyTestCmd struct {
	settings
	Name string `arg:"" help:"Name of the service, as in [notify.NAME]."`
}

const testLimit = 30 * time.Second

// Run sends a message and tells whether the service took it.
func (c *notifyTestCmd) Run(e *env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	n, ok := cfg.Notify[c.Name]
	if !ok {
		return &usageError{"no service is called " + c.Name + knownServices(cfg)}
	}
	t, err := openTarget(c.Name, n, e.getenv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(e.ctx, testLimit)
	defer cancel()
	if err := t.Send(ctx, notify.Message{Title: "Taskyard: a test", Text: "This is a test of " + c.Name + ". The link leads to the inbox.", Link: cfg.PublicURL + "/"}); err != nil {
		return fmt.Errorf("not sent to %s (%s): %w", c.Name, t.Kind(), err)
	}
	fmt.Fprintf(e.stdout, "sent to %s (%s)\n", c.Name, t.Kind())
	return nil
}

func knownServices(c *config.Config) string {
	if len(c.Notify) == 0 {
		return ": the configuration has no [notify.NAME]"
	}
	return ": known are " + strings.Join(slices.Sorted(maps.Keys(c.Notify)), ", ")
}
