package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestNotificationsReachAWebhook has a server notify a webhook about a question,
// although the webhook fails at first and the server is killed meanwhile.
func TestNotificationsReachAWebhook(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	tries, got := make(chan bool, 100), make(chan map[string]string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			tries <- true
			return
		}
		b, _ := io.ReadAll(r.Body)
		var m map[string]string
		if err := json.Unmarshal(b, &m); err != nil {
			t.Errorf("%v: %s", err, b)
		}
		got <- m
	}))
	t.Cleanup(hook.Close)
	t.Setenv("TASKYARD_NOTIFY_OPS", "generic+"+hook.URL+"/s3cret-path?template=json")
	s := newServer(t, "serve")
	s.file("taskyard.toml", "public_url = \"http://"+s.address+"\"\n[notify.ops]\nurl_env = \"TASKYARD_NOTIFY_OPS\"\nkinds = [\"question\"]\n")
	s.file("agents/coder.md", "---\nname: coder\ndescription: Works.\ntools: read\nrunner: none\n---\nWork.\n")
	s.start()
	c := s.api(s.token("--scope", "operate"))
	tk := call[task.Task](t, c, "POST", "/api/tasks", map[string]any{"title": "Choose the way", "owner": "coder"})
	call[any](t, c, "POST", "/api/tasks/"+tk.ID.String()+"/notify", map[string]any{"message": "North?", "needsReply": true})
	<-tries
	s.kill()
	down.Store(false)
	s.start()
	m := <-got
	if m["link"] != "http://"+s.address+"/tasks/"+tk.ID.String() || !strings.Contains(m["message"], "#1 Choose the way: ") ||
		!strings.Contains(m["message"], "North?") {
		t.Errorf("%q", m)
	}
	testkit.Eventually(t, "the outbox is empty", func() bool { return s.rows("SELECT count(*) FROM outbox")[0] == "0" })
	if strings.Contains(s.log.String(), "s3cret") {
		t.Error("the log contains the address")
	}

	t.Run("a test message is sent while the server runs", func(t *testing.T) {
		if out, errs, code := s.command("", "notify", "test", "ops"); code != exitOK || strings.TrimSpace(out) != "sent to ops (generic)" {
			t.Fatalf("%d %q %q", code, out, errs)
		}
		if m := <-got; m["title"] != "Taskyard: a test" {
			t.Errorf("%q", m)
		}
	})
	t.Run("a failure is reported without the address", func(t *testing.T) {
		down.Store(true)
		if _, errs, code := s.command("", "notify", "test", "ops"); code != exitRefused ||
			!strings.Contains(errs, "not sent to ops (generic)") || !strings.Contains(errs, "502") || strings.Contains(errs, "s3cret") {
			t.Errorf("%d %q", code, errs)
		}
	})
	t.Run("for an unknown name, the known ones are listed", func(t *testing.T) {
		if _, errs, code := s.command("", "notify", "test", "nobody"); code != exitUsage || !strings.Contains(errs, "known are ops") {
			t.Errorf("%d %q", code, errs)
		}
	})
}

// TestTargetsChangeWhileTheServerRuns adds a target with SIGHUP, and removes it.
func TestTargetsChangeWhileTheServerRuns(t *testing.T) {
	got := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
	}))
	t.Cleanup(hook.Close)
	t.Setenv("OPS_ADDRESS", "generic+"+hook.URL+"/s3cret-path")
	s := newServer(t, "serve")
	public := "public_url = \"http://" + s.address + "\"\n"
	s.file("taskyard.toml", public)
	s.file("agents/coder.md", "---\nname: coder\ndescription: Works.\ntools: read\nrunner: none\n---\nWork.\n")
	s.start()
	c := s.api(s.token("--scope", "admin"))
	ask := func(text string) {
		t.Helper()
		tk := call[task.Task](t, c, "POST", "/api/tasks", map[string]any{"title": "Choose the way", "owner": "coder"})
		call[any](t, c, "POST", "/api/tasks/"+tk.ID.String()+"/notify", map[string]any{"message": text, "needsReply": true})
	}
	reload := func(text, event string) {
		t.Helper()
		s.file("taskyard.toml", public+text)
		s.sendHUP()
		testkit.Eventually(t, "the event log has "+event, func() bool {
			return s.rows("SELECT count(*) FROM events WHERE kind = 'settings.changed' AND changes LIKE ?", event)[0] == "1"
		})
	}
	ask("Before?")
	reload("[notify.ops]\nurl_env = \"OPS_ADDRESS\"\n", `%"notify.ops.url_env":["","OPS_ADDRESS"]%`)
	ask("North?")
	if text := <-got; !strings.Contains(text, "North?") || strings.Contains(text, "Before?") {
		t.Errorf("the webhook got %q", text)
	}
	reload("", `%"notify.ops.url_env":["OPS_ADDRESS",""]%`)
	ask("After?")
	if rows := s.rows("SELECT count(*) FROM outbox"); rows[0] != "0" {
		t.Errorf("got %s messages in the outbox for a removed target", rows[0])
	}
	s.file("taskyard.toml", public+"[notify.ops]\nurl_env = \"NOWHERE\"\n")
	s.sendHUP()
	testkit.Eventually(t, "the log names the empty variable", func() bool {
		return strings.Contains(s.log.String(), "notify.ops: the variable NOWHERE: it is empty: set it")
	})
	if len(got) > 0 {
		t.Errorf("a removed target got %q", <-got)
	}
}

func TestANotificationServiceNeedsItsAddress(t *testing.T) {
	t.Setenv("OPS_ADDRESS", "")
	s := newServer(t, "serve")
	s.file("taskyard.toml", "public_url = \"http://"+s.address+"\"\n[notify.ops]\nurl_env = \"OPS_ADDRESS\"\n")
	if err := s.tryStart(); err == nil || !strings.Contains(s.log.String()+err.Error(),
		"notify.ops: the variable OPS_ADDRESS: it is empty: set it") {
		t.Errorf("%v\n%s", err, s.log)
	}
}
