package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// hostileTexts returns texts of 1 MiB that grow when written as JSON or HTML.
func hostileTexts() map[string]string {
	const n = 1 << 20
	return map[string]string{
		"control characters": strings.Repeat("\x01", n),
		"markup":             strings.Repeat("<&\">", n/4),
		"hidden characters":  strings.Repeat("\u200b", n/3),
		"line separators":    strings.Repeat("\u2028", n/3),
		"colors":             strings.Repeat("\x1b[31mx\x1b[32my", n/12),
		"words":              strings.Repeat("word ", n/5),
	}
}

const hostileCalls = 30

// hostileLines returns lines of a run that contain a text in their content or data.
func hostileLines(text string) []task.Message {
	arguments, err := json.Marshal(map[string]any{"id": "1", "tool": "bash", "input": map[string]string{"command": text[:30<<10]}})
	if err != nil {
		panic(err)
	}
	list := []task.Message{
		{Role: task.SpeakerAssistant, Type: "text", Content: text},
		{Role: task.SpeakerTool, Type: "tool_result", Content: text, Data: json.RawMessage(`{"id":"0"}`)},
		{Role: task.SpeakerSystem, Type: "log", Content: text},
		{Role: task.SpeakerAssistant, Type: "text", Content: "short"},
	}
	for range hostileCalls {
		list = append(list, task.Message{Role: task.SpeakerAssistant, Type: "tool_call", Content: "bash", Data: arguments},
			task.Message{Role: task.SpeakerTool, Type: "tool_result", Content: text[:30<<10], Data: json.RawMessage(`{"id":"1"}`)})
	}
	return list
}

func TestALineOfATranscriptFitsAResponse(t *testing.T) {
	t.Parallel()
	testkit.OneGoroutine(t)
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			_, r := s.requestRun("coder")
			ctx, st := context.Background(), s.startWorking()
			want := hostileLines(text)
			s.ok(s.svc.AppendTranscript(ctx, st.Run.ID, st.Run.Lease, want))
			path := "/api/runs/" + r.ID + "/messages"
			get := func(path string) answer {
				a := s.do("viewer", "GET", path, "").want(200)
				if len(a.Body) > answerBytes {
					t.Errorf("%s: got %d bytes, want at most %d", path, len(a.Body), answerBytes)
				}
				return a
			}
			var lines []task.Message
			for after := "0"; after != ""; {
				p := decode[struct {
					Messages []task.Message
					Next     string
				}](get(path + "?limit=500&after=" + url.QueryEscape(after)))
				lines, after = append(lines, p.Messages...), p.Next
			}
			lines = lines[2:] // two prompts
			if len(lines) != len(want) {
				t.Fatalf("got %d lines, want %d", len(lines), len(want))
			}
			for i := range 3 {
				content, left := lines[i].Content, lines[i].ContentCut
				for left > 0 {
					m := decode[task.Message](get(fmt.Sprintf("%s/%d?from=%d", path, lines[i].ID, len(content))))
					if len(m.Content)+m.ContentCut != left {
						t.Fatalf("line %d: got %d bytes and %d remaining, want %d", i, len(m.Content), m.ContentCut, left)
					}
					content, left = content+m.Content, m.ContentCut
				}
				if content != text {
					t.Errorf("line %d: read %d bytes in total, want %d", i, len(content), len(text))
				}
			}
			s.do("viewer", "GET", fmt.Sprintf("%s/%d?from=%d", path, lines[0].ID, len(text)+1), "").field(task.CodeInvalidField, "from")
			s.do("viewer", "GET", path+"/99999", "").problem(404, task.CodeNotFound)
		})
	}
}

func TestPagesOfATranscriptFitAResponse(t *testing.T) {
	t.Parallel()
	testkit.OneGoroutine(t)
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inst := newSite(t)
			b := inst.maya()
			st := inst.runWithLines(hostileLines(text)...)
			at := "/runs/" + st.Run.ID.String()
			small := func(path string) *webPage {
				a := b.get(path).is(200)
				if len(a.body) > answerBytes {
					t.Errorf("%s: got %d bytes, want at most %d", path, len(a.body), answerBytes)
				}
				return a
			}
			small(at)
			small(at + "?at=3")
			small(at + "?type=said")
			small("/tasks/" + st.Run.TaskID.String() + "?tab=transcript")
			for _, line := range []string{"3", "4", "5", "7"} {
				small(at + "/lines/" + line)
			}
			after := task.ID(0)
			for range 1000 {
				a := small(fmt.Sprint(at, "/transcript?after=", after))
				if !strings.Contains(a.body, `class="entry`) {
					break
				}
				after = lastLine(t, a.body)
			}
			content := b.get(at + "/transcript").is(200).body
			if n := strings.Count(content, text); n != 3 {
				t.Errorf("transcript as text: got %d of 3 long lines in %d bytes", n, len(content))
			}
			if n := strings.Count(content, "tool_call\n"); n != hostileCalls {
				t.Errorf("transcript as text: got %d of %d calls", n, hostileCalls)
			}
		})
	}
}

// lastLine returns the highest ID of a line on a page.
func lastLine(t *testing.T, page string) (last task.ID) {
	t.Helper()
	for part := range strings.SplitSeq(page, `id="m`) {
		digits, _, _ := strings.Cut(part, `"`)
		if id, err := task.ParseID(digits); err == nil {
			last = max(last, id)
		}
	}
	if last == 0 {
		t.Fatal("there is no line on the page")
	}
	return last
}

// A model may repeat an argument, and earlier versions stored it unchanged.
func TestATranscriptCanBeReadWhateverAModelWrote(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, r := s.requestRun("coder")
	st := s.startWorking()
	s.ok(s.svc.AppendTranscript(t.Context(), st.Run.ID, st.Run.Lease, []task.Message{{
		Role: task.SpeakerAssistant, Type: "tool_call", Content: "read", Data: json.RawMessage(`{"input":{"path":"a","path":"b"}}`),
	}}))
	a := s.do("viewer", "GET", "/api/runs/"+r.ID+"/messages", "").want(200)
	if !json.Valid(a.Body) || !strings.Contains(string(a.Body), `"path":"b"`) {
		t.Errorf("got %s", a.Body)
	}
}
