package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"taskyard/db"
	"taskyard/internal/app"
	"taskyard/service"
	"taskyard/task"
)

// admin is who the command line acts as: whoever may read the data folder.
var admin = task.Actor{Name: task.System, Role: task.RoleAdmin, Addr: "command line"}

// withInstance opens an existing data folder beside a running server, or alone.
func (s settings) withInstance(e *Env, fn func(*app.Instance) error) error {
	cfg, _, err := s.load(e, nil)
	if err != nil {
		return err
	}
	log := newLogger(e, "error") // what is wrong with a definition is the server's to tell
	if err := app.MakeData(cfg.Data); err != nil {
		return err
	}
	if err := db.Settle(app.DBPath(cfg.Data), log); err != nil {
		return err
	}
	in, err := app.Open(e.Ctx, cfg, e.appOptions(log))
	if err != nil {
		return err
	}
	return errors.Join(fn(in), in.Close())
}

type backupCmd struct {
	settings
	File string `arg:"" help:"New file to write."`
}

// Run writes a backup.
func (c *backupCmd) Run(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if err := hasDatabase(e, cfg.Data); err != nil {
		return err
	}
	if err := db.BackupFile(e.Ctx, app.DBPath(cfg.Data), c.File); err != nil {
		return err
	}
	fmt.Fprintln(e.Stdout, "backup written and checked:", c.File)
	return nil
}

// hasDatabase refuses a folder without an instance, which is mostly another one than
// was meant.
func hasDatabase(e *Env, data string) error {
	if fi, err := os.Stat(data); err == nil && fi.IsDir() {
		if err := db.Settle(app.DBPath(data), newLogger(e, "error")); err != nil {
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
	File   string `arg:"" help:"Backup to restore."`
	Revive bool   `help:"Make tokens and sessions valid again that were revoked since the backup."`
}

// Run restores a backup; the server must be stopped.
func (c *restoreCmd) Run(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if err := app.MakeData(cfg.Data); err != nil {
		return err
	}
	lock, err := db.AcquireLock(app.DBPath(cfg.Data))
	if err != nil {
		return err
	}
	_, former := os.Stat(app.DBPath(cfg.Data))
	revived, err := db.Restore(e.Ctx, c.File, app.DBPath(cfg.Data), c.Revive)
	if err := errors.Join(err, lock.Release()); err != nil {
		return err
	}
	said := "restored to " + app.DBPath(cfg.Data)
	if former == nil {
		said += "; the former database is kept as " + app.DBPath(cfg.Data) + ".replaced"
	}
	fmt.Fprintln(e.Stdout, said)
	c.tell(e.Stdout, revived)
	return nil
}

// tell says which rights the backup brings back that were ended since.
func (c *restoreCmd) tell(out io.Writer, v db.Revived) {
	if !v.Compared {
		fmt.Fprintln(out, "there was no former database to compare with: tokens that were revoked since "+
			"the backup are valid again; look through them with taskyard token revoke")
		if v.Sessions > 0 && !c.Revive {
			fmt.Fprintf(out, "the %d sessions of the backup are ended: people sign in again\n", v.Sessions)
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

type checkCmd struct {
	settings
	Head string `help:"End of the log that was noted before, as check and the server's log print it: the log must still have that line." placeholder:"LINE:HASH"`
}

// Run checks the store and the definitions.
func (c *checkCmd) Run(e *Env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if err := hasDatabase(e, cfg.Data); err != nil {
		return err
	}
	if err := db.CheckFileIntegrity(e.Ctx, app.DBPath(cfg.Data)); err != nil {
		return err
	}
	fmt.Fprintln(e.Stdout, "integrity and references: ok")
	return c.withInstance(e, func(in *app.Instance) error { return checkInstance(e.Ctx, in, e.Stdout, c.Head) })
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
	bad := 0
	for _, a := range in.Agents.Agents() {
		if a.Status == task.AgentInvalid {
			bad++
			fmt.Fprintf(out, "agent %s: invalid: %s\n", a.ID, a.Problems[0].Message)
		}
	}
	fmt.Fprintf(out, "agents: %d, of which %d invalid\n", len(in.Agents.Agents()), bad)
	return nil
}

// checkLog looks for lines that were changed, left out or cut off.
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
	compared, err := rx.CheckBackups(ctx, app.BackupDir(in.Config.Data), allBackups)
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
	fmt.Fprintf(out, "log: %d lines, hash chain unbroken, end present, in accord with %d backups; its end is %s\n", n, compared, end)
	if back.At != 0 {
		fmt.Fprintf(out, "log: the database was restored on %s; lines after %d of the former one are not in it\n", back.At, back.Last)
	}
	return nil
}

// allBackups is more than a folder holds.
const allBackups = 1 << 30

type userCmd struct {
	Add    userAddCmd    `cmd:"" help:"Add a person; the password is read from stdin."`
	Passwd userPasswdCmd `cmd:"" help:"Set a person's password, read from stdin; their sessions end."`
}

type userAddCmd struct {
	settings
	Role string `help:"viewer, operator, reviewer or admin." default:"operator"`
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
	return c.withInstance(e, func(in *app.Instance) error {
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
		return fmt.Errorf("no person is called %s", c.Name)
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
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token by its number, name or first characters."`
}

type tokenCreateCmd struct {
	settings
	Name  string `help:"Unique name of the token (default: cli, cli-2 and so on)."`
	Agent string `help:"The agent that it acts for." xor:"who"`
	Scope string `help:"read, operate, review or admin, and act-as; or worker, for a worker on another machine." xor:"who"`
	Days  int    `help:"Days until it expires; 0 for the default, -1 for never." default:"0"`
}

// Run creates a token.
func (c *tokenCreateCmd) Run(e *Env) error {
	if c.Agent == "" && c.Scope == "" {
		return &usageError{"give --agent NAME or --scope read|operate|review|admin|worker"}
	}
	return c.withInstance(e, func(in *app.Instance) error {
		t, err := c.create(e.Ctx, in)
		if err == nil {
			fmt.Fprintln(e.Stdout, t.Secret)
		}
		return err
	})
}

func (c *tokenCreateCmd) create(ctx context.Context, in *app.Instance) (service.MadeToken, error) {
	nt := service.NewToken{Name: c.Name, Agent: c.Agent, Scope: c.Scope, Days: c.Days}
	if c.Name != "" {
		return in.Service.CreateToken(ctx, admin, nt)
	}
	nt.Name = "cli"
	for n := 2; ; n++ {
		t, err := in.Service.CreateToken(ctx, admin, nt)
		if !task.IsCode(err, task.CodeNameTaken) {
			return t, err
		}
		nt.Name = fmt.Sprintf("cli-%d", n)
	}
}

type tokenRevokeCmd struct {
	settings
	Token string `arg:"" help:"Number, name, or first characters (ty_…)."`
}

// Run revokes tokens.
func (c *tokenRevokeCmd) Run(e *Env) error {
	return c.withInstance(e, func(in *app.Instance) error {
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
		if len(found) != 1 {
			return fmt.Errorf("%d tokens fit %q; give the number", len(found), c.Token)
		}
		if err := in.Service.RevokeToken(e.Ctx, admin, found[0].ID); err != nil {
			return err
		}
		fmt.Fprintf(e.Stdout, "revoked %s (%s)\n", found[0].Name, found[0].Hint)
		return nil
	})
}

type configCmd struct{ settings }

// Run prints the effective configuration.
func (c *configCmd) Run(e *Env) error {
	cfg, src, err := c.load(e, nil)
	if err != nil {
		return err
	}
	return cfg.Print(e.Stdout, src)
}
