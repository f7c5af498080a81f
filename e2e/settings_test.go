package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

func (s *server) settings(c *client.Client) map[string]task.Setting {
	s.t.Helper()
	by := map[string]task.Setting{}
	for _, one := range call[struct{ Settings []task.Setting }](s.t, c, http.MethodGet, "/api/settings", nil).Settings {
		by[one.Key] = one
	}
	return by
}

func TestSettingsOfARunningServer(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve", "--set", "runs.attempts=2")
	s.file("taskyard.toml", "# kept\n[backup]\ncron = \"0 5 1 1 *\" # once\n")
	s.file("agents/puller.md", "---\nname: puller\ndescription: For tests.\ntools: read\nrunner: none\n---\nWork.\n")
	s.start()
	c := s.api(s.token("--scope", "admin"))
	toml := func() string {
		b := read(t, filepath.Join(s.data, "taskyard.toml"))
		return b
	}
	patch := func(set map[string]string, reset ...string) error {
		return c.Do(t.Context(), http.MethodPatch, "/api/settings", map[string]any{"set": set, "reset": reset}, nil)
	}
	t.Run("a change applies immediately and is written to the file", func(t *testing.T) {
		testkit.NoError(t, patch(map[string]string{"claims.lease": "7h", "backup.cron": "0 4 2 2 *"}))
		if got := toml(); got != "# kept\n[backup]\ncron = \"0 4 2 2 *\" # once\n\n[claims]\nlease = \"7h\"\n" {
			t.Errorf("file:\n%s", got)
		}
		call[task.Task](t, c, http.MethodPost, "/api/tasks", map[string]any{"title": "Work", "owner": "puller", "status": "active"})
		call[map[string]any](t, s.api(s.token("--agent", "puller")), http.MethodPost, "/api/agents/puller/signup", map[string]any{})
		if got := s.rows("SELECT (claim_expires - claim_since) / 3600000 FROM tasks"); len(got) != 1 || got[0] != "7" {
			t.Errorf("got claims of %v hours, want 7", got)
		}
		if one := s.settings(c)["backup.cron"]; one.Value != "0 4 2 2 *" || !strings.HasSuffix(one.Source, "taskyard.toml:3") {
			t.Errorf("%+v", one)
		}
		out, _, code := s.command("", "config")
		if code != exitOK || !strings.Contains(out, `lease = "7h"`) {
			t.Errorf("got exit code %d:\n%s", code, out)
		}
	})
	t.Run("the log has the values before and after", func(t *testing.T) {
		want := `settings.changed|{"backup.cron":["0 5 1 1 *","0 4 2 2 *"],"claims.lease":["2h","7h"]}`
		if got := s.rows("SELECT kind || '|' || changes FROM events WHERE kind = 'settings.changed'"); len(got) != 1 || got[0] != want {
			t.Errorf("got events %v, want %s", got, want)
		}
	})
	t.Run("an invalid change changes nothing, and every error is named", func(t *testing.T) {
		before := toml()
		err := patch(map[string]string{"runs.timeout": "1ms", "budget.max_tokens_per_day": "-1", "backup.keep": "3"})
		for _, key := range []string{"runs.timeout", "budget.max_tokens_per_day"} {
			if err == nil || !strings.Contains(err.Error(), key) {
				t.Errorf("got %v, which does not name %s", err, key)
			}
		}
		if toml() != before {
			t.Errorf("file:\n%s", toml())
		}
	})
	t.Run("a setting of a flag is locked", func(t *testing.T) {
		err := patch(map[string]string{"runs.attempts": "5"})
		if err == nil || !strings.Contains(err.Error(), "--set runs.attempts sets it") {
			t.Errorf("%v", err)
		}
	})
	t.Run("only admins can change settings and see their sources", func(t *testing.T) {
		c := s.api(s.token("--scope", "review"))
		err := c.Do(t.Context(), http.MethodPatch, "/api/settings", map[string]any{"set": map[string]string{"backup.keep": "3"}}, nil)
		if err == nil || !strings.Contains(err.Error(), string(task.CodeForbidden)) {
			t.Errorf("%v", err)
		}
		if one := s.settings(c)["runs.attempts"]; one.Value != "2" || one.Source != "" || one.Locked != "" {
			t.Errorf("%+v", one)
		}
	})
	t.Run("SIGHUP reloads the file", func(t *testing.T) {
		s.file("taskyard.toml", "allowed_hosts = [\"b.example\"]\n[claims]\nlease = \"9h\"\n")
		s.sendHUP()
		testkit.Eventually(t, "the lease is 9 h", func() bool { return s.settings(c)["claims.lease"].Value == "9h" })
		if got := s.settings(c)["backup.cron"]; got.Value != got.Default || got.Source != "default" {
			t.Errorf("%+v", got)
		}
		testkit.Eventually(t, "the log names what needs a restart", func() bool {
			return strings.Contains(s.log.String(), `"keys":["allowed_hosts"]`)
		})
	})
	t.Run("SIGHUP changes what is logged", func(t *testing.T) {
		s.file("taskyard.toml", "[claims]\nlease = \"9h\"\n[log]\nlevel = \"debug\"\n")
		s.sendHUP()
		testkit.Eventually(t, "requests are logged", func() bool {
			s.settings(c)
			return strings.Contains(s.log.String(), `"level":"DEBUG"`)
		})
	})
	t.Run("with an invalid file, the last valid version is still in use", func(t *testing.T) {
		s.file("taskyard.toml", "[claims]\nlease = \"soon\"\n")
		s.sendHUP()
		testkit.Eventually(t, "the log reports it", func() bool {
			return strings.Contains(s.log.String(), "the last valid version is still in use")
		})
		if got := s.settings(c)["claims.lease"].Value; got != "9h" {
			t.Errorf("got lease %s", got)
		}
		err := patch(map[string]string{"backup.keep": "3"})
		if err == nil || !strings.Contains(err.Error(), "taskyard.toml:2: claims.lease") {
			t.Errorf("for an edit of it, got %v", err)
		}
		if err := patch(map[string]string{"claims.lease": "3h"}); err != nil {
			t.Errorf("for an edit that fixes it, got %v", err)
		}
	})
}

func TestSettingsFromTheShell(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	sh := in.shellFor(t, "--scope", "admin")
	out := sh.ok("", "settings", "set", "scheduler.cron", "*/10 8-18 * * 1-5")
	if !strings.Contains(out, "scheduler.cron = */10 8-18 * * 1-5  # ") {
		t.Error(out)
	}
	if out := sh.ok("", "settings"); !strings.Contains(out, "runs.timeout = 5m  # default") {
		t.Error(out)
	}
	if out := sh.ok("", "settings", "reset", "scheduler.cron"); out != "scheduler.cron = 0 6-21 * * *  # default" {
		t.Error(out)
	}
	sh.fails(exitRefused, "five fields", "settings", "set", "scheduler.cron", "hourly")
}
