package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"taskyard/internal/config"
	"taskyard/internal/notify"
	"taskyard/jobs"
	"taskyard/service"
	"taskyard/task"
)

// notifyTargets returns which external services receive which notifications.
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

// OpenTarget opens the address of a configured service, which its variable
// contains.
func OpenTarget(name string, n config.Notify, getenv func(string) string) (*notify.Target, error) {
	t, err := notify.Open(getenv(n.URLEnv))
	if err != nil {
		return nil, fmt.Errorf("notify.%s: the variable %s: %w", name, n.URLEnv, err)
	}
	return t, nil
}

// newOutlets opens the external services. It returns an error if a variable is
// empty or does not contain an address.
func newOutlets(c *config.Config, getenv func(string) string) ([]jobs.Outlet, error) {
	var list []jobs.Outlet
	for _, name := range slices.Sorted(maps.Keys(c.Notify)) {
		t, err := OpenTarget(name, c.Notify[name], getenv)
		if err != nil {
			return nil, err
		}
		list = append(list, jobs.Outlet{Name: name, Send: func(ctx context.Context, title, text, link string) error {
			return t.Send(ctx, notify.Message{Title: title, Text: text, Link: link})
		}})
	}
	return list, nil
}
