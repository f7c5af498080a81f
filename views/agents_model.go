package views

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// AgentsModel is the list of agents.
type AgentsModel struct {
	Agents  []AgentRow // of this page, by id
	Query   string     // words that they are called or described by
	After   string     // the last agent of the page before
	More    int        // agents on later pages
	All     int        // agents of the instance
	Folder  string     // where the definition files lie
	Strays  []string   // files there that make no agent, and why, as sentences
	Runners []task.RunnerInfo
}

// AgentRow is one agent with the load of its queue.
type AgentRow struct {
	Agent          task.Agent
	Queued         int // active tasks without a live claim
	Working        int // active tasks with one
	Drafts         int // tasks that are not active yet
	Report         AgentReport
	EnforcementGap string           // what it could do beyond its tools under its runner, as a sentence, or ""
	Runner         *task.RunnerInfo // nil: nothing is known of it
}

// AgentModel is the page of one agent.
type AgentModel struct {
	AgentRow
	Budgets []task.Budget // of the day, that bound it
	Runs    []task.Run    // newest first, at most 20
	Error   string        // why deleting was refused, or ""
	Todo    TodoModel
}

// TodoModel is an agent's todo list, as far as it is shown.
type TodoModel struct {
	Items   []string // front to back
	Count   int      // of the whole list
	More    int      // how many the link for more shows, or 0
	Entry   string   // what was typed and refused, or ""
	Problem string   // why, or ""
}

// countText returns how long the list is and how much of it is shown.
func (m TodoModel) countText() string {
	switch n := len(m.Items); {
	case n == 0:
		return ""
	case n < m.Count:
		return fmt.Sprintf("first %d of %d", n, m.Count)
	default:
		return ui.Count(n, "item", "items")
	}
}

// verdict says an agent's status by glyph, class and word.
func verdict(a *task.Agent) (glyph, class, word string) {
	switch {
	case a.Status == task.AgentInvalid && a.Serving:
		return "✗", "text-bad", "Invalid file; the last valid version is in use"
	case a.Status == task.AgentInvalid:
		return "✗", "text-bad", "Invalid"
	case a.Status == task.AgentWarning:
		return "⚠", "text-warn", "Valid with warnings"
	}
	return "✓", "text-ok", "Valid"
}

// worstProblem returns the finding that decides the status, or nil.
func worstProblem(list []task.Problem) *task.Problem {
	for i := range list {
		if list[i].Fatal {
			return &list[i]
		}
	}
	if len(list) > 0 {
		return &list[0]
	}
	return nil
}

// problemPlace says where a finding is: "line 7", or "whole file".
func problemPlace(p task.Problem) string {
	if p.Line == 0 {
		return "whole file"
	}
	return fmt.Sprintf("line %d", p.Line)
}

// codeLine is one line of a shown file.
type codeLine struct {
	N    int
	Text string
	Mark string // "bad" or "warn" when a finding names the line
}

// codeLines splits a text into numbered lines and marks those that findings name.
func codeLines(text string, problems []task.Problem) []codeLine {
	marks := map[int]string{}
	for _, p := range problems {
		if p.Fatal {
			marks[p.Line] = "bad"
		} else if marks[p.Line] == "" {
			marks[p.Line] = "warn"
		}
	}
	lines, size := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n"), 0
	list := make([]codeLine, 0, min(len(lines), maxCodeLines))
	for i, l := range lines {
		if size += len(l); size > maxCodeBytes || i == maxCodeLines {
			return append(list, codeLine{i + 1, "… and " + ui.Count(len(lines)-i, "more line", "more lines"), ""})
		}
		list = append(list, codeLine{i + 1, l, marks[i+1]})
	}
	return list
}

// Bounds of a numbered text: each line is markup of its own.
const (
	maxCodeLines = 5000
	maxCodeBytes = 256 << 10 // the most that a definition may have
)

// shownText returns the text that the findings are about: the file on disk
// where it is newer, else what serves.
func shownText(a *task.Agent) string { return cmp.Or(a.FileText, a.Text) }

// hash8 shortens a hash for reading.
func hash8(h string) string { return h[:min(len(h), 8)] }

// durOr writes a duration, or "" for none.
func durOr(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ui.LimitSpan(int(d.Seconds()))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
