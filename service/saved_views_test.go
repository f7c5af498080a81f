package service

import (
	"strconv"
	"strings"
	"testing"

	"taskyard/task"
)

// person adds a person, who can save views.
func (inst *instance) person(name string) task.Actor {
	inst.t.Helper()
	u := must(inst.s.AddUser(inst.ctx(), task.SystemActor, name, "correct horse battery", task.RoleViewer))
	return task.Actor{Name: task.UserActorName(name), Role: u.Role, UserID: u.ID}
}

func TestSavedViews(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	vera, oleg := inst.person("vera"), inst.person("oleg")
	save := func(name, path string) (task.SavedView, error) { return inst.s.SaveView(inst.ctx(), vera, name, path) }
	mine := must(save("  Mine ", "/tasks?q=a"))
	equal(t, "name", mine.Name, "Mine")

	t.Run("belong to one person", func(t *testing.T) {
		equal(t, "vera's", len(must(inst.s.SavedViews(inst.ctx(), vera))), 1)
		equal(t, "oleg's", len(must(inst.s.SavedViews(inst.ctx(), oleg))), 0)
		refused(t, onlyErr(inst.s.RenameView(inst.ctx(), oleg, mine.ID, "x")), task.CodeNotFound)
		refused(t, onlyErr(inst.s.DeleteView(inst.ctx(), oleg, mine.ID)), task.CodeNotFound)
		refused(t, onlyErr(inst.s.SaveView(inst.ctx(), coder, "x", "/tasks")), task.CodeForbidden)
	})
	t.Run("invalid and huge inputs are refused", func(t *testing.T) {
		for _, name := range []string{"", " ", strings.Repeat("x", task.MaxViewName+1), "a\nb", "\xff", "a\x00"} {
			refused(t, onlyErr(save(name, "/tasks")), task.CodeInvalidField, "name")
		}
		for _, path := range []string{"", "https://example.com", "/" + strings.Repeat("x", task.MaxViewPath)} {
			refused(t, onlyErr(save("x", path)), task.CodeInvalidField, "path")
		}
		refused(t, onlyErr(save("MINE", "/tasks")), task.CodeNameTaken)
	})
	t.Run("are renamed and deleted, with events", func(t *testing.T) {
		other := must(save("Other", "/queues"))
		refused(t, onlyErr(inst.s.RenameView(inst.ctx(), vera, other.ID, "mine")), task.CodeNameTaken)
		must(inst.s.RenameView(inst.ctx(), vera, other.ID, "OTHER"))
		equal(t, "name", must(inst.s.SavedViews(inst.ctx(), vera))[1].Name, "OTHER")
		must(inst.s.DeleteView(inst.ctx(), vera, other.ID))
		var kinds []string
		for _, e := range must(inst.s.Events(inst.ctx(), maya, task.EventFilter{Limit: 100})) {
			if strings.HasPrefix(e.Kind, "view.") {
				kinds = append(kinds, e.Kind+" by "+e.Actor)
			}
		}
		equal(t, "events", strings.Join(kinds, ", "),
			"view.saved by user:vera, view.saved by user:vera, view.renamed by user:vera, view.deleted by user:vera")
	})
	t.Run("whose names are equal only to the database are refused", func(t *testing.T) {
		wide := must(save("A", "/tasks"))
		second, err := save("\uff21", "/tasks") // a fullwidth A: different for SQLite, equal for PostgreSQL
		if err != nil {
			refused(t, err, task.CodeNameTaken)
		} else {
			must(inst.s.DeleteView(inst.ctx(), vera, second.ID))
		}
		must(inst.s.DeleteView(inst.ctx(), vera, wide.ID))
	})
	t.Run("are at most 50 per person", func(t *testing.T) {
		for i := 1; i < task.MaxSavedViews; i++ {
			must(save(strconv.Itoa(i), "/tasks"))
		}
		refused(t, onlyErr(save("one more", "/tasks")), task.CodeInvalidField, "50 views")
	})
}
