package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"taskyard/internal/lazyregexp"
)

func absolutePath(s string) error {
	if err := notEmpty(s); err != nil || filepath.IsAbs(s) {
		return err
	}
	return errors.New("must be an absolute path")
}

func notEmpty(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("must not be empty")
	}
	if strings.ContainsRune(s, 0) {
		return errors.New("must not contain a NUL")
	}
	return nil
}

// workspace checks where runs work: a folder, or a worktree of a repository.
func workspace(s string) error {
	if err := notEmpty(s); err != nil {
		return err
	}
	if path, _ := strings.CutPrefix(s, "worktree:"); !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not a workspace: give the absolute path of a folder such as \"/srv/work\", or \"worktree:/srv/repository\" "+
			"for a Git worktree of each run", s)
	}
	return nil
}

// matching returns a function that checks values against an expression. refusal
// formats the value with %q.
func matching(expr, refusal string) func(string) error {
	form := lazyregexp.New(expr)
	return func(s string) error {
		if form().MatchString(s) {
			return nil
		}
		return fmt.Errorf(refusal, s)
	}
}

func orEmpty(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return check(s)
	}
}

// listenAddress checks host:port, or unix: and the absolute path of a socket,
// optionally followed by | and an octal mode.
func listenAddress(s string) error {
	path, ok := strings.CutPrefix(s, "unix:")
	if !ok {
		return hostPort(s)
	}
	path, mode, moded := strings.Cut(path, "|")
	if _, err := strconv.ParseUint(mode, 8, 9); !filepath.IsAbs(path) || strings.ContainsRune(path, 0) || moded && err != nil {
		return fmt.Errorf("%q is not an address: give unix: with the absolute path of a socket such as \"unix:/run/taskyard/taskyard.sock\", "+
			"and |0666 for a mode other than 0660", s)
	}
	if len(path) > maxSocketPath {
		return fmt.Errorf("the path of the socket is longer than the %d bytes that the system allows", maxSocketPath)
	}
	return nil
}

// maxSocketPath is the size of sockaddr_un on every system, without the final
// NUL.
const maxSocketPath = 103

func hostPort(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf(`%q is not an address: give host:port such as "127.0.0.1:8080"`, s)
	}
	return nil
}

func httpURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return errors.New("is not a URL: give one such as \"https://host/path\"") // do not show it: it may contain a secret
	}
	if u.User != nil {
		return errors.New("must not contain a user or password: name a variable that holds the secret instead")
	}
	return nil
}

func mailAddress(s string) error {
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
		return fmt.Errorf(`%q is not a mail address: give one such as "ops@example.org"`, s)
	}
	return nil
}

// pathPrefixes matches paths that need no escaping and have no elements of
// dots.
var pathPrefixes = lazyregexp.New(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// postgresURL checks the URL of a PostgreSQL database. Missing parts come from
// PostgreSQL's variables and files, such as PGPASSWORD and ~/.pgpass.
func postgresURL(s string) error {
	u, err := url.Parse(s)
	if err != nil { // which contains the password
		return errors.New(`is not a URL: give one such as "postgres://taskyard@db.example.org/taskyard"`)
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" || strings.Trim(u.Path, "/") == "" {
		return errors.New(`is not a PostgreSQL database: give one such as "postgres://taskyard@db.example.org/taskyard", ` +
			"or leave it out for SQLite in the data folder")
	}
	return nil
}

func siteURL(s string) error {
	if err := httpURL(s); err != nil {
		return err
	}
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil || u.Path != "" && !pathPrefixes().MatchString(u.Path) {
		return fmt.Errorf(`%q is more than a host and a path: give one such as "https://tasks.example.org" or `+
			`"https://example.org/tasks", without a slash at the end`, s)
	}
	return nil
}

func address(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return nil
	}
	return fmt.Errorf(`%q is not an address: give one such as "10.0.0.1" or "10.0.0.0/8"`, s)
}

var hostName = matching(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`,
	`%q is not a host name: give one such as "tasks.example.org" or "tasks.example.org:8443"`)

var variableNames = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variableName checks the name of a variable. Its error omits the value,
// because people paste keys instead of names.
func variableName(s string) error {
	if variableNames().MatchString(s) {
		return nil
	}
	return errors.New(`is not the name of a variable: give one such as "OPENAI_API_KEY", never the secret itself`)
}

var sectionName = matching(`^[a-z0-9][a-z0-9_-]{0,39}$`,
	"%q is not a valid name: use 1 to 40 of a-z, 0-9, - and _")

var label = matching(`^[a-z0-9][a-z0-9._-]{0,62}$`,
	"%q is not a label: use 1 to 63 of a-z, 0-9, dot, dash and underscore")

// noticeKinds are the kinds of notifications for external services; the first
// four are the default.
var noticeKinds = []string{"question", "approval", "failure", "blocked", "notice"}

func noticeKind(s string) error {
	if slices.Contains(noticeKinds, s) {
		return nil
	}
	return fmt.Errorf("%q is not valid: valid values are %s", s, strings.Join(noticeKinds, ", "))
}

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// cronLine requires five fields that fire at some time. Lines with a time zone
// are rejected first, because the parser panics on some of them.
func cronLine(s string) error {
	const hint = `give five fields (minute hour day month weekday) such as "0 6-21 * * *"`
	if strings.Contains(s, "=") {
		return fmt.Errorf("%q is not a cron expression: %s; set the time zone in scheduler.timezone", s, hint)
	}
	schedule, err := cronParser.Parse(s)
	if err != nil {
		return fmt.Errorf("%q is not a cron expression (%w): %s", s, err, hint)
	}
	if schedule.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return fmt.Errorf("%q never fires: %s", s, hint)
	}
	return nil
}

func zone(s string) error {
	if s != "" {
		if _, err := time.LoadLocation(s); err == nil {
			return nil
		}
	}
	return fmt.Errorf(`%q is not a time zone: give one such as "Local", "UTC" or "Europe/Berlin"`, s)
}
