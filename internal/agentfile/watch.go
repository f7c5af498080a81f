package agentfile

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxDelay bounds how long a stream of changes can delay reading.
const maxDelay = 5 * debounce

// Watch reads the folder again whenever a file changes, until ctx ends, and
// then returns nil. It calls onChange (if not nil) with the IDs of agents that
// were added, changed or removed, including by Save, Delete and Reload, after
// the snapshot was updated. onChange runs on Watch's goroutine and may call the
// folder. Without file events, the folder is read once a second. At most one
// Watch may run at a time.
func (f *Folder) Watch(ctx context.Context, onChange func(ids []string)) error {
	w, err := f.watcher()
	rescan := f.rescan
	var events chan fsnotify.Event
	var failures chan error
	if err != nil {
		f.log.Warn("no file events for the agents folder, polling", "dir", f.dir, "err", err)
		rescan = min(rescan, pollEvery)
	} else {
		defer func() { _ = w.Close() }()
		events, failures = w.Events, w.Errors
	}
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	var due <-chan time.Time
	var since time.Time
	f.Reload() // changes between Open and now
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if now := time.Now(); affectsAgents(e, f.dir) {
				if due == nil {
					since = now
				}
				due = time.After(min(debounce, max(0, maxDelay-now.Sub(since))))
			}
		case err, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			f.log.Warn("file events lost", "dir", f.dir, "err", err)
			f.Reload()
		case <-due:
			due = nil
			f.Reload()
		case <-tick.C:
			if w != nil {
				_ = w.Add(f.dir) // the folder may have been replaced
			}
			f.Reload()
		case <-f.kick:
			f.notify(onChange)
		}
	}
}

func (f *Folder) watcher() (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := w.Add(f.dir); err != nil {
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

// affectsAgents reports whether an event can change an agent.
func affectsAgents(e fsnotify.Event, dir string) bool {
	name := filepath.Base(e.Name)
	return filepath.Clean(e.Name) == filepath.Clean(dir) ||
		!strings.HasPrefix(name, ".") && strings.EqualFold(filepath.Ext(name), ext)
}

func (f *Folder) notify(onChange func([]string)) {
	f.mu.Lock()
	ids := slices.Sorted(maps.Keys(f.changed))
	clear(f.changed)
	f.mu.Unlock()
	if len(ids) > 0 && onChange != nil {
		onChange(ids)
	}
}
