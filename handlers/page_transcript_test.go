package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// runWithLines starts a run with lines in its transcript.
func (s *site) runWithLines(lines ...task.Message) *service.Start {
	s.t.Helper()
	ctx := context.Background()
	tk := s.newTask(mayaActor, task.New{Owner: "coder", Title: "Talks much", NoStart: true})
	st := s.runTask(tk.ID)
	for len(lines) > 0 {
		n := min(len(lines), 500)
		s.ok(s.svc.AppendTranscript(ctx, st.Run.ID, st.Run.Lease, lines[:n]))
		lines = lines[n:]
	}
	return st
}

func textLine(format string, args ...any) task.Message {
	return task.Message{Role: task.SpeakerAssistant, Type: "text", Content: fmt.Sprintf(format, args...)}
}

func TestALongTranscriptIsPaged(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	var lines []task.Message
	for i := range 400 {
		lines = append(lines, textLine("line %d.", i))
	}
	lines[7].Content += " needle"
	lines[200].Content += " NEEDLE"
	st := inst.runWithLines(lines...)
	at := "/runs/" + st.Run.ID.String()

	t.Run("the newest lines are shown with a link to earlier ones", func(t *testing.T) {
		b.get(at).is(200).shows("line 399.", "Show earlier lines", "data-stream").hides("line 100.", "Show later lines")
	})
	t.Run("each part links to the previous one, and no line is skipped", func(t *testing.T) {
		seen, next := 0, at
		for next != "" {
			a := b.get(next).is(200)
			seen += strings.Count(a.body, `class="entry `)
			hrefs, _ := a.links()
			here := next
			next = ""
			for _, h := range hrefs {
				if strings.Contains(h, "before=") && h != here {
					next = h
				}
			}
		}
		if seen != 402 { // including two prompts
			t.Errorf("got %d lines in total, want 402", seen)
		}
	})
	t.Run("a search links from match to match across parts", func(t *testing.T) {
		last := b.get(at+"?q=needle").is(200).shows("Match 2 of 2 in all tabs", "<mark>NEEDLE</mark>",
			"Previous match", "Show later lines").hides("Next match", "data-stream")
		hrefs, _ := last.links()
		for _, h := range hrefs {
			if strings.Contains(h, "q=needle") && strings.Contains(h, "at=") && !strings.Contains(h, "#m203") {
				b.get(h).is(200).shows("Match 1 of 2", "line 7. <mark>needle</mark>", "Next match").hides("Previous match")
			}
		}
		b.get(at + "?q=100%25").is(200).shows("No matches")
		b.get(at + "?q=nothing").is(200).shows("No matches")
	})
	t.Run("invalid input is refused", func(t *testing.T) {
		for _, q := range []string{"?type=x", "?at=x", "?before=x", "?q=" + strings.Repeat("a", 201), "?q=%ff"} {
			b.get(at + q).is(422)
		}
		b.get(at + "/lines/99999").is(404)
		b.get(at + "/lines/x").is(404)
		b.get(at + "?at=99999999").is(200)
		b.get(at + "?before=1").is(200)
		b.get(at + "/transcript?after=1&type=x").is(422)
	})
}

func TestATranscriptIsFilteredByKind(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	call := func(id, tool string) task.Message {
		return task.Message{
			Role: task.SpeakerAssistant, Type: "tool_call", Content: tool,
			Data: json.RawMessage(`{"id":"` + id + `","tool":"` + tool + `","input":{"path":"` + tool + `.go"}}`),
		}
	}
	answer := func(id, text, more string) task.Message {
		return task.Message{Role: task.SpeakerTool, Type: "tool_result", Content: text, Data: json.RawMessage(`{"id":"` + id + `"` + more + `}`)}
	}
	st := inst.runWithLines(textLine("I begin."), call("a", "read"), call("b", "grep"), answer("b", "found it", ""),
		answer("a", "\x1b[31mno such file\x1b[0m", `,"isError":true`),
		task.Message{Role: task.SpeakerSystem, Type: "log", Content: "\x1b[33mwarning\x1b[0m: \x1b[2Jold"},
		task.Message{
			Role: task.SpeakerSystem, Type: "log", Content: "Session 4f3a-99, version 2.1",
			Data: json.RawMessage(`{"session":"4f3a-99","version":"2.1"}`),
		})
	at := "/runs/" + st.Run.ID.String()
	t.Run("a result is inside its call, and errors are expanded", func(t *testing.T) {
		a := b.get(at).shows(`<details class="tool-call bad" open>`, `<div id="m7">`,
			`<span class="fg-1">no such file</span>`, `<span class="fg-3">warning</span>`, "‹U+001B›")
		if strings.Contains(a.body, "entry-answer") {
			t.Error("a result is outside its call")
		}
	})
	t.Run("each kind shows only its lines", func(t *testing.T) {
		b.get(at+"?type=said").shows("I begin.").hides("found it", "warning</span>")
		b.get(at+"?type=tools").shows("found it", "no such file").hides("I begin.")
		b.get(at+"?type=logs").shows("warning", "Prompt").hides("I begin.", "found it")
		b.get(at+"?type=errors").shows("no such file").hides("I begin.", "found it")
		b.get(at + "/transcript?after=0&type=said").shows("I begin.").hides("found it")
	})
	t.Run("the program's own output is beside the filter", func(t *testing.T) {
		b.get(at).shows("4f3a-99", "2.1", "script")
	})
	t.Run("a link to a line expands it", func(t *testing.T) {
		if a := b.get(at + "?at=6"); strings.Count(a.body, " open>") < 2 {
			t.Error("the call of grep is collapsed")
		}
	})
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	long := strings.Repeat("word ", 6000) + "NEEDLE at the end"
	st := inst.runWithLines(task.Message{Role: task.SpeakerTool, Type: "tool_result", Content: long, Data: json.RawMessage(`{"id":"1"}`)})
	at := "/runs/" + st.Run.ID.String()
	b.get(at).shows("The rest is left out here", "Show all 30017 characters", at+"/lines/3").hides("NEEDLE")
	b.get(at+"/lines/3").is(200).shows("NEEDLE at the end", "Answer of a tool")
	b.get(at + "/lines/3?q=needle").shows("<mark>NEEDLE</mark>")
	b.get(at + "/transcript").shows("NEEDLE at the end")
}

func TestTheLongestTranscriptFitsASmallPage(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	noise := rand.New(rand.NewPCG(1, 2))
	var lines []task.Message
	for size := 0; size < 4<<20; {
		raw := make([]byte, 800)
		for i := range raw {
			raw[i] = byte('!' + noise.IntN(90)) // hardly compressible
		}
		m := textLine("%s\n%s", raw, strings.Repeat(string(raw[:100])+"\n", 200))
		lines = append(lines, m)
		size += len(m.Content)
	}
	st := inst.runWithLines(lines...)
	for _, q := range []string{"", "?type=said", "?at=100", "?q=a"} {
		b.get("/runs/" + st.Run.ID.String() + q).is(200).isSmall()
	}
}

func TestATranscriptShowsTimesInTheReadersZone(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	st := inst.runWithLines(textLine("at nine in the morning, UTC"))
	b.post("/settings/appearance", "zone", "Asia/Tokyo").is(303)
	at := "/runs/" + st.Run.ID.String()
	b.get(at).is(200).shows(">18:00:00<", "18:00:00 JST").hides(">09:00:00<")
	b.get(at + "/transcript?after=0").is(200).shows(">18:00:00<")
	b.get("/tasks/" + st.Run.TaskID.String() + "?tab=transcript").is(200).shows(">18:00:00<")
}

func TestAFailedRunShowsItsFirstError(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	lines := []task.Message{textLine("Building."), textLine("gcc -c <main>.c"), textLine("main.c:3:5: error: expected ';'")}
	for i := range 400 {
		lines = append(lines, textLine("later line %d", i))
	}
	st := inst.runWithLines(lines...)
	at := "/runs/" + st.Run.ID.String()
	b.get(at).is(200).hides("First error") // the run may still recover
	inst.ok(inst.svc.FinishRun(t.Context(), st.Run.ID, st.Run.Lease, service.Finished{
		State: task.State{Status: task.RunFailed, Phase: task.PhaseError}, Reason: "exit status 2",
	}))

	page := b.get(at).is(200).shows("First error in the transcript",
		"gcc -c &lt;main&gt;.c\n<mark>main.c:3:5: error: expected &#39;;&#39;</mark>\nlater line 0")
	hrefs, _ := page.links()
	for _, h := range hrefs {
		if strings.HasSuffix(h, "#m5") && strings.Contains(h, "at=") {
			b.get(h).is(200).shows("later line 20", "Show later lines")
			return
		}
	}
	t.Errorf("no link to the error: %v", hrefs)
}

func TestAFailedRunDoesNotRepeatItsReasonAsFirstError(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	st := inst.runWithLines(textLine("Building."),
		task.Message{Role: task.SpeakerSystem, Type: "error", Content: "The model refused the key."})
	inst.ok(inst.svc.FinishRun(t.Context(), st.Run.ID, st.Run.Lease,
		service.Finished{State: task.State{Status: task.RunFailed, Phase: task.PhaseAuth}, Reason: "The model refused the key."}))
	inst.maya().get("/runs/" + st.Run.ID.String()).is(200).shows("The model refused the key.").hides("First error")
}
