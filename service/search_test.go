package service

import (
	"testing"

	"pgregory.net/rapid"

	"taskyard/task"
)

func (inst *instance) found(q string) []task.ID {
	inst.t.Helper()
	var ids []task.ID
	for _, tk := range must(inst.s.History(inst.ctx(), maya, task.HistoryFilter{Query: q, Limit: 50})).Tasks {
		ids = append(ids, tk.ID)
	}
	return ids
}

func TestSearch(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(maya, "coder", noStart, title("Repair the Zwiebelturm"), func(in *task.New) { in.Description = "It leans like Pisa." })
	must(inst.s.Comment(inst.ctx(), maya, tk.ID, "mortar from Carrara"))
	inst.finish(inst.runTask(tk.ID), completed("scaffold erected"))
	must(inst.s.CompleteTask(inst.ctx(), maya, tk.ID, "plumb again", 0))
	open := inst.create(maya, "coder", noStart, title("Zwiebelturm, the second"))
	other := inst.create(maya, "pull", noStart, title("Something else"))
	must(inst.s.CompleteTask(inst.ctx(), maya, other.ID, "", 0))
	ok(t, inst.s.Index(inst.ctx()))
	for what, q := range map[string]string{
		"title": "zwiebelturm", "the beginning of a word": "zwieb", "description": "pisa", "comment": "Carrara",
		"summary": "plumb", "a run's summary": "scaffold", "several words in any order": "pisa repair",
	} {
		t.Run("finds by "+what, func(t *testing.T) {
			ids := inst.found(q)
			if len(ids) != 1 || ids[0] != tk.ID {
				t.Fatalf("%q: got %v", q, ids)
			}
		})
	}
	t.Run("all words must occur", func(t *testing.T) { equal(t, "found", len(inst.found("pisa nowhere")), 0) })
	t.Run("a filter applies", func(t *testing.T) {
		p := must(inst.s.History(inst.ctx(), maya, task.HistoryFilter{Query: "zwiebelturm", Owner: "pull", Limit: 5}))
		equal(t, "found", len(p.Tasks), 0)
	})
	t.Run("tasks archived later are found after the next round", func(t *testing.T) {
		must(inst.s.CancelTask(inst.ctx(), maya, open.ID, "unwanted"))
		ok(t, inst.s.Index(inst.ctx()))
		equal(t, "found", len(inst.found("zwiebelturm")), 2)
		equal(t, "by reason", len(inst.found("unwanted")), 1)
	})
	t.Run("pages continue where they ended", func(t *testing.T) {
		p := must(inst.s.History(inst.ctx(), maya, task.HistoryFilter{Query: "zwiebelturm", Limit: 1}))
		equal(t, "first", p.Tasks[0].ID, open.ID)
		p = must(inst.s.History(inst.ctx(), maya, task.HistoryFilter{Query: "zwiebelturm", Limit: 1, Before: p.Next}))
		equal(t, "second", p.Tasks[0].ID, tk.ID)
		equal(t, "next", p.Next, "")
	})
}

func TestHostileSearchesNeverFail(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.taskWithStatus(task.Done)
	inst.taskWithStatus(task.Active)
	ok(t, inst.s.Index(inst.ctx()))
	ask := func(t rapidOrTest, q string) {
		if _, err := inst.s.History(inst.ctx(), maya, task.HistoryFilter{Query: q, Limit: 5}); err != nil {
			t.Fatalf("history %q: got %v", q, err)
		}
		if _, err := inst.s.OpenTasks(inst.ctx(), maya, task.TaskFilter{Query: q, Limit: 5}); err != nil {
			t.Fatalf("open tasks %q: got %v", q, err)
		}
	}
	for _, q := range []string{
		`"`, `""`, `"""`, `*`, `a*`, `"a*"`, `a"b`, `'`, `(`, `)`, `(a`, `a OR`, `OR`, `NOT`, `AND AND`, `NEAR/0`, `a NEAR/999999999999 b`,
		`title:a`, `:`, `-a`, `--`, `^a`, `a\`, `%`, `_`, `\%`, "\x00", "a\x00b", "\xff\xfe", "𐐨", "ᏸ", "字", "🦊", "a\u0301", "Ⅷ", "٣",
		"\u1e900\u1e901", "Ａ", "ª", "\U0001E900", "\U0003134A", "\u08A0", "a b c d e f g h i j k l m n",
	} {
		ask(t, q)
	}
	rapid.Check(t, func(rt *rapid.T) { ask(rt, rapid.String().Draw(rt, "query")) })
	for _, cursor := range []string{
		".", "1", "1.", "a.b", "1.1.1", "9223372036854775808.1", "-1.-1",
		"9223372036854775807.9223372036854775807", "-9223372036854775808.0",
	} {
		for name, err := range map[string]error{
			"open":    onlyErr(inst.s.OpenTasks(inst.ctx(), maya, task.TaskFilter{Limit: 5, After: cursor})),
			"history": onlyErr(inst.s.History(inst.ctx(), maya, task.HistoryFilter{Limit: 5, Before: cursor})),
			"search":  onlyErr(inst.s.History(inst.ctx(), maya, task.HistoryFilter{Limit: 5, Before: cursor, Query: "a"})),
		} {
			if err != nil && !task.IsCode(err, task.CodeInvalidField) {
				t.Errorf("%s with cursor %q: got %v", name, cursor, err)
			}
		}
	}
}

type rapidOrTest interface{ Fatalf(string, ...any) }
