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
	Agents  []AgentRow // of this page, by ID
	Query   string     // words in names or descriptions
	After   string     // last agent of the previous page
	More    int        // agents on later pages
	All     int        // agents in the instance
	Folder  string     // folder of the definition files
	Strays  []string   // files there that define no agent, and why, as sentences
	Runners []task.RunnerInfo
}

// AgentRow is one agent with the load of its queue.
type AgentRow struct {
	Agent          task.Agent
	Queued         int // active tasks without a live claim
	Working        int // active tasks with one
	Drafts         int // tasks that are drafts
	Report         AgentReport
	EnforcementGap string           // what it could do beyond its tools under its runner, as a sentence, or ""
	Runner         *task.RunnerInfo // nil: unknown
}

// AgentModel is the page of one agent.
type AgentModel struct {
	AgentRow
	Budgets []task.Budget // of the day, that apply to it
	Runs    []task.Run    // newest first, at most 20
	Error   string        // why deleting failed, or ""
	Todo    TodoModel
}

// TodoModel is the displayed part of an agent's todo list.
type TodoModel struct {
	Items   []string // front to back
	Count   int      // of the whole list
	More    int      // how many the link for more would show, or 0
	Entry   string   // the rejected input, or ""
	Problem string   // why, or ""
}

// countText returns the length of the list and how much of it is shown.
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

// verdict returns an agent's status as glyph, class and word.
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

// worstProblem returns the problem that determines the status, or nil.
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

// problemPlace returns the location of a problem: "line 7", or "whole file".
func problemPlace(p task.Problem) string {
	if p.Line == 0 {
		return "whole file"
	}
	return fmt.Sprintf("line %d", p.Line)
}

// codeLine is one line of a displayed file.
type codeLine struct {
	N    int
	Text string
	Mark string // "bad" or "warn" if a problem is on the line
}

// codeLines splits a text into numbered lines and marks those with problems.
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

// Bounds of a numbered text, whose lines are separate elements.
const (
	maxCodeLines = 5000
	maxCodeBytes = 256 << 10 // the maximum size of a definition
)

// shownText returns the text that the problems refer to: the file on disk if it
// is newer, otherwise the one in use.
func shownText(a *task.Agent) string { return cmp.Or(a.FileText, a.Text) }

// hash8 shortens a hash.
func hash8(h string) string { return h[:min(len(h), 8)] }

// durationText formats a duration, or returns "" for none.
func durationText(d time.Duration) string {
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
