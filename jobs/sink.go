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

// sink takes what a run reports and writes it to the store in batches. A store
// that is slow slows the program.
type sink struct {
	j   *Jobs
	run *task.Run
	log *slog.Logger

	mu    sync.Mutex
	lines []task.Message
	timer *time.Timer

	folder string // name of the run's folder

	asking     chan struct{} // holds one: the permission that is asked for
	unanswered bool          // nobody decided on one in time; under asking
}

func newSink(j *Jobs, r *task.Run, log *slog.Logger) *sink {
	return &sink{j: j, run: r, log: log, folder: r.FolderName(), asking: make(chan struct{}, 1)}
}

// Started notes the process. An error, such as a lost lease, stops the run.
func (s *sink) Started(p supervise.Process) error {
	return s.j.opt.Service.RunWorking(context.Background(), s.run.ID, s.run.Lease, p.PID, p.Start, p.BootID)
}

// Session notes the conversation of the program. Without the note a start after
// a cut begins again, which does no harm.
func (s *sink) Session(id string) {
	err := s.j.opt.Service.RunSession(context.Background(), s.run.ID, s.run.Lease, id, s.folder)
	if err != nil && !task.IsCode(err, task.CodeStaleLease) {
		s.log.Error("failed to store the session", "error", err)
	}
}

// Condensing notes that the summary is being made.
func (s *sink) Condensing() error {
	return s.j.opt.Service.RunCondensing(context.Background(), s.run.ID, s.run.Lease)
}

// HoldTurn reserves what the next turn of a model can use.
func (s *sink) HoldTurn(ctx context.Context, most task.Turn) (task.TurnGrant, error) {
	return s.j.opt.Service.HoldTurn(ctx, s.run.ID, s.run.Lease, most)
}

// ReleaseTurn writes what the turn used, and then ends what is reserved for it.
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

// flush writes the lines that wait.
func (s *sink) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
}
