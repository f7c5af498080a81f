package e2e

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"taskyard/internal/app"
	"taskyard/internal/client"
	"taskyard/internal/cmd"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// do runs a command inside this process.
func do(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs testkit.Buffer
	e := &cmd.Env{
		Ctx: t.Context(), Getenv: func(string) string { return "" },
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Build: testBuild,
	}
	code = cmd.Run(e, args)
	return strings.TrimSpace(out.String()), strings.TrimSpace(errs.String()), code
}

// must is do for commands that must succeed.
func must(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, errs, code := do(t, stdin, args...)
	if code != exitOK {
		t.Fatalf("taskyard %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// inside is a server in this process.
type inside struct {
	data, first, url string
	stop             func() int // stops it and returns its exit code
}

// serveInside serves a new instance whose data folder contains files, given as name
// and content.
func serveInside(t *testing.T, files ...string) *inside {
	t.Helper()
	in := &inside{data: filepath.Join(t.TempDir(), "data")}
	for i := 0; i+1 < len(files); i += 2 {
		(&server{t: t, data: in.data}).file(files[i], files[i+1])
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var log testkit.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- cmd.Run(&cmd.Env{Ctx: ctx, Getenv: os.Getenv, Stdin: strings.NewReader(""), Stdout: w, Stderr: &log, Build: testBuild},
			[]string{"serve", "--data", in.data, "--listen", "127.0.0.1:0"})
		w.Close()
	}()
	lines := bufio.NewReader(r)
	first, err := lines.ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("got no first line: %v\n%s", err, log.String())
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	in.first = strings.TrimSpace(first)
	u, err := url.Parse(in.first)
	testkit.NoError(t, err)
	in.url = "http://" + u.Host
	in.stop = func() int {
		cancel()
		select {
		case code := <-ended:
			ended <- code
			return code
		case <-time.After(patience):
			t.Error("the server did not stop")
			return -1
		}
	}
	t.Cleanup(func() {
		in.stop()
		if t.Failed() {
			t.Logf("log:\n%s", log.Tail(4000))
		}
	})
	return in
}

// browser keeps cookies and submits forms.
type browser struct {
	t testing.TB
	c *http.Client
}

func newBrowser(t testing.TB) *browser {
	jar, err := cookiejar.New(nil)
	testkit.NoError(t, err)
	return &browser{t, &http.Client{
		Jar: jar, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (b *browser) get(address string) (int, string) {
	b.t.Helper()
	r := answerTo(b.t, b.c, newRequest(b.t.Context(), http.MethodGet, address, "", ""))
	return r.status, r.body
}

var hiddenField = regexp.MustCompile(`type="hidden" name="([^"]+)" value="([^"]*)"`)

// send opens a page and posts its form, with its hidden fields and values, to
// action. It returns the status and the redirect.
func (b *browser) send(page, action string, values map[string]string) (status int, location string) {
	b.t.Helper()
	form := url.Values{}
	_, text := b.get(page)
	for _, m := range hiddenField.FindAllStringSubmatch(text, -1) {
		form.Set(m[1], m[2])
	}
	for k, v := range values {
		form.Set(k, v)
	}
	req := newRequest(b.t.Context(), http.MethodPost, action, "", form.Encode())
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r := answerTo(b.t, b.c, req)
	return r.status, r.header.Get("Location")
}

const goodPassword = "correct horse battery"

// setUp creates the first admin, maya, at an address, with the set-up link, and
// returns the redirect.
func (b *browser) setUp(link, address string) (location string) {
	b.t.Helper()
	form := map[string]string{"name": "maya", "password": goodPassword, "password2": goodPassword}
	status, to := b.send(link, address+"/setup", form)
	if status != http.StatusSeeOther {
		b.t.Fatalf("for the set-up form, got status %d and location %q", status, to)
	}
	return to
}

func TestTheFirstHour(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	setup := in.url + "/setup"
	if !strings.HasPrefix(in.first, setup+"?token=ty_") {
		t.Fatalf("got the first line %q, want the set-up link", in.first)
	}
	b := newBrowser(t)

	t.Run("nothing is accessible before the first admin exists", func(t *testing.T) {
		if got := requestStatus(t, in.url+"/api/tasks", ""); got != http.StatusUnauthorized {
			t.Errorf("for tasks, got status %d", got)
		}
		if got := requestStatus(t, in.url+"/setup?token=ty_wrong", ""); got != http.StatusForbidden {
			t.Errorf("for a wrong link, got status %d", got)
		}
	})
	t.Run("the set-up form creates the first admin and signs in", func(t *testing.T) {
		form := map[string]string{"name": "maya", "password": goodPassword, "password2": "another"}
		if status, _ := b.send(in.first, setup, form); status != http.StatusUnprocessableEntity {
			t.Errorf("for different passwords, got status %d", status)
		}
		form["password2"] = goodPassword
		if status, to := b.send(in.first, setup, form); status != http.StatusSeeOther || to != "/" {
			t.Fatalf("for the form, got status %d and location %q", status, to)
		}
		if status, text := b.get(in.url + "/api/tasks"); status != http.StatusOK {
			t.Errorf("for tasks with the session, got %d %s", status, text)
		}
	})
	t.Run("the link is used up", func(t *testing.T) {
		if status, _ := newBrowser(t).get(in.first); status != http.StatusNotFound {
			t.Errorf("for the link, got status %d", status)
		}
	})
	t.Run("signing in requires name and password", func(t *testing.T) {
		other := newBrowser(t)
		if status, _ := other.send(in.url+"/login", in.url+"/login",
			map[string]string{"name": "maya", "password": "wrong wrong wrong"}); status != http.StatusUnauthorized {
			t.Errorf("for a wrong password, got status %d", status)
		}
		if status, to := other.send(in.url+"/login", in.url+"/login",
			map[string]string{"name": "maya", "password": goodPassword}); status != http.StatusSeeOther || to != "/" {
			t.Errorf("for the right password, got status %d and location %q", status, to)
		}
		if status, _ := other.get(in.url + "/api/tasks"); status != http.StatusOK {
			t.Errorf("for tasks, got status %d", status)
		}
	})
	t.Run("a person's token creates, an agent's token claims and completes", func(t *testing.T) {
		person := &client.Client{URL: in.url, Token: must(t, "", "token", "create", "--data", in.data, "--name", "ci", "--scope", "admin")}
		agent := &client.Client{URL: in.url, Token: must(t, "", "token", "create", "--data", in.data, "--agent", "general-purpose")}
		made := call[task.Task](t, person, "POST", "/api/tasks", map[string]any{"title": "Say hello", "owner": "general-purpose"})
		got := call[struct{ Task *task.Task }](t, agent, "POST", "/api/agents/general-purpose/signup", nil).Task
		if got == nil || got.ID != made.ID || got.WorkStatus != task.Working {
			t.Fatalf("for the sign-up, got %s", asJSON(got))
		}
		call[task.Task](t, agent, "POST", "/api/tasks/"+got.ID.String()+"/complete", map[string]any{"summary": "Hello.", "claim": got.Claim.ID})
		if end := call[task.Task](t, person, "GET", "/api/tasks/"+got.ID.String(), nil); end.Status != task.Done || end.Summary != "Hello." {
			t.Errorf("got the task %s", asJSON(end))
		}
		if empty := call[struct{ Task *task.Task }](t, agent, "POST", "/api/agents/general-purpose/signup", nil).Task; empty != nil {
			t.Errorf("for an empty queue, got %s", asJSON(empty))
		}
	})
	t.Run("a revoked token is refused", func(t *testing.T) {
		secret := must(t, "", "token", "create", "--data", in.data, "--name", "short", "--scope", "read")
		if got := requestStatus(t, in.url+"/api/tasks", secret); got != http.StatusOK {
			t.Errorf("before: got status %d", got)
		}
		must(t, "", "token", "revoke", "--data", in.data, "short")
		if got := requestStatus(t, in.url+"/api/tasks", secret); got != http.StatusUnauthorized {
			t.Errorf("afterwards: got status %d", got)
		}
	})
	t.Run("it stops cleanly", func(t *testing.T) {
		if code := in.stop(); code != exitOK {
			t.Errorf("got exit code %d", code)
		}
	})
}

func TestPeopleAreManagedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	must(t, goodPassword+"\n", "user", "add", "--data", in.data, "--role", "reviewer", "omar")
	signIn := func(password string) int {
		status, _ := newBrowser(t).send(in.url+"/login", in.url+"/login", map[string]string{"name": "omar", "password": password})
		return status
	}
	if got := signIn(goodPassword); got != http.StatusSeeOther {
		t.Errorf("for the sign-in, got status %d", got)
	}
	must(t, "a new password for omar\n", "user", "passwd", "--data", in.data, "omar")
	if got := signIn(goodPassword); got != http.StatusUnauthorized {
		t.Errorf("for the old password, got status %d", got)
	}
	if got := signIn("a new password for omar"); got != http.StatusSeeOther {
		t.Errorf("for the new password, got status %d", got)
	}
	for _, tt := range []struct {
		name, stdin string
		args        []string
		code        int
		says        string
	}{
		{"a short password is refused", "short\n", []string{"user", "add", "--data", in.data, "kim"}, exitRefused, "password"},
		{"a missing password is a usage error", "", []string{"user", "add", "--data", in.data, "kim"}, exitUsage, "stdin"},
		{"a name in use is refused", goodPassword, []string{"user", "add", "--data", in.data, "OMAR"}, exitRefused, "taken"},
		{
			"an unknown role is refused", goodPassword,
			[]string{"user", "add", "--data", in.data, "--role", "king", "kim"},
			exitRefused, "viewer, operator, reviewer or admin",
		},
		{"an unknown person has no password", goodPassword, []string{"user", "passwd", "--data", in.data, "nobody"}, exitRefused, "nobody"},
		{"a token needs an owner", "", []string{"token", "create", "--data", in.data}, exitUsage, "--agent"},
		{"a token for an unknown agent is refused", "", []string{"token", "create", "--data", in.data, "--agent", "zoe"}, exitRefused, "zoe"},
		{
			"a token of an unknown scope is refused", "",
			[]string{"token", "create", "--data", in.data, "--scope", "everything"},
			exitRefused, "scope",
		},
		{"an unknown token cannot be revoked", "", []string{"token", "revoke", "--data", in.data, "nothing"}, exitRefused, "there is no token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errs, code := do(t, tt.stdin, tt.args...)
			if code != tt.code || !strings.Contains(errs, tt.says) || out != "" {
				t.Errorf("got exit code %d, %q, %q; want %d and %q", code, out, errs, tt.code, tt.says)
			}
		})
	}
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	api := &client.Client{URL: in.url, Token: must(t, "", "token", "create", "--data", in.data, "--scope", "operate")}
	create := func(title string) task.Task {
		return call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": title, "owner": "general-purpose"})
	}
	create("In the backup")
	file := filepath.Join(t.TempDir(), "copy.tar.zst")
	must(t, "", "backup", "--data", in.data, file)
	create("After the backup")

	if _, errs, code := do(t, "", "backup", "--data", in.data, file); code != exitRefused || !strings.Contains(errs, file) {
		t.Errorf("backup over a file: exit code %d, %s", code, errs)
	}
	if _, errs, code := do(t, "", "restore", "--data", in.data, file); code != exitRefused ||
		!strings.Contains(errs, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("restore while the server runs: exit code %d, %s", code, errs)
	}
	wants(t, must(t, "", "check", "--data", in.data),
		"integrity and references: ok", "hash chain unbroken", "invariants: ok", "0 invalid")
	in.stop()

	bad := put(t, filepath.Join(t.TempDir(), "bad.db"), strings.Repeat("not a database ", 1000))
	if _, _, code := do(t, "", "restore", "--data", in.data, bad); code != exitRefused {
		t.Errorf("restore of garbage: exit code %d", code)
	}
	must(t, "", "check", "--data", in.data)
	if said := must(t, "", "restore", "--replace", "--data", in.data, file); !strings.Contains(said, "replaced-") {
		t.Errorf("the output does not name the former database: %s", said)
	}
	must(t, "", "check", "--data", in.data)
	if said := must(t, "", "restore", "--data", filepath.Join(t.TempDir(), "new"), file); strings.Contains(said, "kept in") {
		t.Errorf("reported a former database although there was none: %s", said)
	}
	rows, err := readRows(app.DBPath(in.data), "SELECT title FROM tasks")
	if err != nil || len(rows) != 1 || rows[0] != "In the backup" {
		t.Errorf("got the restored tasks %q, %v", rows, err)
	}
	if kept, err := filepath.Glob(filepath.Join(in.data, "replaced-*", "taskyard.db")); err != nil || len(kept) != 1 {
		t.Errorf("the former database is not kept: %v, %v", kept, err)
	}
	if _, _, code := do(t, "", "check", "--data", t.TempDir()); code != exitRefused {
		t.Errorf("check of a missing file: exit code %d", code)
	}
}

func TestARestoreDoesNotReviveEndedTokensAndSessions(t *testing.T) {
	t.Parallel()
	for _, revive := range []bool{false, true} {
		in := serveInside(t)
		kept := must(t, "", "token", "create", "--data", in.data, "--scope", "read", "--name", "kept")
		gone := must(t, "", "token", "create", "--data", in.data, "--scope", "read", "--name", "gone")
		must(t, goodPassword+"\n", "user", "add", "--data", in.data, "--role", "admin", "omar")
		if status, _ := newBrowser(t).send(in.url+"/login", in.url+"/login",
			map[string]string{"name": "omar", "password": goodPassword}); status != http.StatusSeeOther {
			t.Fatalf("for the sign-in, got status %d", status)
		}
		file := filepath.Join(t.TempDir(), "copy.tar.zst")
		must(t, "", "backup", "--data", in.data, file)
		must(t, "", "token", "revoke", "--data", in.data, "gone")
		must(t, "vorpal quince 84 lantern\n", "user", "passwd", "--data", in.data, "omar") // ends the session
		in.stop()
		args := []string{"restore", "--replace", "--data", in.data, file}
		if revive {
			args = append(args, "--revive")
		}
		said := must(t, "", args...)
		want := "stay ended; --revive"
		if revive {
			want = "count again, as --revive asks"
		}
		if !strings.Contains(said, "revoked since the backup: gone (ty_") ||
			!strings.Contains(said, "1 tokens, 0 tokens of runs, 1 sessions: they "+want) || strings.Contains(said, "kept (") {
			t.Errorf("revive %v: got %q", revive, said)
		}
		s := newServer(t, "serve")
		s.data = in.data
		s.start()
		for secret, status := range map[string]int{
			kept: http.StatusOK,
			gone: map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[revive],
		} {
			if got := requestStatus(t, s.url()+"/api/tasks", secret); got != status {
				t.Errorf("revive %v: for token %s…, got status %d, want %d", revive, secret[:6], got, status)
			}
		}
		if got := s.rows("SELECT count(*) FROM sessions WHERE user_id IS NOT NULL")[0]; (got == "1") != revive {
			t.Errorf("revive %v: got %s sessions", revive, got)
		}
	}
}

func TestACutLogIsNoticed(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.start()
	api := s.api(s.token("--scope", "operate"))
	s.makeTasks(api, 5)
	testkit.NoError(t, os.MkdirAll(filepath.Join(s.data, "backups"), 0o700))
	s.kill()
	backup := filepath.Join(s.data, "backups", "taskyard-20260101T000000.000.tar.zst")
	must(t, "", "backup", "--data", s.data, backup)
	said := must(t, "", "check", "--data", s.data)
	_, head, ok := strings.Cut(said, "its end is ")
	head, _, _ = strings.Cut(head, "\n")
	if !ok || !strings.Contains(said, "consistent with 1 backups") {
		t.Fatalf("got %q", said)
	}
	must(t, "", "check", "--data", s.data, "--head", head)
	cut := func(t *testing.T, statements ...string) string {
		t.Helper()
		data := copyFolder(t, s.data)
		d, err := sql.Open("sqlite3", "file:"+app.DBPath(data))
		testkit.NoError(t, err)
		defer d.Close()
		for _, q := range append([]string{"DROP TRIGGER events_delete", "DELETE FROM events WHERE id > (SELECT max(id) - 2 FROM events)"},
			statements...) {
			if _, err := d.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		return data
	}
	t.Run("by the last number that SQLite assigned", func(t *testing.T) {
		data := cut(t)
		if _, errs, code := do(t, "", "check", "--data", data); code != exitRefused ||
			!strings.Contains(errs, "the end of the log is missing: lines ") {
			t.Errorf("got exit code %d, %s", code, errs)
		}
		again := newServer(t, "serve")
		again.data = data
		again.start()
		if !strings.Contains(again.log.String(), "the end of the log is missing") {
			t.Error("the server does not report it at the start")
		}
	})
	hide := "UPDATE sqlite_sequence SET seq = (SELECT max(id) FROM events) WHERE name = 'events'"
	t.Run("by a backup, if the number was changed too", func(t *testing.T) {
		if _, errs, code := do(t, "", "check", "--data", cut(t, hide)); code != exitRefused ||
			!strings.Contains(errs, "the end was cut off") || !strings.Contains(errs, "taskyard-20260101") {
			t.Errorf("got exit code %d, %s", code, errs)
		}
	})
	t.Run("by an end that was recorded elsewhere, if there is no backup", func(t *testing.T) {
		data := cut(t, hide)
		remove(t, filepath.Join(data, "backups", filepath.Base(backup)))
		must(t, "", "check", "--data", data) // nothing in it reveals the cut
		if _, errs, code := do(t, "", "check", "--data", data, "--head", head); code != exitRefused ||
			!strings.Contains(errs, "the end was cut off") {
			t.Errorf("got exit code %d, %s", code, errs)
		}
	})
	t.Run("a restore of an older backup is not reported as a cut", func(t *testing.T) {
		old := filepath.Join(t.TempDir(), "old.tar.zst")
		must(t, "", "backup", "--data", s.data, old)
		s.start()
		s.makeTasks(api, 1)
		s.kill()
		must(t, "", "backup", "--data", s.data, filepath.Join(s.data, "backups", "taskyard-20260102T000000.000.tar.zst"))
		must(t, "", "restore", "--replace", "--data", s.data, old)
		if said := must(t, "", "check", "--data", s.data); !strings.Contains(said, "the database was restored on") {
			t.Errorf("got %q", said)
		}
	})
}

func TestUsageOfTheCommandLine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	conf := put(t, filepath.Join(data, "taskyard.toml"), "[scheduler]\nconcurrency = 2\n\n[runs]\nmax_parralel = 3\n")
	good := t.TempDir()
	for _, tt := range []struct {
		name string
		args []string
		code int
		out  string // in stdout
		errs string // in stderr
	}{
		{"version prints the version", []string{"version"}, exitOK, "taskyard " + testBuild.Version, ""},
		{"help is not an error", []string{"--help"}, exitOK, "demo", ""},
		{"an unknown flag is a usage error", []string{"serve", "--color"}, exitUsage, "", "--color"},
		{"an unknown command is a usage error", []string{"dance"}, exitUsage, "", "dance"},
		{"a missing argument is a usage error", []string{"backup"}, exitUsage, "", "file"},
		{"an unknown key is reported with file and line", []string{"serve", "--data", data}, exitUsage, "", conf + ":5"},
		{"every command reports it", []string{"token", "create", "--data", data, "--scope", "read"}, exitUsage, "", "max_parralel"},
		{
			"a bad value of a flag is reported",
			[]string{"serve", "--data", good, "--set", "runs.max_parallel=many"},
			exitUsage, "", "runs.max_parallel",
		},
		{"a missing file is reported", []string{"config", "--config", filepath.Join(good, "none.toml")}, exitUsage, "", "none.toml"},
		{
			"config prints the settings and their sources",
			[]string{"config", "--data", good, "--set", "runs.max_parallel=7"},
			exitOK, "max_parallel", "",
		},
		{
			"an address that cannot be listened on is refused",
			[]string{"serve", "--data", filepath.Join(good, "x"), "--listen", "192.0.2.1:1"},
			exitRefused, "", "192.0.2.1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errs, code := do(t, "", tt.args...)
			if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(errs, tt.errs) {
				t.Errorf("got exit code %d\nstdout: %s\nstderr: %s\nwant %d, %q, %q", code, out, errs, tt.code, tt.out, tt.errs)
			}
		})
	}
}
