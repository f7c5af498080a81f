// Package testservice provides a real service with its own database and agents
// folder.
package testservice

import (
	"log/slog"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/agentfile"
	"taskyard/internal/testkit"
	"taskyard/service"
)

// Options overrides the defaults of an instance.
type Options struct {
	Agents   map[string]string     // definitions by agent ID
	Runners  *agentfile.Options    // nil: as in testkit.OpenAgents
	Config   func(*service.Config) // may be nil
	Database *db.DB                // nil: a new one
	Log      *slog.Logger          // nil: nothing is logged
	Clock    *testkit.Clock        // nil: stopped
	Folder   string                // of the agents; "": a temporary one
}

// Instance is an instance that New created.
type Instance struct {
	Service *service.Service
	DB      *db.DB
	Dir     string // of the agents
	Clock   *testkit.Clock
}

// New creates an instance in which nothing happens by itself. Its passwords are
// cheap to hash.
func New(t testing.TB, opt Options) *Instance {
	t.Helper()
	inst := &Instance{DB: opt.Database, Dir: opt.Folder, Clock: opt.Clock}
	if inst.Dir == "" {
		inst.Dir = t.TempDir()
	}
	if inst.Clock == nil {
		inst.Clock = testkit.NewClock()
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	testkit.WriteAgents(t, inst.Dir, opt.Agents)
	if inst.DB == nil {
		inst.DB = dbtest.New(t, func(o *db.Options) { o.Now, o.Log = inst.Clock.Now, opt.Log })
	}
	cfg := service.Config{Rules: testkit.Rules(), Now: inst.Clock.Now, Log: opt.Log, CheapPasswords: true}
	if opt.Config != nil {
		opt.Config(&cfg)
	}
	inst.Service = service.New(inst.DB, testkit.OpenAgents(t, inst.Dir, opt.Runners), cfg)
	return inst
}
