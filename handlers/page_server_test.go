package handlers

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// sampleSettings are three settings in place of a configuration file: a number, a
// locked one, and a choice.
type sampleSettings struct {
	mu     sync.Mutex
	values map[string]string
	edits  []map[string]*string
}

func (f *sampleSettings) List() []task.Setting {
	f.mu.Lock()
	defer f.mu.Unlock()
	value := func(key, def string) string {
		if v, ok := f.values[key]; ok {
			return v
		}
		return def
	}
	return []task.Setting{
		{Key: "runs.attempts", About: "failures in a row", Value: value("runs.attempts", "3"), Default: "3", Source: "default"},
		{
			Key: "runs.timeout", About: "time limit of a run", Value: "5m", Default: "5m",
			Source: "TASKYARD_RUNS_TIMEOUT", Locked: "the variable sets it",
		},
		{
			Key: "approval.policy", About: "runs to approve", Value: value("approval.policy", "delegated"), Default: "delegated",
			Choices: []string{"always", "delegated"},
		},
	}
}

func (f *sampleSettings) Edit(values map[string]*string) (out service.SettingsEdit, err error) {
	for key, v := range values {
		if key != "runs.attempts" && key != "approval.policy" {
			return out, task.FieldErrorf(key, "is locked")
		}
		if n := ""; v != nil {
			if n = *v; key == "runs.attempts" {
				if _, err := strconv.Atoi(n); err != nil {
					return out, task.FieldErrorf(key, "%q is not valid: give a whole number from 1 to 10", n)
				}
			}
		}
	}
	return service.SettingsEdit{Write: func() error { return nil }, Undo: func() error { return nil }, Apply: func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		next := maps.Clone(f.values)
		if next == nil {
			next = map[string]string{}
		}
		for key, v := range values {
			if delete(next, key); v != nil {
				next[key] = *v
			}
		}
		f.values, f.edits = next, append(f.edits, values)
	}}, nil
}

func TestAdminsChangeSettingsOnThePage(t *testing.T) {
	t.Parallel()
	file := &sampleSettings{}
	inst := newSite(t, func(o setup) { o.Config.Settings = file })
	maya := inst.maya()
	send := func(pairs ...string) *webPage {
		return maya.post("/settings/server", append([]string{"was.runs.attempts", "3", "was.approval.policy", "delegated"}, pairs...)...)
	}
	t.Run("the page shows value, default, source and lock", func(t *testing.T) {
		maya.get("/settings/server").shows("Failures in a row", "Default: 3", "now from TASKYARD_RUNS_TIMEOUT", "Locked: the variable sets it")
	})
	t.Run("unchanged fields are not written", func(t *testing.T) {
		send("runs.attempts", "5", "approval.policy", "delegated").redirectsTo("/settings/server")
		if len(file.edits) != 1 || len(file.edits[0]) != 1 || *file.edits[0]["runs.attempts"] != "5" {
			t.Errorf("got %v", file.edits)
		}
		send("runs.attempts", "3", "approval.policy", "delegated").redirectsTo("/settings/server")
		if len(file.edits) != 1 {
			t.Errorf("a form without changes wrote %v", file.edits[1:])
		}
		if got := maya.get("/settings/server").field("/settings/server", "runs.attempts"); got != "5" {
			t.Errorf("an unchanged field was reset to %q", got)
		}
	})
	t.Run("an empty field restores the default", func(t *testing.T) {
		send("runs.attempts", "").redirectsTo("/settings/server")
		if v, ok := file.edits[len(file.edits)-1]["runs.attempts"]; !ok || v != nil {
			t.Errorf("got %v", file.edits)
		}
	})
	t.Run("an error is shown at its field, and the input is kept", func(t *testing.T) {
		page := send("runs.attempts", "many", "approval.policy", "always").is(http.StatusUnprocessableEntity)
		page.shows(`&#34;many&#34; is not valid: give a whole number from 1 to 10`)
		if got := page.field("/settings/server", "runs.attempts"); got != "many" {
			t.Errorf("got field %q", got)
		}
		if !strings.Contains(page.body, `<option value="always" selected`) {
			t.Error("the selected choice was lost")
		}
	})
	t.Run("other roles do not see the page", func(t *testing.T) {
		vera := inst.person("vera", task.RoleViewer)
		vera.get("/settings/server").is(http.StatusForbidden)
		vera.post("/settings/server", "runs.attempts", "1").is(http.StatusForbidden)
		vera.get("/settings/limits").shows("Failures in a row", "runs.attempts")
	})
}
