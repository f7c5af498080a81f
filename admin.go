package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"taskyard/db"
	"taskyard/service"
	"taskyard/task"
)

// admin is who the command line acts as: whoever may read the data folder.
var admin = task.Actor{Name: task.System, Role: task.RoleAdmin, Addr: "command line"}

// withYard opens an existing data folder beside a running server, or alone.
func (s settings) withYard(e *env, fn func(*yard) error) error {
	cfg, _, err := s.load(e, nil)
	if err != nil {
		return err
	}
	log := newLogger(e, "error") // what is wrong with a definition is the server's to tell
	if err := makeData(cfg.Data); err != nil {
		return err
	}
	if err := db.Settle(dbPath(cfg.Data), log); err != nil {
		return err
	}
	y, err := openYard(e.ctx, cfg, log)
	if err != nil {
		return err
	}
	return errors.Join(fn(y), y.close())
}

type backupCmd struct {
	settings
	File string `arg:"" help:"New file to write."`
}

// Run writes a backup.
func (c *backupCmd) Run(e *env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if err := hasDatabase(e, cfg.Data); err != nil {
		return err
	}
	if err := db.BackupFile(e.ctx, dbPath(cfg.Data), c.File); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, "backup written and checked:", c.File)
	return nil
}

// hasDatabase refuses a folder without a yard, which is mostly another one than
// was meant.
func hasDatabase(e *env, data string) error {
	if fi, err := os.Stat(data); err == nil && fi.IsDir() {
		if err := db.Settle(dbPath(data), newLogger(e, "error")); err != nil {
			return err
		}
	}
	if _, err := os.Stat(dbPath(data)); err != nil {
		return fmt.Errorf("no database: %w; name the yard's data folder by --data", err)
	}
	return nil
}

type restoreCmd struct {
	settings
	File   string `arg:"" help:"Backup to restore."`
	Revive bool   `help:"Let tokens and sessions that were ended since the backup count again."`
}

// Run restores a backup; the server must be stopped.
func (c *restoreCmd) Run(e *env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if err := makeData(cfg.Data); err != nil {
		return err
	}
	lock, err := db.AcquireLock(dbPath(cfg.Data))
	if err != nil {
		return err
	}
	_, former := os.Stat(dbPath(cfg.Data))
	revived, err := db.Restore(e.ctx, c.File, dbPath(cfg.Data), c.Revive)
	if err := errors.Join(err, lock.Release()); err != nil {
		return err
	}
	said := "restored to " + dbPath(cfg.Data)
	if former == nil {
		said += "; the former database is kept as " + dbPath(cfg.Data) + ".replaced"
	}
	fmt.Fprintln(e.stdout, said)
	c.tell(e.stdout, revived)
	return nil
}

// tell says which rights the backup brings back that were ended since.
func (c *restoreCmd) tell(out io.Writer, v db.Revived) {
	if !v.Compared {
		fmt.Fprintln(out, "there was no former database to compare with: tokens that were revoked since the backup are valid again; look through them with taskyard token revoke")
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
func (c *checkCmd) Run(e *env) error {
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return err
	}
	if err := hasDatabase(e, cfg.Data); err != nil {
		return err
	}
	if err := db.CheckFileIntegrity(e.ctx, dbPath(cfg.Data)); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, "integrity and references: ok")
	return c.withYard(e, func(y *yard) error { return y.check(e.ctx, e.stdout, c.Head) })
}

func (y *yard) check(ctx context.Context, out io.Writer, head string) error {
	err := y.db.Snapshot(ctx, func(rx *db.Rx) error {
		if err := y.checkLog(ctx, rx, out, head); err != nil {
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
			fmt.Fprintf(out, "search: ok as far as it is indexed (%d %%); the server goes on with it\n", state.Percent())
			return nil
		}
		fmt.Fprintln(out, "search: ok")
		return nil
	})
	if err != nil {
		return err
	}
	bad := 0
	for _, a := range y.agents.Agents() {
		if a.Status == task.AgentInvalid {
			bad++
			fmt.Fprintf(out, "agent %s: invalid: %s\n", a.ID, a.Problems[0].Message)
		}
	}
	fmt.Fprintf(out, "agents: %d, of which %d invalid\n", len(y.agents.Agents()), bad)
	return nil
}

// checkLog looks for lines that were changed, left out or cut off.
func (y *yard) checkLog(ctx context.Context, rx *db.Rx, out io.Writer, noted string) error {
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
	compared, err := rx.CheckBackups(ctx, backupDir(y.cfg.Data), allBackups)
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
	Name string `arg:"" help:"Name to sign in with."`
}

// Run adds a person.
func (c *userAddCmd) Run(e *env) error {
	password, err := readLine(e.stdin)
	if err != nil {
		return err
	}
	return c.withYard(e, func(y *yard) error {
		u, err := y.svc.AddUser(e.ctx, admin, c.Name, password, task.Role(c.Role))
		if err == nil {
			fmt.Fprintf(e.stdout, "added %s (%s)\n", u.Name, u.Role)
		}
		return err
	})
}

type userPasswdCmd struct {
	settings
	Name string `arg:"" help:"Whose password."`
}

// Run sets a password.
func (c *userPasswdCmd) Run(e *env) error {
	password, err := readLine(e.stdin)
	if err != nil {
		return err
	}
	return c.withYard(e, func(y *yard) error {
		users, err := y.svc.Users(e.ctx, admin)
		if err != nil {
			return err
		}
		for _, u := range users {
			if strings.EqualFold(u.Name, c.Name) {
				_, err := y.svc.UpdateUser(e.ctx, admin, u.ID, service.UserChange{Password: &password})
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
	Create tokenCreateCmd `cmd:"" help:"Create a token; it is printed alone on stdout."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token by its number, name or first characters."`
}

type tokenCreateCmd struct {
	settings
	Name  string `help:"What it is for; no two tokens share a name. Without it: cli, cli-2 and so on."`
	Agent string `help:"The agent that it speaks for." xor:"who"`
	Scope string `help:"read, operate, review or admin, and act-as; or worker, for a worker on another machine." xor:"who"`
	Days  int    `help:"Days until it expires; 0 for the default, -1 for never." default:"0"`
}

// Run creates a token.
func (c *tokenCreateCmd) Run(e *env) error {
	if c.Agent == "" && c.Scope == "" {
		return &usageError{"give --agent NAME or --scope read|operate|review|admin|worker"}
	}
	return c.withYard(e, func(y *yard) error {
		t, err := y.newToken(e.ctx, c)
		if err == nil {
			fmt.Fprintln(e.stdout, t.Secret)
		}
		return err
	})
}

func (y *yard) newToken(ctx context.Context, c *tokenCreateCmd) (service.MadeToken, error) {
	in := service.NewToken{Name: c.Name, Agent: c.Agent, Scope: c.Scope, Days: c.Days}
	if c.Name != "" {
		return y.svc.CreateToken(ctx, admin, in)
	}
	in.Name = "cli"
	for n := 2; ; n++ {
		t, err := y.svc.CreateToken(ctx, admin, in)
		if !task.IsCode(err, task.CodeNameTaken) {
			return t, err
		}
		in.Name = fmt.Sprintf("cli-%d", n)
	}
}

type tokenRevokeCmd struct {
	settings
	Token string `arg:"" help:"Number, name, or first characters (ty_…)."`
}

// Run revokes tokens.
func (c *tokenRevokeCmd) Run(e *env) error {
	return c.withYard(e, func(y *yard) error {
		list, err := y.svc.Tokens(e.ctx, admin)
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
		if err := y.svc.RevokeToken(e.ctx, admin, found[0].ID); err != nil {
			return err
		}
		fmt.Fprintf(e.stdout, "revoked %s (%s)\n", found[0].Name, found[0].Hint)
		return nil
	})
}

type configCmd struct{ settings }

// Run prints the effective configuration.
func (c *configCmd) Run(e *env) error {
	cfg, src, err := c.load(e, nil)
	if err != nil {
		return err
	}
	return cfg.Print(e.stdout, src)
}
