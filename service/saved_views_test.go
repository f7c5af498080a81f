package service

import (
	"strconv"
	"strings"
	"testing"

	"taskyard/task"
)

// person adds somebody to the instance who can keep views.
func (y *instance) person(name string) task.Actor {
	y.t.Helper()
	u := must(y.s.AddUser(y.ctx(), task.SystemActor, name, "correct horse battery", task.RoleViewer))
	return task.Actor{Name: task.UserActorName(name), Role: u.Role, UserID: u.ID}
}

func TestSavedViews(t *testing.T) {
	y := newInstance(t)
	vera, oleg := y.person("vera"), y.person("oleg")
	save := func(name, path string) (task.SavedView, error) { return y.s.SaveView(y.ctx(), vera, name, path) }
	mine := must(save("  Mine ", "/tasks?q=a"))
	equal(t, "name", mine.Name, "Mine")

	t.Run("belong to one person", func(t *testing.T) {
		equal(t, "vera's", len(must(y.s.SavedViews(y.ctx(), vera))), 1)
		equal(t, "oleg's", len(must(y.s.SavedViews(y.ctx(), oleg))), 0)
		refused(t, onlyErr(y.s.RenameView(y.ctx(), oleg, mine.ID, "x")), task.CodeNotFound)
		refused(t, onlyErr(y.s.DeleteView(y.ctx(), oleg, mine.ID)), task.CodeNotFound)
		refused(t, onlyErr(y.s.SaveView(y.ctx(), coder, "x", "/tasks")), task.CodeForbidden)
	})
	t.Run("bad and huge inputs are refused", func(t *testing.T) {
		for _, name := range []string{"", " ", strings.Repeat("x", task.MaxViewName+1), "a\nb", "\xff", "a\x00"} {
			refused(t, onlyErr(save(name, "/tasks")), task.CodeInvalidField, "name")
		}
		for _, path := range []string{"", "https://example.com", "/" + strings.Repeat("x", task.MaxViewPath)} {
			refused(t, onlyErr(save("x", path)), task.CodeInvalidField, "path")
		}
		refused(t, onlyErr(save("MINE", "/tasks")), task.CodeNameTaken)
	})
	t.Run("are renamed and deleted, on record", func(t *testing.T) {
		other := must(save("Other", "/queues"))
		refused(t, onlyErr(y.s.RenameView(y.ctx(), vera, other.ID, "mine")), task.CodeNameTaken)
		must(y.s.RenameView(y.ctx(), vera, other.ID, "OTHER"))
		equal(t, "name", must(y.s.SavedViews(y.ctx(), vera))[1].Name, "OTHER")
		must(y.s.DeleteView(y.ctx(), vera, other.ID))
		var kinds []string
		for _, e := range must(y.s.Events(y.ctx(), maya, task.EventFilter{Limit: 100})) {
			if strings.HasPrefix(e.Kind, "view.") {
				kinds = append(kinds, e.Kind+" by "+e.Actor)
			}
		}
		equal(t, "events", strings.Join(kinds, ", "),
			"view.saved by user:vera, view.saved by user:vera, view.renamed by user:vera, view.deleted by user:vera")
	})
	t.Run("whose names only the database takes for one are refused, not broken", func(t *testing.T) {
		wide := must(save("A", "/tasks"))
		second, err := save("\uff21", "/tasks") // a wide A: another name for SQLite, the same for PostgreSQL
		if err != nil {
			refused(t, err, task.CodeNameTaken)
		} else {
			must(y.s.DeleteView(y.ctx(), vera, second.ID))
		}
		must(y.s.DeleteView(y.ctx(), vera, wide.ID))
	})
	t.Run("are at most 50 a person", func(t *testing.T) {
		for i := 1; i < task.MaxSavedViews; i++ {
			must(save(strconv.Itoa(i), "/tasks"))
		}
		refused(t, onlyErr(save("one more", "/tasks")), task.CodeInvalidField, "50 views")
	})
}
