package supervise

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// saying is a sink that records texts.
type saying []string

func (*saying) Started(Process) error { return nil }
func (s *saying) Event(e Event)       { *s = append(*s, e.Text) }

// A line whose beginning is emitted while the program pauses is one line in the
// file nevertheless.
func TestALineEmittedInPartsIsOneLineOfTheFile(t *testing.T) {
	t.Parallel()
	r := NewRun(Spec{Dir: t.TempDir()}, discardSink{})
	r.out.overflowed = true
	for _, part := range []struct {
		kind LineKind
		text string
	}{{PartialLine, "the begin"}, {WholeLine, "ning"}, {LongLine, "a long "}, {LongRest, "line"}, {LongEnd, ""}, {WholeLine, "the end"}} {
		if part.kind == LongRest || part.kind == LongEnd {
			r.SpillLine(part.kind, []byte(part.text))
			continue
		}
		r.line(EventText, part.kind, []byte(part.text))
	}
	r.out.Close()
	if got, err := os.ReadFile(filepath.Join(r.out.dir, overflowName)); err != nil || string(got) != "the beginning\na long line\nthe end\n" {
		t.Errorf("the file contains %q, %v", got, err)
	}
}

// The limits of a tree of runs, and of a day, depend on it.
func TestUsageIsReportedAfterTheLimitOfEvents(t *testing.T) {
	t.Parallel()
	rec := &types{}
	r := NewRun(Spec{Dir: t.TempDir()}, rec)
	text := strings.Repeat("x", MaxEvent)
	for range maxRun / MaxEvent {
		r.Event(EventText, text, nil, nil)
	}
	r.Event(EventUsage, "", map[string]any{"tokensIn": 7}, nil)
	if got := *rec; got[len(got)-1] != EventUsage || got[len(got)-2] != EventLog {
		t.Errorf("got the last events %q", got[len(got)-3:])
	}
	for range maxRun / eventCost {
		r.Event(EventUsage, "", map[string]any{"tokensIn": 7}, nil)
	}
	if n := len(*rec); n > maxRun/MaxEvent+usageRoom/eventCost {
		t.Errorf("got %d events", n)
	}
	r.out.Close()
}

// A model may write a name twice; strict parsers, such as that of the server,
// reject such an object.
func TestDataHasNoNameTwice(t *testing.T) {
	t.Parallel()
	r := NewRun(Spec{Dir: t.TempDir()}, discardSink{})
	for in, want := range map[string]string{
		`{"path":"a","path":"b"}`:                  `{"path":"b"}`,
		`{"path":"a","content":"b"}`:               `{"path":"a","content":"b"}`, // in its order
		`{"x":[{"n":1,"n":12345678901234567890}]}`: `{"x":[{"n":12345678901234567890}]}`,
		`null`:     "",
		`{"a":1}}`: "",
	} {
		if got := r.CleanJSON(json.RawMessage(in)); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// types is a sink that records the types of events.
type types []string

func (*types) Started(Process) error { return nil }
func (s *types) Event(e Event)       { *s = append(*s, e.Type) }

func TestTheOverflowFileIsCapped(t *testing.T) {
	t.Parallel()
	var said saying
	e := &emitter{sink: &said, dir: t.TempDir(), written: maxOverflow - 5}
	e.Overflow([]byte("12345678"))
	e.Close()
	b, err := os.ReadFile(filepath.Join(e.dir, overflowName))
	if string(b) != "12345" || err != nil || len(said) != 1 || !strings.HasPrefix(said[0], "3 bytes of output were discarded") {
		t.Errorf("got %q, %v, %v", b, err, said)
	}
}
