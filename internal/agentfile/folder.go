package agentfile

import (
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/task"
)

const (
	ext         = ".md"
	debounce    = 100 * time.Millisecond // quiet time after a change before reading
	rescanEvery = 30 * time.Second       // in case file events are lost
	pollEvery   = time.Second            // without file events
)

// Folder holds the agents that one folder defines. Its read methods never wait
// for the disk and may be called from any goroutine.
type Folder struct {
	dir    string
	opt    func() *Options
	log    *slog.Logger
	rescan time.Duration

	snap atomic.Pointer[snapshot]

	mu      sync.Mutex // held while the folder is read or written
	checked *Options   // options with which the agents were checked
	valid   map[string]task.Agent
	changed map[string]bool // IDs that Watch has not reported yet
	kick    chan struct{}   // wakes Watch when changed grows
}

type snapshot struct {
	agents   []task.Agent // by ID
	problems []string
}

// Open creates the folder (mode 0700) if it does not exist, writes the two
// default agents to a folder that never had them, and reads every file. A
// broken file is not an error; a folder that cannot be created or listed is.
// opt returns the current options for checks; if it returns another pointer,
// the next read checks all files again.
func Open(dir string, opt func() *Options, log *slog.Logger) (*Folder, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make agents folder: %w", err)
	}
	if err := writeDefaults(dir); err != nil {
		log.Warn("failed to write the default agents", "dir", dir, "err", err)
	}
	f := &Folder{
		dir: dir, opt: opt, log: log, rescan: rescanEvery,
		valid: map[string]task.Agent{}, changed: map[string]bool{}, kick: make(chan struct{}, 1),
	}
	f.snap.Store(&snapshot{})
	if err := f.reload(); err != nil {
		return nil, fmt.Errorf("read agents folder: %w", err)
	}
	f.mu.Lock()
	clear(f.changed) // the first read is not a change
	f.mu.Unlock()
	return f, nil
}

// Dir returns the folder's path.
func (f *Folder) Dir() string { return f.dir }

// Agents returns all agents by ID, including invalid ones. The slice is shared
// and must not be modified.
func (f *Folder) Agents() []task.Agent { return f.snap.Load().agents }

// Agent returns an agent by ID.
func (f *Folder) Agent(id string) (task.Agent, bool) {
	list := f.snap.Load().agents
	i, found := slices.BinarySearchFunc(list, id, func(a task.Agent, id string) int { return strings.Compare(a.ID, id) })
	if !found {
		return task.Agent{}, false
	}
	return list[i], true
}

// Problems returns a sentence for each file that does not define an agent:
// wrong names, symbolic links, folders. The slice is shared and must not be
// modified.
func (f *Folder) Problems() []string { return f.snap.Load().problems }

// Reload reads the folder again. If the folder cannot be listed, everything
// stays as it was and Problems says so.
func (f *Folder) Reload() {
	_ = f.reload() // logged there
}

func (f *Folder) reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reloadLocked()
}

func (f *Folder) reloadLocked() error {
	files, problems, err := listFolder(f.dir)
	old := f.snap.Load()
	if err != nil {
		problems := []string{"the agents folder cannot be read, so the agents stay as they were: " + reason(err)}
		if !slices.Equal(old.problems, problems) { // once, not on every rescan
			f.log.Error("failed to read the agents folder", "dir", f.dir, "err", err)
		}
		f.snap.Store(&snapshot{agents: old.agents, problems: problems})
		return err
	}
	opt := f.opt()
	again := opt != f.checked
	if f.checked = opt; again {
		f.recheck()
	}
	next := &snapshot{agents: make([]task.Agent, 0, len(files))}
	for _, name := range files {
		a, problem := f.load(name, again)
		if problem != "" {
			problems = append(problems, problem)
		} else if a != nil {
			next.agents = append(next.agents, *a)
		}
	}
	slices.SortFunc(next.agents, func(a, b task.Agent) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(problems)
	next.problems = problems
	f.snap.Store(next)
	f.note(old, next)
	return nil
}

// recheck checks the last valid versions with other options. A version that
// cannot start anything with them is no longer served, as after a restart of
// the server.
func (f *Folder) recheck() {
	for id, before := range f.valid {
		now := Parse(id, before.Text, *f.checked)
		now.LoadedAt = before.LoadedAt
		if f.valid[id] = now; now.Status == task.AgentInvalid {
			delete(f.valid, id)
		}
	}
}

// note logs the differences between two snapshots and stores them for Watch.
func (f *Folder) note(old, next *snapshot) {
	previous := map[string]task.Agent{}
	for _, a := range old.agents {
		previous[a.ID] = a
	}
	for _, a := range next.agents {
		before, known := previous[a.ID]
		delete(previous, a.ID)
		if known && reflect.DeepEqual(before, a) {
			continue
		}
		f.changed[a.ID] = true
		if a.Status == task.AgentInvalid {
			f.log.Warn("agent definition invalid", "agent", a.ID, "serving", a.Serving, "problem", firstFatal(a))
		} else {
			f.log.Info("agent loaded", "agent", a.ID, "status", a.Status)
		}
	}
	for id := range previous {
		f.changed[id] = true
		delete(f.valid, id)
		f.log.Info("agent removed", "agent", id)
	}
	if !slices.Equal(old.problems, next.problems) {
		for _, p := range next.problems {
			f.log.Warn("file defines no agent", "problem", p)
		}
	}
	if len(f.changed) > 0 {
		select {
		case f.kick <- struct{}{}:
		default: // Watch is already awake
		}
	}
}

func firstFatal(a task.Agent) string {
	for _, p := range a.Problems {
		if p.Fatal {
			return fmt.Sprintf("line %d: %s", p.Line, p.Message)
		}
	}
	return ""
}
