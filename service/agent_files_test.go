package service

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/db/dbtest"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// server is one of several servers that share a database, with its own folder.
type server struct {
	t   testing.TB
	s   *Service
	dir string
}

// servers returns two servers whose database has the first one's definitions.
func servers(t *testing.T) (inst *instance, a, b *server) {
	t.Helper()
	if !dbtest.Postgres() {
		t.Skip("several servers need PostgreSQL")
	}
	inst = newInstance(t)
	a = &server{t, inst.s, inst.dir}
	a.sync()
	return inst, a, inst.server(t.TempDir())
}

// server starts a server with a folder.
func (inst *instance) server(dir string) *server {
	inst.t.Helper()
	b := &server{inst.t, New(inst.db, testkit.OpenAgents(inst.t, dir, nil), *inst.s.config()), dir}
	b.sync()
	return b
}

func (b *server) sync() {
	b.t.Helper()
	ok(b.t, b.s.SyncAgents(b.t.Context()))
}

// follow does what a server does after it hears of a change.
func (b *server) follow() {
	b.t.Helper()
	ok(b.t, b.s.FollowAgents(b.t.Context()))
}

// edit changes the folder by hand; text "" removes a file.
func (b *server) edit(id, text string) {
	b.t.Helper()
	if text == "" {
		ok(b.t, os.Remove(filepath.Join(b.dir, id+".md")))
	} else {
		testkit.WriteAgents(b.t, b.dir, map[string]string{id: text})
	}
	b.s.agents.Reload()
}

// checkText checks that the folder and the service have a text; "" means no file.
func (b *server) checkText(id, text string) {
	b.t.Helper()
	got, err := os.ReadFile(filepath.Join(b.dir, id+".md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatal(err)
	}
	equal(b.t, "file of "+id, string(got), text)
	def, _ := b.s.agents.Agent(id)
	equal(b.t, "served "+id, def.Text, text)
}

// setAside returns the contents of files that were set aside.
func (b *server) setAside() (list []string) {
	b.t.Helper()
	for _, name := range must(filepath.Glob(filepath.Join(b.dir, "*.before-*"))) {
		list = append(list, string(must(os.ReadFile(name))))
	}
	slices.Sort(list)
	return list
}

// logged counts the events of an agent's definition.
func (inst *instance) logged(agent string) (n int64) {
	inst.t.Helper()
	ok(inst.t, dbtest.Raw(inst.t, inst.db).QueryRowContext(inst.ctx(),
		"SELECT count(*) FROM events WHERE kind IN ('agent.saved', 'agent.deleted') AND agent = '"+agent+"'").Scan(&n))
	return n
}

var (
	secondText = definition("tools: read", "runner: none", "max_claims: 2")
	thirdText  = definition("tools: read", "runner: none", "max_claims: 3")
)

func TestServersShareAgentDefinitions(t *testing.T) {
	t.Parallel()
	t.Run("a new server gets all definitions, without removed default agents", func(t *testing.T) {
		_, _, b := servers(t)
		for id, text := range definitions {
			if id != "bad" {
				b.checkText(id, text)
			}
		}
		bad, _ := b.s.agents.Agent("bad")
		equal(t, "status of an invalid one", bad.Status, task.AgentInvalid)
		equal(t, "kept", len(b.setAside()), 0)
	})
	t.Run("definitions saved, changed and removed on one server appear on the other", func(t *testing.T) {
		inst, a, b := servers(t)
		def := must(a.s.SaveAgent(inst.ctx(), maya, "novel", secondText, "", false))
		b.follow()
		b.checkText("novel", secondText)
		a.checkText("novel", secondText)
		must(b.s.SaveAgent(inst.ctx(), maya, "novel", thirdText, def.FileHash, false))
		a.follow()
		a.checkText("novel", thirdText)
		ok(t, a.s.DeleteAgent(inst.ctx(), maya, "novel"))
		a.checkText("novel", "")
		b.follow()
		b.checkText("novel", "")
		equal(t, "kept", len(a.setAside())+len(b.setAside()), 0)
		equal(t, "events, without echoes", inst.logged("novel"), 3)
		refused(t, b.s.DeleteAgent(inst.ctx(), maya, "novel"), task.CodeAgentNotFound)
	})
	t.Run("changes in a folder appear on the other server", func(t *testing.T) {
		inst, a, b := servers(t)
		b.edit("novel", secondText)
		b.sync()
		a.follow()
		a.checkText("novel", secondText)
		b.edit("novel", thirdText)
		b.sync()
		a.follow()
		a.checkText("novel", thirdText)
		_, tok := inst.bearer(NewToken{Name: "n", Agent: "novel"})
		a.edit("novel", "")
		a.sync()
		b.follow()
		b.checkText("novel", "")
		equal(t, "kept", len(a.setAside())+len(b.setAside()), 0)
		equal(t, "events, without echoes", inst.logged("novel"), 3)
		_, err := b.s.Authenticate(inst.ctx(), tok.Secret, "")
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("saving what another server changed meanwhile is refused", func(t *testing.T) {
		inst, a, b := servers(t)
		def, _ := a.s.agents.Agent("pull")
		must(b.s.SaveAgent(inst.ctx(), maya, "pull", thirdText, def.FileHash, false))
		_, err := a.s.SaveAgent(inst.ctx(), maya, "pull", secondText, def.FileHash, false)
		refused(t, err, task.CodeStaleAgent)
		a.checkText("pull", thirdText) // as the conflict page shows it
		ok(t, b.s.DeleteAgent(inst.ctx(), maya, "pull"))
		_, err = a.s.SaveAgent(inst.ctx(), maya, "pull", secondText, def.FileHash, false)
		refused(t, err, task.CodeStaleAgent)
	})
	t.Run("of two concurrent saves one succeeds", func(t *testing.T) {
		inst, a, b := servers(t)
		def, _ := a.s.agents.Agent("pull")
		errs := make(chan error, 2)
		for _, c := range []struct {
			*server
			text string
		}{{a, secondText + "a"}, {b, secondText + "b"}} {
			go func() {
				_, err := c.s.SaveAgent(inst.ctx(), maya, "pull", c.text, def.FileHash, false)
				errs <- err
			}()
		}
		one, other := <-errs, <-errs
		equal(t, "one is saved and one refused", task.IsCode(one, task.CodeStaleAgent) != task.IsCode(other, task.CodeStaleAgent), true)
		equal(t, "exactly one error", (one == nil) != (other == nil), true)
		a.follow()
		b.follow()
		now, _ := a.s.agents.Agent("pull")
		b.checkText("pull", now.Text)
	})
	t.Run("a file changed on two servers is set aside on the later one", func(t *testing.T) {
		_, a, b := servers(t)
		a.edit("pull", secondText+"a")
		b.edit("pull", secondText+"b")
		a.sync()
		b.sync()
		b.checkText("pull", secondText+"a")
		equal(t, "kept", strings.Join(b.setAside(), "\n"), secondText+"b")
		a.follow()
		a.checkText("pull", secondText+"a")
	})
	t.Run("an agent that owns open tasks cannot be removed", func(t *testing.T) {
		inst, _, b := servers(t)
		must(inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "pull", NoStart: true}))
		refused(t, b.s.DeleteAgent(inst.ctx(), maya, "pull"), task.CodeAgentBusy)
		b.checkText("pull", definitions["pull"])
	})
}

func TestAServerStartsWithTheDefinitionsInTheDatabase(t *testing.T) {
	t.Run("differing files are set aside", func(t *testing.T) {
		inst, a, _ := servers(t)
		dir := t.TempDir()
		testkit.WriteAgents(t, dir, map[string]string{"pull": thirdText, "alone": secondText})
		b := inst.server(dir)
		b.checkText("pull", definitions["pull"])
		b.checkText("alone", "")
		b.checkText("general-purpose", must(a.s.Agent(maya, "general-purpose")).Text)
		equal(t, "kept", strings.Join(b.setAside(), "\n"), secondText+"\n"+thirdText)
		a.follow()
		a.checkText("alone", "")
	})
	t.Run("files edited while stopped are stored, and missing files are written again", func(t *testing.T) {
		inst, a, b := servers(t)
		testkit.WriteAgents(t, b.dir, map[string]string{"pull": thirdText, "novel": secondText})
		ok(t, os.Remove(filepath.Join(b.dir, "coder.md")))
		b = inst.server(b.dir)
		b.checkText("coder", definitions["coder"])
		a.follow()
		a.checkText("pull", thirdText)
		a.checkText("novel", secondText)
		equal(t, "kept", len(b.setAside()), 0)
	})
	t.Run("meanwhile changed and removed definitions are adopted", func(t *testing.T) {
		inst, a, b := servers(t)
		must(a.s.SaveAgent(inst.ctx(), maya, "pull", thirdText, "", false))
		ok(t, a.s.DeleteAgent(inst.ctx(), maya, "mute"))
		b = inst.server(b.dir)
		b.checkText("pull", thirdText)
		b.checkText("mute", "")
		equal(t, "kept", len(b.setAside()), 0)
	})
	t.Run("tokens of agents without files on this server stay valid", func(t *testing.T) {
		inst, a, _ := servers(t)
		_, tok := inst.bearer(NewToken{Name: "p", Agent: "pull"})
		b := New(inst.db, testkit.OpenAgents(t, t.TempDir(), nil), *inst.s.config())
		ok(t, b.RevokeRemoved(inst.ctx()))
		must(b.Authenticate(inst.ctx(), tok.Secret, ""))
		ok(t, a.s.DeleteAgent(inst.ctx(), maya, "pull"))
		_, err := b.Authenticate(inst.ctx(), tok.Secret, "")
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("agents unknown to the database are set aside, not lost", func(t *testing.T) {
		inst, _, b := servers(t)
		_, err := dbtest.Raw(t, inst.db).ExecContext(inst.ctx(), "DELETE FROM agent_files WHERE agent = 'pull'")
		ok(t, err)
		b = inst.server(b.dir)
		b.checkText("pull", "")
		equal(t, "kept", strings.Join(b.setAside(), "\n"), definitions["pull"])
	})
}

// A server that has not heard of a definition yet must not end the runs of its
// agent, or start them with the previous definition.
func TestRunsWaitForTheirDefinition(t *testing.T) {
	t.Parallel()
	inst, a, b := servers(t)
	next := func(s *server) *Start {
		st, _, err := s.s.NextRun(inst.ctx(), nil)
		ok(t, err)
		return st
	}
	queue := func(agent string) *task.Run {
		tk := must(a.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: agent, NoStart: true}))
		return must(a.s.RunNow(inst.ctx(), maya, tk.ID))
	}
	must(a.s.SaveAgent(inst.ctx(), maya, "novel", definition("tools: read", "runner: script"), "", false))
	must(a.s.SaveAgent(inst.ctx(), maya, "coder", definition("tools: read", "runner: script"), "", false))
	novel, coder := queue("novel"), queue("coder")
	if st := next(b); st != nil {
		t.Errorf("before it has the definitions, a server started a run of %s with %v", st.Run.Agent, st.Spec.Tools)
	}
	equal(t, "status of the run of the new agent", inst.run(novel.ID).Status, task.RunPending)
	b.follow()
	equal(t, "first run that starts", next(b).Run.ID, novel.ID)
	st := next(b)
	equal(t, "second run that starts", st.Run.ID, coder.ID)
	equal(t, "its tools", strings.Join(st.Spec.Tools, " "), "read")
}

func TestFilesThatCannotBeStoredAreKept(t *testing.T) {
	t.Parallel()
	inst, a, b := servers(t)
	b.edit("pull", "\xff")
	b.sync()
	a.follow()
	a.checkText("pull", definitions["pull"])
	must(a.s.SaveAgent(inst.ctx(), maya, "pull", thirdText, "", false))
	b.follow()
	equal(t, "file", string(must(os.ReadFile(filepath.Join(b.dir, "pull.md")))), "\xff")
	_, err := b.s.SaveAgent(inst.ctx(), maya, "pull", secondText, "", false)
	refused(t, err, task.CodeStaleAgent)
	b.edit("pull", "")
	b.sync()
	b.checkText("pull", thirdText)
}

func TestAnUnreadableFolderRemovesNoAgents(t *testing.T) {
	t.Parallel()
	_, a, b := servers(t)
	ok(t, os.Rename(b.dir, b.dir+"-elsewhere"))
	if err := b.s.SyncAgents(t.Context()); err == nil {
		t.Error("got no error for a missing folder")
	}
	a.follow()
	a.checkText("pull", definitions["pull"])
	ok(t, os.Rename(b.dir+"-elsewhere", b.dir))
	b.sync()
	b.checkText("pull", definitions["pull"])
}
