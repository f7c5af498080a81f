package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"taskyard/db/dbtest"
	"taskyard/internal/config"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestInstancesOnOneDatabaseHaveTheSameAgents opens two data folders on one
// database. Each follows its folder and the database, as a server does.
func TestInstancesOnOneDatabaseHaveTheSameAgents(t *testing.T) {
	if !dbtest.Postgres() {
		t.Skip("several servers need PostgreSQL")
	}
	url := dbtest.PostgresURL(t, t.TempDir())
	maya := task.Actor{Name: "user:maya", Role: task.RoleAdmin}
	text := "---\ndescription: d\ntools: read\n---\nWork.\n"
	a, b := follower(t, url), follower(t, url)

	if _, err := a.Service.SaveAgent(t.Context(), maya, "novel", text, "", false); err != nil {
		t.Fatal(err)
	}
	b.Service.Hub().Publish([]string{"agents"}) // as a server does when it is notified of a change
	b.eventually(t, "novel", text)

	testkit.WriteAgents(t, b.Agents.Dir(), map[string]string{"novel": text + "More.\n"})
	a.eventually(t, "novel", text+"More.\n") // it gets no notification

	if err := os.Remove(filepath.Join(a.Agents.Dir(), "novel.md")); err != nil {
		t.Fatal(err)
	}
	b.eventually(t, "novel", "")
}

// Whatever waits for a point in time uses the clock of the database, which wrote it.
func TestAServerOnPostgresUsesTheClockOfTheDatabase(t *testing.T) {
	if !dbtest.Postgres() {
		t.Skip("SQLite uses the clock of the server")
	}
	c, _, err := config.Load(config.LoadOptions{Flags: map[string]string{"data": t.TempDir(), "database": dbtest.PostgresAhead(t)}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := Open(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Service.Join(t.Context(), task.Server{ID: "a"}); err != nil {
		t.Error(err)
	}
	if ahead := time.Until(in.Service.Now().Std()); ahead < 50*time.Minute {
		t.Errorf("the server is %v ahead of this machine's clock, want an hour as the database", ahead.Round(time.Second))
	}
	if _, leads := in.Service.LeadsSince(); !leads {
		t.Error("the server did not become leader")
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// follower returns an instance in its own folder that follows the folder and the database.
func follower(t *testing.T, url string) *Instance {
	t.Helper()
	c, _, err := config.Load(config.LoadOptions{Flags: map[string]string{"data": t.TempDir(), "database": url}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := Open(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), Now: time.Now, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	in.syncAgents(ctx, in.Service.SyncAgents)
	all.Go(func() { in.followAgents(ctx) })
	all.Go(func() {
		if err := in.Agents.Watch(ctx, func(ids []string) { in.agentsChanged(ctx, ids) }); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		all.Wait()
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	return in
}

// eventually waits until an agent is served with a text; with "", until it is not served.
func (in *Instance) eventually(t *testing.T, id, text string) {
	t.Helper()
	testkit.Eventually(t, "the definition of "+id, func() bool {
		def, ok := in.Agents.Agent(id)
		return ok == (text != "") && def.Text == text
	})
}
