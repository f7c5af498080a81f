// Package service holds the verbs of Taskyard. One exported method is one use
// case and one transaction; every surface (pages, JSON, scheduler) calls it, so
// that rule, event and error are the same everywhere. Errors that a caller may
// read are *task.Error; each method names those of its own.
package service

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/db"
	"taskyard/internal/agentfile"
	"taskyard/task"
)

// Config is what the service needs to know. Rules must be given; the zero
// values of other fields mean what their comments say.
type Config struct {
	task.Rules
	Now      func() time.Time                // of a test; nil: time.Now for what this process measures, else the clock of the database
	Log      *slog.Logger                    // nil: slog.Default
	Ticks    func(after task.Time) task.Time // the first tick after a moment, 0 for none; nil: no ticks
	Runner   func(name string) Runner        // as configured now, zero for none; nil: there are none
	Notify   []NotifyTarget                  // external services that are notified of what waits
	Secrets  func(names []string) []string   // the server's own, and the values of the variables that a definition names; nil: none are known
	Settings SettingsFile                    // what admins may change while the server runs; nil: nothing

	Repositories Repositories // of projects; nil: none can be used

	// Only tests and benchmarks set these.
	RunLease       time.Duration                   // of a run between heartbeats; 0: 60 s
	TokenLife      time.Duration                   // 0: 90 days
	QueueLimit     int                             // open tasks of an agent; 0: 200,000
	TodoLimit      int                             // items of a todo list; 0: 1,000,000
	WaitLimit      int                             // signups that wait at a time; 0: 4,096
	Backoff        func(attempt int) time.Duration // nil: exponential
	CheapPasswords bool                            // to hash a password costs next to nothing
}

func (c *Config) defaults() {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Backoff == nil {
		c.Backoff = backoff
	}
	if c.Runner == nil {
		c.Runner = func(string) Runner { return Runner{} }
	}
	c.RunLease = cmp.Or(c.RunLease, time.Minute)
	c.TokenLife = cmp.Or(c.TokenLife, 90*24*time.Hour)
	c.QueueLimit = cmp.Or(c.QueueLimit, 200_000)
	c.TodoLimit = cmp.Or(c.TodoLimit, 1_000_000)
	c.WaitLimit = cmp.Or(c.WaitLimit, 4096)
}

// Service is the instance. It is safe for concurrent use.
type Service struct {
	db          *db.DB
	agents      *agentfile.Folder
	cfg         atomic.Pointer[Config]
	now         func() task.Time
	log         *slog.Logger
	hub         *Hub
	auth        *authState
	loads       cached[Overview]
	inFlight    cached[[]task.ID]
	lastEnds    cached[map[string]task.Time]
	recent      cached[recent]
	day         cached[task.BoardDay]
	pastHours   pastHours
	activities  cached[map[task.ID]string]
	cards       boardCache[task.TaskFilter, Page] // without it a board page takes 7 % longer
	outlines    boardCache[task.TaskFilter, Page] // the same
	byID        boardCache[task.ID, *task.Task]   // without it a board page takes 11 % longer
	pauses      cached[task.Pauses]
	flood       queueLimiter
	quotas      quotas
	submissions submissions
	mergesInto  sync.Map // targets of the merges that are being made, see mergeTarget
	waits       claimWaiters
	counters    counters
	workers     workerRegistry
	reachedMCP  sync.Map // running runs that have reached the MCP server; a stop of this process ends them
	openCalls   sync.Map // credentials of the calls and streams that last, by what ends them
	turnHolds   turnReservations
	clockState  clockState
	cluster     cluster
	agentFiles  agentFiles
	settingsMu  sync.Mutex // one change of settings at a time
	stops       sync.Map   // what stops the running runs of this process
	workerStops sync.Map   // the same of those of workers, while a heartbeat of them is held

	mu        sync.Mutex
	runWaits  map[task.ID]*runWait           // running runs whose executor asked, or that waited
	redactors map[redactorKey]*task.Redactor // see RunRedactor
	wakeC     chan struct{}                  // a run may be startable
}

// New makes the instance over an open database and an agents folder.
func New(d *db.DB, agents *agentfile.Folder, cfg Config) *Service {
	now := d.Now
	if own := cfg.Now; own != nil {
		now = func() task.Time { return task.TimeFromStd(own()) }
	}
	cfg.defaults()
	s := &Service{
		cards:    boardCache[task.TaskFilter, Page]{limit: 64},
		outlines: boardCache[task.TaskFilter, Page]{limit: 64},
		byID:     boardCache[task.ID, *task.Task]{limit: 2000},

		flood:       queueLimiter{known: map[string]*queueLen{}},
		submissions: submissions{all: map[task.ID]*submission{}},
		counters:    counters{events: map[string]int64{}, refused: map[task.Code]int64{}},
		turnHolds:   turnReservations{byRun: map[task.ID]turnReservation{}},

		db: d, agents: agents, now: now, log: cfg.Log, hub: newHub(), auth: newAuthState(cfg.CheapPasswords),
		runWaits: map[task.ID]*runWait{}, wakeC: make(chan struct{}, 1),
	}
	s.cfg.Store(&cfg)
	return s
}

// config is what the rules know now; a change of settings replaces it.
func (s *Service) config() *Config { return s.cfg.Load() }

// Hub notifies of changed topics, after each commit.
func (s *Service) Hub() *Hub { return s.hub }

// Now is the present moment by the clock of the database, which all its servers
// have in common.
func (s *Service) Now() task.Time { return s.now() }

// txn is a transaction with the rules' bookkeeping: who acts, what to tell.
type txn struct {
	*db.Tx
	s       *Service
	actor   task.Actor
	signals task.Signals
	kinds   []string // of the events that were written
	verdict error    // what to answer although the write is kept; not remembered
}

// event appends to the log and notes the topics that the change touches.
// changes is any value that encodes to a JSON object, or nil.
func (tx *txn) event(kind string, e task.Event, changes any) error {
	e.Kind, e.Actor = kind, tx.actor.Name
	e.TokenID, e.RequestID, e.Address = tx.actor.TokenID, tx.actor.RequestID, tx.actor.Addr
	if changes != nil {
		b, err := json.Marshal(changes)
		if err != nil {
			return err
		}
		e.Changes = b
	}
	tx.signals.Topics = append(tx.signals.Topics, eventTopics(e)...)
	tx.kinds = append(tx.kinds, kind)
	tx.noteFreed(kind, e.Agent)
	return tx.AddEvent(e)
}

// taskEvent is event for a task.
func (tx *txn) taskEvent(kind string, tk *task.Task, changes any) error {
	return tx.event(kind, task.Event{TaskID: tk.ID, Agent: tk.Owner}, changes)
}

// runEvent is event for a run.
func (tx *txn) runEvent(kind string, r *task.Run, changes any) error {
	return tx.event(kind, task.Event{TaskID: r.TaskID, RunID: r.ID, Agent: r.Agent}, changes)
}

// changes is the body of an event: field → [before, after], or field → value.
type changes map[string]any

// mutate is the one way to write: it runs fn in a transaction, in which the
// caller must still be who they were when they called, stores or
// replays the answer of an idempotent request with it, and notifies the hub and
// the dispatcher after the commit.
func mutate[T any](ctx context.Context, s *Service, a task.Actor, fn func(*txn) (T, error)) (T, error) {
	var out T
	var tx *txn
	idem := idempotencyFromContext(ctx)
	s.caughtUp(ctx)
	err := s.db.Write(ctx, func(dtx *db.Tx) error {
		tx = &txn{Tx: dtx, s: s, actor: a}
		if err := checkCaller(&dtx.Rx, a); err != nil {
			return err
		}
		if idem != nil {
			done, err := replay(&tx.Rx, idem, &out)
			if done || err != nil {
				return err
			}
		}
		v, err := fn(tx)
		if err != nil {
			return err
		}
		out = v
		tx.Announce(&tx.signals)
		if idem != nil && tx.verdict == nil {
			return remember(tx, idem, v)
		}
		return nil
	})
	if err != nil {
		s.counters.refuse(err)
		var zero T
		return zero, err
	}
	s.counters.done(tx.kinds)
	s.publishSignals(&tx.signals)
	if tx.verdict != nil {
		var zero T
		return zero, tx.verdict
	}
	return out, nil
}

// change is mutate without a result.
func change(ctx context.Context, s *Service, a task.Actor, fn func(*txn) error) error {
	_, err := mutate(ctx, s, a, func(tx *txn) (struct{}, error) { return struct{}{}, fn(tx) })
	return err
}

// publishSignals tells those of this server who wait for a change that was committed.
func (s *Service) publishSignals(n *task.Signals) {
	for _, o := range n.Stops {
		s.stopRun(o.Run, stopCause(o.Cause))
	}
	s.notifyWaits(n.Waits)
	s.forgetWaits(n.Ended)
	for _, run := range n.MCP {
		s.reachedMCP.Store(run, true)
	}
	for _, run := range n.Ended {
		s.reachedMCP.Delete(run)
	}
	for _, c := range n.Revocations {
		s.disconnect(c)
	}
	if len(n.Topics) > 0 {
		s.hub.Publish(n.Topics)
	}
	if n.Queued {
		s.signal()
	}
	for _, agent := range n.Freed {
		s.waits.wake(agent)
	}
}

// signal notifies the dispatcher that a run may be startable.
func (s *Service) signal() {
	s.workers.bell.signal()
	select {
	case s.wakeC <- struct{}{}:
	default:
	}
}

// Startable is signaled when a run may have become startable.
func (s *Service) Startable() <-chan struct{} { return s.wakeC }

// read runs fn on a read-only connection.
func read[T any](ctx context.Context, s *Service, fn func(*db.Rx) (T, error)) (out T, err error) {
	err = s.db.Read(ctx, func(rx *db.Rx) error {
		out, err = fn(rx)
		return err
	})
	return out, err
}
