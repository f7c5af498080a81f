package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"taskyard/runner/supervise"
	"taskyard/task"
)

var _ supervise.SessionKeeper = (*sink)(nil)

const (
	flushEvery = 150 * time.Millisecond
	flushAt    = 50 // lines
)

// sink writes the events of a run to the store in batches. A slow store slows
// the program.
type sink struct {
	j   *Jobs
	run *task.Run
	log *slog.Logger

	mu    sync.Mutex
	lines []task.Message
	timer *time.Timer

	folder string // the run's folder

	asking     chan struct{} // capacity one: the pending permission request
	unanswered bool          // a request has expired; guarded by asking
}

func newSink(j *Jobs, r *task.Run, log *slog.Logger) *sink {
	return &sink{j: j, run: r, log: log, folder: r.FolderName(), asking: make(chan struct{}, 1)}
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
	s.flush()
	s.j.opt.Service.ReleaseTurn(s.run.ID)
}

// Event adds one line to the transcript.
func (s *sink) Event(e supervise.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, task.Message{Role: task.EventSpeaker(e.Type), Type: e.Type, Content: e.Text, Data: e.Data})
	if len(s.lines) >= flushAt {
		s.flushLocked()
		return
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(flushEvery, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.flushLocked()
		})
	}
}

func (s *sink) flushLocked() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if len(s.lines) == 0 {
		return
	}
	err := s.j.opt.Service.AppendTranscript(context.Background(), s.run.ID, s.run.Lease, s.lines)
	if err != nil && !task.IsCode(err, task.CodeStaleLease) {
		s.log.Error("transcript lines lost", "lines", len(s.lines), "error", err)
	}
	s.lines = nil
}

func (s *sink) close() { s.ReleaseTurn() }

// flush writes the buffered lines.
func (s *sink) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
}
