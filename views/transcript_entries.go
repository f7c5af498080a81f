package views

import (
	"encoding/json"

	"taskyard/task"
	"taskyard/views/ui"
)

// entry is one item of a transcript: a line, or a tool call with its result.
type entry struct {
	Msg    task.TranscriptLine
	Result *task.TranscriptLine
}

// entriesFromLines joins each tool call with its result: the one with the same
// call ID, or else the one that follows immediately. A result without its call
// becomes a separate entry.
func entriesFromLines(lines []task.TranscriptLine) []entry {
	list := make([]entry, 0, len(lines))
	calls := map[string]int{} // open calls: ID → index in list
	for i := range lines {
		l := lines[i]
		if l.Type != "tool_result" {
			if id := callID(l.Message); l.Type == "tool_call" && id != "" {
				calls[id] = len(list)
			}
			list = append(list, entry{Msg: l})
			continue
		}
		id := callID(l.Message)
		at, ok := calls[id]
		if n := len(list) - 1; id == "" && n >= 0 && list[n].Msg.Type == "tool_call" &&
			list[n].Result == nil && callID(list[n].Msg.Message) == "" {
			at, ok = n, true
		}
		if !ok {
			list = append(list, entry{Msg: l})
			continue
		}
		list[at].Result = &lines[i]
		delete(calls, id)
	}
	return list
}

// callID returns a runner's ID of a tool call, in the call and in its result.
func callID(m task.Message) string {
	if m.Type != "tool_call" && m.Type != "tool_result" {
		return ""
	}
	var d map[string]json.RawMessage
	if json.Unmarshal(m.Data, &d) != nil {
		return ""
	}
	return firstString(d, "id", "callId", "call_id")
}

// lastID returns the ID of the entry's last message.
func (e entry) lastID() task.ID {
	if e.Result != nil {
		return max(e.Result.ID, e.Msg.ID)
	}
	return e.Msg.ID
}

// open reports whether the entry is initially expanded: it failed, was
// requested, or contains a match.
func (e entry) open(view TranscriptView) bool {
	if e.failed() || e.Msg.ID == view.At || e.Result != nil && e.Result.ID == view.At {
		return true
	}
	return view.Query != "" && (contains(&e.Msg, view.Query) || e.Result != nil && contains(e.Result, view.Query))
}

func contains(l *task.TranscriptLine, query string) bool {
	return ui.FoldIndex(l.Content, query) >= 0 || ui.FoldIndex(string(l.Data), query) >= 0
}

// RunPart selects a part of the transcript on a run's page.
type RunPart = task.TranscriptQuery

// RunPart is a run's page with a part of its transcript.
func (u urls) RunPart(run task.ID, q RunPart) string {
	to := query(u.Run(run), "type", q.Kind, "q", q.Text, "before", idText(q.Before), "at", idText(q.At))
	if q.At != 0 {
		return to + "#m" + q.At.String()
	}
	return to
}

// RunLine is the page of one whole line of a transcript.
func (u urls) RunLine(run, line task.ID, q string) string {
	return query(u.RunAct(run, "lines/"+line.String()), "q", q)
}

// TranscriptStream is the stream of lines of a kind.
func (u urls) TranscriptStream(run task.ID, kind string) string {
	return query(u.Transcript(run), "type", kind)
}

// kindTabs are the filters of a transcript.
var kindTabs = []struct{ Kind, Name string }{
	{"", "All"},
	{"said", "Messages"},
	{"tools", "Tool calls"},
	{"logs", "Logs"},
	{"errors", "Errors"},
}
