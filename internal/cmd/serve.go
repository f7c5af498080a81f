//go:build !windows

package cmd

import (
	"context"
	"os"
	"path/filepath"

	"taskyard/internal/app"
	"taskyard/internal/config"
	"taskyard/internal/systemd"
)

type serveCmd struct {
	settings
	Listen string `help:"Address to listen on (default 127.0.0.1:8080; port 0 picks a free one), or unix: and the path of a socket." placeholder:"HOST:PORT"`
}

// Run serves until it is told to stop.
func (c *serveCmd) Run(e *Env) error {
	more := map[string]string{}
	if c.Listen != "" {
		more["listen"] = c.Listen
	}
	cfg, _, err := c.load(e, more)
	if err != nil {
		return err
	}
	return serve(e, cfg, app.SetupLink, false)
}

// serve serves the instance of cfg until e.Ctx ends.
func serve(e *Env, cfg *config.Config, first app.FirstLine, demo bool) error {
	log := newLogger(e, cfg.Log)
	manager := systemd.NewNotifier(e.Getenv)
	passed, err := systemd.Listener(e.Getenv)
	if err != nil {
		return err
	}
	clearManagerEnv()
	if err := hide(); err != nil {
		log.Warn("memory and environment are open to programs of the same account", "error", err)
	}
	hangup := make(chan struct{}, 1)
	surviving, cancel := context.WithCancel(context.WithoutCancel(e.Ctx)) // including during the stop
	defer cancel()
	ignoreHangup(surviving, func() {
		select {
		case hangup <- struct{}{}:
		default:
		}
	})
	return app.Serve(e.Ctx, cfg, app.ServeOptions{
		Options: e.appOptions(log), Stdout: e.Stdout, FirstLine: first, Hangup: hangup, Build: e.Build,
		Manager: manager, Passed: passed, Demo: demo || isDemo(cfg.Data),
	})
}

// clearManagerEnv removes variables that are meant only for this process, because
// programs that it starts would inherit them.
func clearManagerEnv() {
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // fails only for an invalid name
	}
}

// isDemo reports whether the demo created a data folder.
func isDemo(data string) bool {
	_, err := os.Stat(filepath.Join(data, app.DemoMark))
	return err == nil
}
