package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"taskyard/db"
	"taskyard/internal/agentfile"
	"taskyard/task"
)

// Where servers share a database, it says what defines the agents, and the agents
// folder of each server is its copy of that. What a person changes in the folder
// goes to the database, and what changes there comes to all folders.

// agentFiles is what a server knows of its folder and the database.
type agentFiles struct {
	mu      sync.Mutex
	base    map[string]string // hashes that both had last, by agent; nil: they never had any
	running bool              // both were equal since this process began
	version atomic.Int64      // of the database then
	behind  bool              // the last sync could not do all
}

// syncTries bounds how often a sync begins again because a file or the database
// changed meanwhile. What is left then is done by the next one.
const syncTries = 5

// SyncAgents stores in the database what changed in the agents folder since both
// were equal, and writes to the folder what changed in the database. Of two changes
// that of the database stays, and the file is kept aside. A server calls it at its
// start, after each change of the folder, and at other times; where the database is
// of one server alone it does nothing.
func (s *Service) SyncAgents(ctx context.Context) error { return s.syncAgents(ctx, true) }

// FollowAgents is SyncAgents for a server that expects no change in the folder: it
// does nothing while the database has none.
func (s *Service) FollowAgents(ctx context.Context) error { return s.syncAgents(ctx, false) }

func (s *Service) syncAgents(ctx context.Context, folder bool) error {
	if !s.db.Shared() {
		return nil
	}
	s.agentFiles.mu.Lock()
	defer s.agentFiles.mu.Unlock()
	ctx = WithIdempotency(ctx, nil) // a change of a folder is not part of a request
	for range syncTries {
		done, err := s.syncOnce(ctx, folder)
		if done || err != nil {
			return err
		}
	}
	return nil
}

// agentSync is one comparison of the folder with the database.
type agentSync struct {
	s       *Service
	files   map[string]agentfile.File
	stored  map[string]string // hashes
	base    map[string]string // of what both have; grows
	known   bool              // the base is one of this folder
	running bool
	again   bool // something changed meanwhile
}

// syncOnce reports whether nothing changed while it worked.
func (s *Service) syncOnce(ctx context.Context, folder bool) (done bool, err error) {
	state := &s.agentFiles
	var list []db.AgentFile
	var version int64
	settled := false
	err = s.db.Snapshot(ctx, func(rx *db.Rx) (err error) {
		if version, err = rx.AgentFilesVersion(); err != nil {
			return err
		}
		if settled = !folder && state.running && !state.behind && version == state.version.Load(); settled {
			return nil
		}
		list, err = rx.AgentFiles()
		return err
	})
	if settled || err != nil {
		return true, err
	}
	if state.base == nil {
		if state.base, err = s.agents.Base(); err != nil {
			return true, err
		}
	}
	x := &agentSync{s: s, stored: map[string]string{}, base: maps.Clone(state.base), known: state.base != nil, running: state.running}
	if x.base == nil {
		x.base = map[string]string{}
	}
	for _, f := range list {
		x.stored[f.Agent] = f.Hash
	}
	if x.files, err = s.agents.Files(); err != nil {
		return true, err
	}
	if version == 0 {
		err = x.storeFolder(ctx)
	} else {
		err = x.compareAll(ctx)
	}
	// Until a new server has all that the database has, its own files are no changes.
	if state.base != nil && !maps.Equal(x.base, state.base) || state.base == nil && err == nil && (x.known || !x.again) {
		state.base = x.base
		err = errors.Join(err, s.agents.SetBase(x.base))
	}
	if state.behind = err != nil || x.again; !state.behind {
		state.running = true
		state.version.Store(version)
	}
	return !x.again, err
}

// storeFolder stores the folder of the first server of a database.
func (x *agentSync) storeFolder(ctx context.Context) error {
	clear(x.base) // that of another database
	fit := map[string]agentfile.File{}
	for id, f := range x.files {
		if !f.Unfit {
			fit[id] = f
		}
	}
	won := false
	err := change(ctx, x.s, task.SystemActor, func(tx *txn) error {
		v, err := tx.AgentFilesVersion()
		if won = err == nil && v == 0; !won { // another server was first
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(fit)) {
			if err := tx.setAgentFile(id, fit[id].Hash, fit[id].Text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.known, x.again = won, !won || len(fit) > 0 // the version is another one then
	if won {
		for id, f := range fit {
			x.setBase(id, f.Hash)
		}
		x.s.log.InfoContext(ctx, "agents folder stored in the database", "agents", len(fit))
	}
	return nil
}

// compareAll compares each agent. One that fails does not stop the others.
func (x *agentSync) compareAll(ctx context.Context) (err error) {
	ids := map[string]bool{}
	for id := range x.files {
		ids[id] = true
	}
	for id := range x.stored {
		ids[id] = true
	}
	for id := range x.base {
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		err = errors.Join(err, x.compare(ctx, id))
	}
	return err
}

// compare compares the file of an agent with the database, and both with what they
// had last.
func (x *agentSync) compare(ctx context.Context, id string) error {
	file, base := x.files[id], x.base[id]
	stored, listed := x.stored[id]
	switch {
	case file.Unfit:
		return nil // nobody could store it, and a server does not write over what it cannot read
	case file.Hash == stored:
		x.setBase(id, stored)
		return nil
	case x.known && file.Hash == base, file.Hash == "" && !x.running:
		// A file that is missing at the start may have been lost with a disk: it
		// is written again. To remove an agent is meant while a server runs.
		return x.writeToFolder(ctx, id, !listed) // else nobody removed it: it is another database, or an older state of it
	case x.known && stored == base:
		if _, served := x.s.agents.Agent(id); served && file.Hash == "" {
			return nil // an editor is replacing the file; the folder waits a moment before it is sure
		}
		return x.storeInDatabase(ctx, id)
	}
	return x.writeToFolder(ctx, id, true)
}

func (x *agentSync) setBase(id, hash string) {
	if hash == "" {
		delete(x.base, id)
		return
	}
	x.base[id] = hash
}

// writeToFolder writes the definitions of the database to the folder.
func (x *agentSync) writeToFolder(ctx context.Context, id string, keep bool) error {
	stored := x.stored[id]
	var text *string
	if stored != "" {
		t, err := read(ctx, x.s, func(rx *db.Rx) (string, error) { return rx.Definition(stored) })
		if err != nil {
			return err
		}
		text = &t
	}
	kept, done, err := x.s.agents.Replace(id, x.files[id].Hash, text, keep)
	if kept != "" {
		x.s.log.WarnContext(ctx, "agent differs from the database: the file was kept aside", "agent", id, "kept", kept)
	}
	if err != nil {
		return err
	}
	if !done {
		x.again = true
		return nil
	}
	x.setBase(id, stored)
	x.s.log.InfoContext(ctx, "agent taken from the database", "agent", id, "removed", stored == "")
	return nil
}

// storeInDatabase stores what a person changed in the folder.
func (x *agentSync) storeInDatabase(ctx context.Context, id string) error {
	file, before := x.files[id], x.stored[id]
	done := false
	err := change(ctx, x.s, task.SystemActor, func(tx *txn) error {
		now, err := tx.AgentFile(id)
		if done = err == nil && now.Hash == before; !done {
			return err
		}
		if file.Hash == "" {
			return tx.removeAgentFile(id, before)
		}
		return tx.saveAgentFile(id, before, file.Hash, file.Text, x.s.agents.Check(id, file.Text).Status)
	})
	x.again = true // the version is another one now
	if err != nil || !done {
		return err
	}
	x.setBase(id, file.Hash)
	x.s.log.InfoContext(ctx, "agent stored in the database", "agent", id, "removed", file.Hash == "")
	return nil
}
