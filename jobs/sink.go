package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"taskyard/runner/supervise"
	"taskyard/task"
)

var _ supervise.SessionKeeper = (*sink)(nil)

const (
	flushEvery = 150 * time.Millisecond
	flushAt    = 50          // lines
	flushAgain = time.Second // after a failure
	maxUnsaved = 4 << 20     // bytes of the lines that wait for the database
	lineCost   = 512         // overhead of a line in bytes
)

// sink writes the events of a run to the store in batches. A slow store slows
// the program.
type sink struct {
	j   *Jobs
	run *task.Run
	log *slog.Logger

	mu      sync.Mutex
	lines   []task.Message // not stored yet
	unsaved int            // bytes of them
	dropped int            // lines that came before them
	failing bool           // the last attempt to store lines has failed
	timer   *time.Timer

	folder string // the run's folder

	permissionSlot chan struct{} // capacity one: the pending permission request
	unanswered     bool          // a request has expired; guarded by asking
}

func newSink(j *Jobs, r *task.Run, log *slog.Logger) *sink {
	return &sink{j: j, run: r, log: log, folder: r.FolderName(), permissionSlot: make(chan struct{}, 1)}
}

// Started records the process. An error, such as a lost lease, stops the run.
func (s *sink) Started(p supervise.Process) error {
	return s.j.opt.Service.RunWorking(context.Background(), s.run.ID, s.run.Lease, p.PID, p.Start, p.BootID)
}

// Session records the session of the program. Without it, the next attempt
// starts over, which does no harm.
func (s *sink) Session(id string) {
	err := s.j.opt.Service.RunSession(context.Background(), s.run.ID, s.run.Lease, id, s.folder)
	if err != nil && !task.IsCode(err, task.CodeStaleLease) {
		s.log.Error("failed to store the session", "error", err)
	}
}

// Condensing records that the summary is being made.
func (s *sink) Condensing() error {
	return s.j.opt.Service.RunCondensing(context.Background(), s.run.ID, s.run.Lease)
}

// HoldTurn reserves what the next turn of a model can use.
func (s *sink) HoldTurn(ctx context.Context, most task.Turn) (task.TurnGrant, error) {
	return s.j.opt.Service.HoldTurn(ctx, s.run.ID, s.run.Lease, most)
}

// ReleaseTurn writes the usage of the turn, and then ends its reservation.
func (s *sink) ReleaseTurn() {
	_ = s.flush() // has logged it, and tries again
	s.j.opt.Service.ReleaseTurn(s.run.ID)
}

// Event adds one line to the transcript.
func (s *sink) Event(e supervise.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(task.Message{Role: task.EventSpeaker(e.Type), Type: e.Type, Content: e.Text, Data: e.Data})
	switch {
	case s.unsaved > maxUnsaved:
		s.drop()
	case len(s.lines) >= flushAt && !s.failing:
		_ = s.flushLocked() // has logged it, and tries again
		return
	}
	if s.timer == nil {
		s.flushAfter(flushEvery)
	}
}

func (s *sink) add(m task.Message) {
	s.lines, s.unsaved = append(s.lines, m), s.unsaved+len(m.Content)+len(m.Data)+lineCost
}

// drop forgets lines that the database did not take for too long, except those
// that report usage, which budgets depend on.
func (s *sink) drop() {
	lines := s.lines
	s.lines, s.unsaved = nil, 0
	for _, m := range lines {
		if m.Type == supervise.EventUsage {
			s.add(m)
		} else {
			s.dropped++
		}
	}
	if s.unsaved > maxUnsaved {
		s.lines, s.unsaved, s.dropped = nil, 0, s.dropped+len(s.lines)
	}
}

func (s *sink) flushAfter(wait time.Duration) {
	s.timer = time.AfterFunc(wait, func() {
		_ = s.flush() // has logged it, and tries again
	})
}

// flushLocked stores the lines. If it fails, they wait for the next attempt.
func (s *sink) flushLocked() error {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	lines := s.lines
	if s.dropped > 0 {
		lines = append([]task.Message{{
			Role: task.EventSpeaker(supervise.EventLog), Type: supervise.EventLog,
			Content: missing(s.dropped),
		}}, lines...)
	}
	if len(lines) == 0 {
		return nil
	}
	err := s.j.opt.Service.AppendTranscript(context.Background(), s.run.ID, s.run.Lease, lines)
	if err != nil && !task.IsCode(err, task.CodeStaleLease) {
		if !s.failing {
			s.log.Error("failed to store lines of a transcript; trying again", "error", err)
		}
		s.failing = true
		s.flushAfter(flushAgain)
		return err
	}
	s.lines, s.unsaved, s.dropped, s.failing = nil, 0, 0, false
	return nil
}

func missing(lines int) string {
	if lines == 1 {
		return "1 line of the transcript is missing here: the database could not be written."
	}
	return fmt.Sprintf("%d lines of the transcript are missing here: the database could not be written.", lines)
}

// flush writes the buffered lines.
func (s *sink) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushLocked()
}

// close is called after the end of the run is stored: lines that are not stored
// by then never will be.
func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	if n := len(s.lines) + s.dropped; n > 0 {
		s.log.Error("transcript lines lost", "lines", n)
	}
}
