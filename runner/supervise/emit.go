package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"taskyard/task"
)

const (
	maxRun       = 16 << 20  // bytes of all events of a run
	eventCost    = 64        // overhead of an event in bytes, in addition to text and data
	usageRoom    = 1 << 20   // part of maxRun that is reserved for usage events
	maxOverflow  = 256 << 20 // bytes of the overflow file
	overflowName = "output.log"
	noteRoom     = 128 // bytes reserved in an event for a note
)

// emitter passes events to the sink up to the limits of a run. The rest goes to
// a file; what exceeds the limit of the file is counted.
type emitter struct {
	sink       Sink
	dir        string
	spent      int // of maxRun
	overflowed bool
	file       *os.File
	out        *bufio.Writer
	written    int64
	discarded  int64
	err        error // of the file
}

// Event passes on one event; raw is written to the file instead if the run has
// reached its limit.
func (e *emitter) Event(ev Event, raw []byte) {
	if !e.begin(ev, raw) {
		e.Overflow([]byte{'\n'})
	}
}

// begin is like Event, for the beginning of a line whose rest goes to the same
// line of the file. It reports whether the event was passed on.
func (e *emitter) begin(ev Event, raw []byte) bool {
	cost := len(ev.Text) + len(ev.Data) + eventCost
	room := maxRun - 4*MaxEvent - e.spent - cost
	if ev.Type == EventUsage && room >= 0 {
		e.spent += cost
		e.sink.Event(ev)
		return true
	}
	if !e.overflowed && room < usageRoom {
		e.overflowed = true
		e.note(fmt.Sprintf("This run has said more than %d MiB. What follows is in the file %s of the run's folder, "+
			"up to %d MiB; what is more is discarded.", maxRun>>20, overflowName, maxOverflow>>20))
	}
	if e.overflowed {
		e.Overflow(raw)
		return false
	}
	e.spent += cost
	e.sink.Event(ev)
	return true
}

// note adds a note about the transcript itself; there is always room for it.
func (e *emitter) note(text string) {
	e.sink.Event(Event{Type: EventLog, Text: task.CutText(task.CleanText(text), MaxEvent)})
}

// Overflow writes bytes to the file.
func (e *emitter) Overflow(b []byte) {
	if e.file == nil && e.err == nil {
		e.file, e.err = openOverflow(filepath.Join(e.dir, overflowName))
		e.out = bufio.NewWriterSize(e.file, 64<<10)
	}
	room := min(int64(len(b)), maxOverflow-e.written)
	if e.err != nil {
		room = 0
	}
	if room > 0 {
		_, e.err = e.out.Write(b[:room])
		e.written += room
	}
	e.discarded += int64(len(b)) - room
}

// openOverflow opens the file, which an earlier attempt of the run may have
// created. An unconfined program may have replaced it: opening a pipe would
// block forever, and the run would never end.
func openOverflow(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !hasOneLink(info) {
		_ = f.Close()
		return nil, errors.Join(err, errors.New("something else is in its place"))
	}
	return f, nil
}

// hasOneLink reports whether a file has no other hard links, which could be
// anywhere.
func hasOneLink(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 1
}

// Close closes the file and reports what was discarded.
func (e *emitter) Close() {
	if e.file != nil {
		if err := e.out.Flush(); e.err == nil {
			e.err = err
		}
		if err := e.file.Close(); e.err == nil {
			e.err = err
		}
	}
	if e.err != nil {
		e.note(fmt.Sprintf("The file %s could not be written: %v. Output of this run is missing.", overflowName, e.err))
	} else if e.discarded > 0 {
		e.note(fmt.Sprintf("%d bytes of output were discarded: the file %s holds %d MiB already.", e.discarded, overflowName, maxOverflow>>20))
	}
}
