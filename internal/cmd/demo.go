//go:build !windows

package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"taskyard/db"
	"taskyard/examples"
	"taskyard/internal/app"
	"taskyard/internal/config"
	"taskyard/task"
	"taskyard/views"
)

// demoConfig declares the demo's runner for other commands on the folder; the
// demo itself starts this very binary.
const demoConfig = `[runners.demo]
kind = "command"
command = ["taskyard", "demo-agent"]
`

type demoCmd struct {
	Data   string `help:"Data folder (default data/demo)." default:"data/demo" placeholder:"DIR"`
	Listen string `help:"Address to listen on (default 127.0.0.1:8080, or a free port if that is in use)." placeholder:"HOST:PORT"`
	Fast   bool   `help:"The agents do not pause between steps."`
	Fresh  bool   `help:"Start over: remove the data folder of an earlier demo first."`
}

// Run serves the demo.
func (c *demoCmd) Run(e *Env) error {
	if err := c.prepare(); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	s := settings{Data: c.Data}
	cfg, _, err := s.load(e, map[string]string{"listen": c.address(e), "log.level": "warn"})
	if err != nil {
		return err
	}
	cfg.Database = "" // the demo always uses its own folder
	argv := []string{exe, "demo-agent"}
	if c.Fast {
		argv = append(argv, "--fast")
	}
	if cfg.Runners == nil {
		cfg.Runners = map[string]config.Runner{} // the folder was created without the file
	}
	cfg.Runners["demo"] = config.Runner{Kind: "command", Command: argv}
	cfg.Checks.AcceptWeaker = true // the only check is the demo's own
	return serve(e, cfg, func(ctx context.Context, in *app.Instance, base string) (string, error) {
		return demoLink(ctx, e, in, base)
	}, true)
}

// prepare creates the data folder with the demo's agents, once.
func (c *demoCmd) prepare() error {
	mark := filepath.Join(c.Data, app.DemoMark)
	_, err := os.Stat(mark)
	if err == nil && !c.Fresh {
		return nil
	}
	if err == nil {
		lock, err := db.AcquireLock(app.DBPath(c.Data))
		if err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(c.Data), lock.Release()); err != nil {
			return err
		}
	}
	if _, err := os.Stat(app.DBPath(c.Data)); err == nil {
		return fmt.Errorf("%s contains a real instance, not a demo: give another folder with --data", c.Data)
	}
	files, err := demoFiles()
	if err != nil {
		return err
	}
	for name, text := range files {
		b, err := os.ReadFile(filepath.Join(c.Data, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && string(b) != text {
			return fmt.Errorf("%s already exists and does not belong to a demo: give another folder with --data, or "+
				"serve that one with: taskyard serve --data %s", filepath.Join(c.Data, name), c.Data)
		}
	}
	if err := errors.Join(app.MakeData(c.Data), os.MkdirAll(filepath.Join(c.Data, "agents"), 0o700)); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(c.Data, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(mark, []byte("made by taskyard demo\n"), 0o600)
}

// demoFiles returns the files of a demo's data folder, by name.
func demoFiles() (map[string]string, error) {
	list, err := fs.Glob(examples.Demo, "demo/*.md")
	if err != nil {
		return nil, err
	}
	files := map[string]string{config.FileName: demoConfig}
	for _, f := range list {
		b, err := examples.Demo.ReadFile(f)
		if err != nil {
			return nil, err
		}
		files[filepath.Join("agents", filepath.Base(f))] = string(b)
	}
	return files, nil
}

// address returns the demo's listening address: the usual port, unless it is in
// use.
func (c *demoCmd) address(e *Env) string {
	if c.Listen != "" {
		return c.Listen
	}
	const usual = "127.0.0.1:8080"
	ln, err := (&net.ListenConfig{}).Listen(e.Ctx, "tcp", usual)
	if err != nil {
		return "127.0.0.1:0"
	}
	if err := ln.Close(); err != nil {
		return "127.0.0.1:0"
	}
	return usual
}

// demoLink fills an empty demo with tasks and returns a sign-in link.
func demoLink(ctx context.Context, e *Env, in *app.Instance, base string) (string, error) {
	users, err := in.Service.Users(ctx, admin)
	if err != nil {
		return "", err
	}
	if len(users) == 0 {
		u, err := in.Service.AddUser(ctx, admin, "demo", rand.Text(), task.RoleAdmin)
		if err != nil {
			return "", err
		}
		users = []task.User{u}
		if err := fillDemo(ctx, in, u); err != nil {
			return "", err
		}
		if err := fillDemoSite(ctx, in, u); err != nil {
			fmt.Fprintf(e.Stderr, "taskyard: the demo has no project, because its repository cannot be used: %v\n", err)
		}
	}
	secret, err := in.Service.SignInLink(ctx, users[0].ID)
	return base + views.URL.LoginLink() + "?token=" + secret, err
}

// fillDemo creates a few tasks as the demo's user.
func fillDemo(ctx context.Context, in *app.Instance, u task.User) error {
	me := task.Actor{Name: task.UserActorName(u.Name), Role: u.Role, UserID: u.ID}
	for _, n := range []task.New{
		{
			Title: "Ship the release notes", Owner: "planner", Priority: 8,
			Description: "Everything merged since the last release, on one page.\n\n- what is new\n- what is fixed\n- what to do when upgrading",
		},
		{
			Title: "Fix the flaky claim test", Owner: "builder", Priority: 9,
			Description: "`TestClaim` fails about once in fifty runs under the race detector.",
		},
		{Title: views.TourQuestion, Owner: "reviewer", Priority: 6, Description: "Is the number of attempts right?"},
		{Title: views.TourHandover, Owner: "builder", Priority: 4, Description: "How to back up, and how to restore: two commands each."},
		{
			Title: "Survey libraries for server-sent events", Owner: "general-purpose", Priority: 2,
			Description: "This agent has no model here, so it claims its work itself: with a token, over JSON.",
		},
		{Title: views.TourDraft, Owner: "planner", Status: task.Draft, Priority: 3, Description: "A draft: start it when you like."},
	} {
		if _, err := in.Service.CreateTask(ctx, me, n); err != nil {
			return err
		}
	}
	return nil
}
