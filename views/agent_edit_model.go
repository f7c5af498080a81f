package views

import (
	"strings"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// AgentEditModel is the editor of a definition file.
type AgentEditModel struct {
	ID        string // "" for a new agent until typed
	New       bool
	Text      string // contents of the editor
	Base      string // the file that the text is based on, "" for a new one
	Hash      string // SHA-256 of Base, "" for a new one
	Check     AgentCheck
	Templates []task.AgentTemplate // for a new agent
	From      string               // key of the selected template
	Invalid   bool                 // saving failed because of problems; offers to save anyway
	IDProblem string               // what is wrong with the file name, or ""
	Error     string               // another reason why saving failed, or ""
	Conflict  *AgentConflict       // the file has changed since, or nil
}

// AgentCheck is the definition that a text results in.
type AgentCheck struct {
	Agent          task.Agent
	EnforcementGap string           // what it could do beyond its tools under its runner, or ""
	Runner         *task.RunnerInfo // nil: unknown
}

// AgentConflict is a file that was changed or deleted while someone edited it.
type AgentConflict struct {
	Gone bool
	Now  string    // current text of the file
	By   string    // who changed it through Taskyard; "" for another program
	At   task.Time // when, or 0
}

// changedBy returns who changed the file.
func (k *AgentConflict) changedBy() string {
	if k.By == "" {
		return "Another program"
	}
	return ui.ActorLabel(k.By)
}

func (k *AgentConflict) did() string {
	if k.Gone {
		return "deleted this file while you edited it"
	}
	return "changed this file while you edited it"
}

func (m *AgentEditModel) title() string {
	if m.New {
		return "New agent"
	}
	return "Edit " + m.ID
}

// maxBase is the size in bytes up to which the form includes the original file,
// to show changes in the meantime; both must fit into one request.
const maxBase = 64 << 10

func (m *AgentEditModel) base() string {
	if len(m.Base) > maxBase {
		return ""
	}
	return m.Base
}

// action returns the URL that the editor posts to.
func (m *AgentEditModel) action() string {
	if m.New || m.Conflict != nil && m.Conflict.Gone {
		return URL.Agents()
	}
	return URL.Agent(m.ID)
}

func (m *AgentEditModel) back() string {
	if m.New {
		return URL.Agents()
	}
	return URL.Agent(m.ID)
}

// saveText returns the label of the button that saves.
func (m *AgentEditModel) saveText() string {
	switch {
	case m.Conflict != nil && m.Conflict.Gone:
		return "Use mine: create it again"
	case m.Conflict != nil:
		return "Use mine"
	case m.New:
		return "Create"
	}
	return "Save"
}

var agentIDAttrs = templ.Attributes{
	"required": true, "maxlength": "63", "pattern": "[a-z0-9][a-z0-9\\-]*", "autocomplete": "off", "autofocus": true, "spellcheck": "false",
}

func knownTools() string { return strings.Join(task.KnownTools, ", ") }

// areaText returns a text for a textarea: the HTML parser drops one newline at
// its start.
func areaText(s string) string { return "\n" + s }

// verdictText describes the verdict of a check on one line.
func (k *AgentCheck) verdictText() string {
	fatal := 0
	for _, p := range k.Agent.Problems {
		if p.Fatal {
			fatal++
		}
	}
	more := len(k.Agent.Problems) - fatal
	switch {
	case fatal > 0 && more > 0:
		return ui.Count(fatal, "error", "errors") + " and " + ui.Count(more, "warning", "warnings") + ": this agent can't run"
	case fatal > 0:
		return ui.Count(fatal, "error", "errors") + ": this agent can't run"
	case more > 0:
		return "Runnable, with " + ui.Count(more, "warning", "warnings")
	case k.Agent.PullOnly:
		return "Valid; Taskyard never starts it"
	}
	return "Valid"
}

// fileDiff compares two files; the newline at the end of both is not a line.
func fileDiff(before, after string) []diffLine {
	a, ended := strings.CutSuffix(before, "\n")
	b, too := strings.CutSuffix(after, "\n")
	if ended && too {
		return compareLines(a, b)
	}
	return compareLines(before, after)
}

// diffCounts returns how many lines a comparison adds and removes.
func diffCounts(list []diffLine) (added, removed int) {
	for _, l := range list {
		switch l.Kind {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// grantedChips returns the granted tools, most harmless first.
func grantedChips(tools []string) (list []ToolChip) {
	for _, t := range toolChips(tools) {
		if t.Granted {
			list = append(list, t)
		}
	}
	return list
}

// promptSize describes the length of a prompt.
func promptSize(prompt string) string {
	lines := 0
	if prompt != "" {
		lines = strings.Count(strings.TrimRight(prompt, "\n"), "\n") + 1
	}
	return ui.Count(lines, "line", "lines") + ", about " + ui.Tokens(len(prompt)/4) + " tokens"
}
