package handlers

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// largeTasks returns how many tasks of a largeSite together exceed a response.
func largeTasks() int {
	if testkit.Whole() {
		return 20
	}
	return 6
}

// largeSite returns a site with tasks, comments and lines that exceed a response.
func largeSite(t *testing.T) (s *site, one task.ID) {
	s = newSite(t)
	ctx := context.Background()
	details := strings.Repeat("<d>", 20_000)
	for i := range largeTasks() {
		tk, err := s.svc.CreateTask(ctx, task.SystemActor,
			task.New{Title: fmt.Sprint("large ", i), Owner: "pull", Description: strings.Repeat("x", 40_000)})
		s.ok(err)
		if one == 0 {
			one = tk.ID
		}
		// Larger than the service accepts today, as written by an earlier version.
		err = s.db.Write(ctx, func(tx *db.Tx) error {
			steps := make([]task.Step, 30)
			for n := range steps {
				steps[n] = task.Step{Title: "s", Details: details}
			}
			return tx.ReplaceSteps(tk.ID, steps)
		})
		s.ok(err)
	}
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		for range 100 {
			if _, err := tx.InsertMessage(task.Message{
				TaskID: one, Kind: task.KindComment,
				Author: "coder", Content: strings.Repeat("c", 30_000),
			}); err != nil {
				return err
			}
		}
		return tx.AddEvent(task.Event{
			Actor: "coder", Kind: task.EvTaskUpdated, TaskID: one,
			Changes: []byte(`{"description":["` + strings.Repeat("a", 60_000) + `"]}`),
		})
	})
	s.ok(err)
	return s, one
}

// page is a page of any list.
type anyPage struct {
	Tasks     []struct{ ID string }
	Comments  []struct{ ID string }
	Messages  []struct{ ID string }
	Events    []struct{ ID string }
	Next      string
	CutBySize bool
}

func TestListResponsesStayWithinTheirSizeLimit(t *testing.T) {
	t.Parallel()
	testkit.OneGoroutine(t)
	s, one := largeSite(t)
	for _, c := range []struct {
		path string
		want int
		ids  func(anyPage) []struct{ ID string }
	}{
		{"/api/tasks?full=true&limit=500", largeTasks(), func(p anyPage) []struct{ ID string } { return p.Tasks }},
		{"/api/agents/pull/queue?limit=500", largeTasks(), func(p anyPage) []struct{ ID string } { return p.Tasks }},
		{"/api/tasks/" + one.String() + "/comments?limit=500", 100, func(p anyPage) []struct{ ID string } { return p.Comments }},
		{"/api/tasks/" + one.String() + "/thread?limit=500", 100, func(p anyPage) []struct{ ID string } { return p.Messages }},
	} {
		seen, cut, after := map[string]bool{}, 0, ""
		for range 200 {
			a := s.do("viewer", "GET", c.path+"&after="+url.QueryEscape(after), "").want(200)
			if after == "" && strings.Contains(c.path, "queue") {
				t.Logf("%s: %d bytes in the first response", c.path, len(a.Body))
			}
			if len(a.Body) > answerBytes {
				t.Fatalf("%s: got a response of %d bytes", c.path, len(a.Body))
			}
			p := decode[anyPage](a)
			for _, x := range c.ids(p) {
				seen[x.ID] = true
			}
			if p.CutBySize {
				cut++
			}
			if after = p.Next; after == "" {
				break
			}
		}
		if len(seen) != c.want || cut == 0 {
			t.Errorf("%s: read %d of %d entries, %d responses report a cut", c.path, len(seen), c.want, cut)
		}
	}
}

func TestALargeTaskIsReturnedInParts(t *testing.T) {
	t.Parallel()
	s, one := largeSite(t)
	a := s.do("viewer", "GET", "/api/tasks/"+one.String(), "").want(200)
	if len(a.Body) > answerBytes {
		t.Fatalf("got %d bytes", len(a.Body))
	}
	tk := decode[task.Task](a)
	if strings.Join(tk.Cut, " ") != "comments details" || len(tk.Steps) != 30 || tk.Steps[3].DetailsCut == 0 || len(tk.Comments) == 0 {
		t.Fatalf("got cut %v, %d steps, %d bytes cut, %d comments", tk.Cut, len(tk.Steps), tk.Steps[3].DetailsCut, len(tk.Comments))
	}
	st := decode[task.Step](s.do("viewer", "GET", "/api/tasks/"+one.String()+"/steps/3", "").want(200))
	if len(st.Details) != 60_000 || st.DetailsCut != 0 {
		t.Errorf("got %d bytes of details, %d cut", len(st.Details), st.DetailsCut)
	}
	s.do("viewer", "GET", "/api/tasks/"+one.String()+"/steps/30", "").field(task.CodeInvalidField, "index")
	got := s.do("pull", "POST", "/api/agents/pull/signup", `{"count":50}`).want(200)
	if n := len(got.Body); n > answerBytes {
		t.Errorf("a signup for many tasks: got %d bytes", n)
	}
	if n := len(decode[anyPage](got).Tasks); n == 0 || n > 5 {
		t.Errorf("claimed %d long tasks at once", n)
	}
	if bytes.Contains(s.do("viewer", "GET", "/api/tasks/"+s.create("pull", ""), "").Body, []byte(`"cut"`)) {
		t.Error("a small task reports a cut")
	}
}
