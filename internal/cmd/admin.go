//go:build !windows

package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/internal/app"
	"taskyard/internal/client"
	"taskyard/internal/config"
	"taskyard/service"
	"taskyard/task"
)

// admin is the actor of the command line, because its user can read the data
// folder.
var admin = task.Actor{Name: task.System, Role: task.RoleAdmin, Addr: "command line"}

// withExisting is like withInstance, but returns an error if the data folder
// contains no instance.
func (s settings) withExisting(e *Env, fn func(*app.Instance) error) error {
	cfg, _, err := s.load(e, nil)
	if err != nil {
		return err
	}
	if err := hasDatabase(e, cfg); err != nil {
		return err
	}
	return openInstance(e, cfg, fn)
}

// withInstance opens a data folder, whether or not a server is running. It
// refuses to migrate the database of a running one, and creates an instance if
// there is none.
func (s settings) withInstance(e *Env, fn func(*app.Instance) error) error {
	cfg, _, err := s.load(e, nil)
	if err != nil {
		return err
	}
	return openInstance(e, cfg, fn)
}

func openInstance(e *Env, cfg *config.Config, fn func(*app.Instance) error) (err error) {
	log := newLogger(e, config.Log{Level: "error"}) // the server reports problems of definitions
	if err := app.MakeData(cfg.Data); err != nil {
		return err
	}
	if err := db.FinishRestoreIfPending(app.DBPath(cfg.Data), log); err != nil {
		return err
	}
	if cfg.Database == "" {
		lock, refused := db.LockOutdated(e.Ctx, app.DBPath(cfg.Data))
		if refused != nil {
			return refused
		}
		if lock != nil {
			defer func() { err = errors.Join(err, lock.Release()) }()
			fmt.Fprintln(e.Stderr, "migrating the database to the schema of this program; a copy of the previous one is kept beside it")
		}
	}
	isNew := !app.HasDatabase(cfg)
	in, err := app.Open(e.Ctx, cfg, e.appOptions(log))
	if err != nil {
		return err
	}
	if isNew { // the folder of a running server may be another one
		fmt.Fprintf(e.Stderr, "taskyard: created a new instance in %s; if your instance is elsewhere, name its folder with --data\n", cfg.Data)
	}
	return errors.Join(fn(in), in.Close())
}

type userCmd struct {
	Add    userAddCmd    `cmd:"" help:"Add a person; the password is read from stdin."`
	Passwd userPasswdCmd `cmd:"" help:"Set a person's password, read from stdin; their sessions end."`
}

type userAddCmd struct {
	settings
	Role string `help:"viewer, operator, reviewer or admin." default:"operator" complete:"viewer,operator,reviewer,admin"`
	Name string `arg:"" help:"User name for signing in."`
}

// Run adds a person.
func (c *userAddCmd) Run(e *Env) error {
	password, err := readLine(e.Stdin)
	if err != nil {
		return err
	}
	return c.withInstance(e, func(in *app.Instance) error {
		u, err := in.Service.AddUser(e.Ctx, admin, c.Name, password, task.Role(c.Role))
		if err == nil {
			fmt.Fprintf(e.Stdout, "added %s (%s)\n", u.Name, u.Role)
		}
		return err
	})
}

type userPasswdCmd struct {
	settings
	Name string `arg:"" help:"User name."`
}

// Run sets a password.
func (c *userPasswdCmd) Run(e *Env) error {
	password, err := readLine(e.Stdin)
	if err != nil {
		return err
	}
	return c.withExisting(e, func(in *app.Instance) error {
		users, err := in.Service.Users(e.Ctx, admin)
		if err != nil {
			return err
		}
		for _, u := range users {
			if strings.EqualFold(u.Name, c.Name) {
				_, err := in.Service.UpdateUser(e.Ctx, admin, u.ID, service.UserChange{Password: &password})
				return err
			}
		}
		return fmt.Errorf("there is no person named %s", c.Name)
	})
}

func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", &usageError{"give the password on stdin, as one line"}
	}
	return line, nil
}

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Create a token and print it to stdout."`
	List   tokenListCmd   `cmd:"" help:"List the tokens that are not revoked; their secrets are not stored."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token by its number, name or first characters."`
}

type tokenCreateCmd struct {
	settings
	Name  string `help:"Unique name of the token (default: cli, cli-2 and so on)."`
	Agent string `help:"The agent that it acts for." xor:"who,person" complete:"agent"`
	Scope string `help:"read, operate, review or admin, and act-as; or worker, for a worker on another machine." xor:"who" complete:"read,operate,review,admin,worker"`
	User  string `help:"The person that it acts for, with at most their role." xor:"person"`
	Days  int    `help:"Days until it expires; 0 is 90 days, -1 is never." default:"0"`
}

// Run creates a token.
func (c *tokenCreateCmd) Run(e *Env) error {
	if c.Agent == "" && c.Scope == "" {
		return &usageError{"give --agent NAME or --scope read|operate|review|admin|worker"}
	}
	return c.withInstance(e, func(in *app.Instance) error {
		by, err := c.maker(e.Ctx, in)
		if err != nil {
			return err
		}
		t, err := c.create(e.Ctx, in, by)
		if err == nil {
			fmt.Fprintln(e.Stdout, t.Secret)
		}
		return err
	})
}

// maker returns the creator of the token: its person, or else an admin.
func (c *tokenCreateCmd) maker(ctx context.Context, in *app.Instance) (task.Actor, error) {
	if c.User == "" {
		return admin, nil
	}
	people, err := in.Service.Users(ctx, admin)
	if err != nil {
		return admin, err
	}
	for _, u := range people {
		if strings.EqualFold(u.Name, c.User) {
			return task.Actor{Name: admin.Name, Role: u.Role, UserID: u.ID, Addr: admin.Addr}, nil
		}
	}
	return admin, fmt.Errorf("no person is called %s", c.User)
}

func (c *tokenCreateCmd) create(ctx context.Context, in *app.Instance, by task.Actor) (service.MadeToken, error) {
	nt := service.NewToken{Name: c.Name, Agent: c.Agent, Scope: c.Scope, Days: c.Days, Own: c.User != ""}
	if c.Name != "" {
		return in.Service.CreateToken(ctx, by, nt)
	}
	nt.Name = "cli"
	for n := 2; ; n++ {
		t, err := in.Service.CreateToken(ctx, by, nt)
		if !task.IsCode(err, task.CodeNameTaken) {
			return t, err
		}
		nt.Name = fmt.Sprintf("cli-%d", n)
	}
}

type tokenListCmd struct {
	settings
	JSON client.JSONFlag `name:"json" help:"Print JSON."`
}

// Run lists tokens, even if the server is not running.
func (c *tokenListCmd) Run(e *Env, ce *client.Env) error {
	return c.withExisting(e, func(in *app.Instance) error {
		list, err := in.Service.Tokens(e.Ctx, admin)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(t task.Token) bool { return t.RevokedAt != 0 })
		if ce.JSON {
			return json.NewEncoder(e.Stdout).Encode(map[string]any{"tokens": list})
		}
		ce.Tokens(list)
		return nil
	})
}

type tokenRevokeCmd struct {
	settings
	Token string `arg:"" help:"Number, name, or first characters (ty_…)."`
}

// Run revokes tokens.
func (c *tokenRevokeCmd) Run(e *Env) error {
	return c.withExisting(e, func(in *app.Instance) error {
		list, err := in.Service.Tokens(e.Ctx, admin)
		if err != nil {
			return err
		}
		var found []task.Token
		for _, t := range list {
			if t.RevokedAt == 0 && (t.ID.String() == c.Token || t.Name == c.Token || len(c.Token) >= 9 && strings.HasPrefix(c.Token, t.Hint)) {
				found = append(found, t)
			}
		}
		switch len(found) {
		case 0:
			return fmt.Errorf("there is no token %q; taskyard token list shows the numbers", c.Token)
		case 1:
		default:
			return fmt.Errorf("%d tokens match %q; give the number that taskyard token list shows", len(found), c.Token)
		}
		if err := in.Service.RevokeToken(e.Ctx, admin, found[0].ID); err != nil {
			return err
		}
		fmt.Fprintf(e.Stdout, "revoked %s (%s)\n", found[0].Name, found[0].Hint)
		return nil
	})
}
