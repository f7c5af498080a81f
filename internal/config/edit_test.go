package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written loads the text of a file, edits it, and returns the new text.
func written(t *testing.T, text string, values map[string]*string) (string, *Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.toml")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	c, _, err := Load(LoadOptions{File: path})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Edit(values)
	if err != nil {
		return "", nil, err
	}
	if err := e.Write(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("got mode %v, %v; want 0640", fi.Mode(), err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("got other files in its folder: %v, %v", list, err)
	}
	return string(after), e.Next, nil
}

func TestAnEditKeepsTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, after string
		values              map[string]*string
	}{
		{
			"a value with a comment", "# ours\n[scheduler]\ncron = \"0 6-21 * * *\"  # by day\nconcurrency=2\n",
			"# ours\n[scheduler]\ncron = \"0 * * * *\"  # by day\nconcurrency=3\n",
			map[string]*string{"scheduler.cron": new("0 * * * *"), "scheduler.concurrency": new("3")},
		},
		{
			"a new key in a section", "[runs]\nattempts = 2\n\n# notes\n[claims]\nlease = \"1h\"\n",
			"[runs]\nattempts = 2\ntimeout = \"10m\"\n\n# notes\n[claims]\nlease = \"1h\"\n",
			map[string]*string{"runs.timeout": new("600s")},
		},
		{
			"a new section", "allowed_hosts = []", "allowed_hosts = []\n\n[budget]\nmax_cost_usd_per_day = 5.0\n",
			map[string]*string{"budget.max_cost_usd_per_day": new("5")},
		},
		{"an empty file", "", "[backup]\nkeep = 9\n", map[string]*string{"backup.keep": new("9")}},
		{"a reset", "[runs]\nattempts = 2 # few\nmax_parallel = 9\n", "[runs]\nmax_parallel = 9\n", map[string]*string{"runs.attempts": nil}},
		{"a key with dots", "task_tool.enabled = true\n", "task_tool.enabled = false\n", map[string]*string{"task_tool.enabled": new("false")}},
		{
			"Windows line endings", "[runs]\r\nattempts = 2\r\n[claims]\r\nlease = '1h'\r\n",
			"[runs]\r\nattempts = 4\r\n[claims]\r\nlease = \"2h\"\r\n",
			map[string]*string{"runs.attempts": new("4"), "claims.lease": new("2h")},
		},
		{
			"a text that looks like the key elsewhere",
			"[runners.x]\nkind = \"command\"\ncommand = [\"a\"]\nenv = {T = \"\"\"\n[runs]\nattempts = 1\n\"\"\"}\n",
			"[runners.x]\nkind = \"command\"\ncommand = [\"a\"]\nenv = {T = \"\"\"\n[runs]\nattempts = 1\n\"\"\"}\n\n[runs]\nattempts = 5\n",
			map[string]*string{"runs.attempts": new("5")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			after, next, err := written(t, tt.before, tt.values)
			if err != nil || after != tt.after {
				t.Fatalf("%v\n%s\nwant\n%s", err, after, tt.after)
			}
			for _, s := range next.Settings() {
				if v, edited := tt.values[s.Key]; edited && v == nil && s.Value != s.Default {
					t.Errorf("%s is %s", s.Key, s.Value)
				}
			}
		})
	}
}

func TestAnEditIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, want string
		values             map[string]*string
	}{
		{
			"for the same reason as the file", "", `runs.attempts: 11 is not valid: give a whole number from 1 to 10`,
			map[string]*string{"runs.attempts": new("11")},
		},
		{
			"with all its errors", "", "claims.lease: \"1\" is not valid: give a duration from 1m to 720h such as \"90s\", \"15m\" or \"2h\"\n" +
				"scheduler.timezone: \"Mars\" is not a time zone: give one such as \"Local\", \"UTC\" or \"Europe/Berlin\"",
			map[string]*string{"scheduler.timezone": new("Mars"), "claims.lease": new("1")},
		},
		{"for a key that needs a restart", "", "cannot be changed while the server runs", map[string]*string{"listen": new("127.0.0.1:1")}},
		{
			"for an unknown key", "", "scheduler.crom: no key of that name: valid in [scheduler] are enabled, cron",
			map[string]*string{"scheduler.crom": new("1")},
		},
		{
			"for a key without a section", "", "timeout: no key of that name: taskyard settings lists them, such as runs.timeout",
			map[string]*string{"timeout": new("1m")},
		},
		{"in a notation that cannot be edited", "runs = {attempts = 2}\n", "edit it by hand", map[string]*string{"runs.attempts": new("3")}},
		{"where a section cannot be added", "runs.attempts = 2\n", "test.toml", map[string]*string{"runs.timeout": new("30s")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := written(t, tt.before, tt.values)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestOverriddenSettingsAreLocked(t *testing.T) {
	t.Parallel()
	c, _ := mustLoad(t, "[runs]\ntimeout = \"10m\"\n", []string{"TASKYARD_RUNS_ATTEMPTS=2"}, map[string]string{"runs.max_parallel": "9"})
	for _, s := range c.Settings() {
		want := map[string]string{
			"runs.attempts":     "the variable TASKYARD_RUNS_ATTEMPTS sets it: change it there and restart the server",
			"runs.max_parallel": "the flag --set runs.max_parallel sets it: change the command line and restart the server",
		}[s.Key]
		if s.Locked != want {
			t.Errorf("%s: got %q, want %q", s.Key, s.Locked, want)
		}
		_, err := c.Edit(map[string]*string{s.Key: new(s.Default)})
		var bad *EditError
		if got := errors.As(err, &bad); got != (want != "") {
			t.Errorf("%s: %v", s.Key, err)
		}
	}
}

func TestATakeoverSkipsKeysThatNeedARestart(t *testing.T) {
	t.Parallel()
	c, _ := mustLoad(t, "allowed_hosts = [\"a\"]\n[runs]\nattempts = 2\n", nil, nil)
	next, _ := mustLoad(t, "allowed_hosts = [\"b\"]\n[runs]\nattempts = 4\n", nil, nil)
	m, changed, restart := c.Takeover(next)
	if len(changed) != 1 || changed[0] != (Change{"runs.attempts", "2", "4"}) {
		t.Errorf("got changed %v", changed)
	}
	if strings.Join(restart, " ") != "allowed_hosts" {
		t.Errorf("got %v as needing a restart", restart)
	}
	if m.Runs.Attempts != 4 || m.AllowedHosts[0] != "a" {
		t.Errorf("%+v", m)
	}
}

func TestAMissingFileIsCreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, _, err := Load(LoadOptions{Flags: map[string]string{"data": dir}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Edit(map[string]*string{"runs.attempts": new("4")})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Write(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", fi, err)
	}
	if err := e.Undo(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after undo: %v", err)
	}
}
