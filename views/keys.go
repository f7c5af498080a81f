package views

import (
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// Command is an action of a key or the palette. The table below is the only
// place that defines keys: help and palette are rendered from it, and scripts
// read the rendered elements.
type Command struct {
	Keys  string // keys in order: "j", "g i"; "": only in the palette
	Shown string // displayed keys, if different: "Ctrl K"
	Label string
	Group string // heading in the help
	Icon  string // in the palette; "": not in the palette
	Href  string // link target
	Press string // selectors of the element to click, the first that exists: in the focused row, otherwise on the page
	Do    string // action implemented in scripts
	Needs func(Chrome) bool
	Open  bool // also without signing in
}

// commands is the table.
var commands = []Command{
	{Keys: "j", Label: "Next row", Group: "Lists", Do: "next"},
	{Keys: "k", Label: "Previous row", Group: "Lists", Do: "previous"},
	{Shown: "Enter", Label: "Open the row", Group: "Lists"},
	{Keys: "x", Label: "Select the row", Group: "Lists", Press: "[data-pick]"},
	{Keys: "+", Label: "Raise the priority", Group: "Lists", Press: "[data-key-up]"},
	{Keys: "-", Label: "Lower the priority", Group: "Lists", Press: "[data-key-down]"},
	{Keys: "b", Label: "Snooze in the inbox", Group: "Lists"}, // rows of the inbox define their own keys

	{Keys: "m", Label: "Move to another agent", Group: "Tasks", Icon: "forward", Press: "[data-key-move]"},
	{Keys: "e", Label: "Edit", Group: "Tasks", Icon: "pencil", Press: "[data-key-edit]"},
	{Keys: "[", Label: "Previous in the queue", Group: "Tasks", Icon: "arrow-up", Press: "[data-beside=prev]"},
	{Keys: "]", Label: "Next in the queue", Group: "Tasks", Icon: "arrow-down", Press: "[data-beside=next]"},
	{Keys: "a", Label: "Approve, answer or view", Group: "Tasks", Icon: "check", Press: "[data-approve]"},
	{Keys: "r", Label: "Reject", Group: "Tasks", Icon: "x", Press: "[data-reject]"},

	{Shown: "J", Label: "Next file", Group: "Review"}, // files are rows
	{Shown: "K", Label: "Previous file", Group: "Review"},
	{Keys: "n", Label: "Next comment", Group: "Review", Do: "nextComment"},
	{Keys: "p", Label: "Previous comment", Group: "Review", Do: "previousComment"},
	{Shown: "C", Label: "Comment on the line, the file or the result", Group: "Review"},
	{Shown: "V", Label: "Mark the file as viewed", Group: "Review"},
	{Shown: "A", Label: "Accept", Group: "Review"}, // see approve above
	{Shown: "R", Label: "Request changes", Group: "Review"},

	{
		Keys: "c", Label: "New task", Group: "Everywhere", Icon: "plus", Press: "[data-new-task]",
		Href: URL.NewTask(""), Needs: forWriters,
	},
	{Keys: "z", Label: "Undo", Group: "Everywhere", Icon: "rotate-ccw", Press: "[data-undo-decision], [data-undo], [data-plan-undo]"},
	{Keys: "/", Label: "Search", Group: "Everywhere", Do: "search", Open: true},
	{Shown: "Ctrl K", Label: "Palette: search, jump, act", Group: "Everywhere"},
	{Keys: "?", Label: "Keyboard shortcuts", Group: "Everywhere", Icon: "list-checks", Do: "help", Open: true},
	{Shown: "Esc", Label: "Close what is open", Group: "Everywhere", Open: true},
	{Label: "Switch theme", Icon: "sun-moon", Do: "theme"},

	{Keys: "g i", Label: "Inbox", Group: "Go to", Icon: "inbox", Href: URL.Inbox()},
	{Keys: "g a", Label: "Approvals", Group: "Go to", Icon: "shield-check", Href: URL.Approvals()},
	{Keys: "g q", Label: "Queues", Group: "Go to", Icon: "square-kanban", Href: URL.Queues(QueueFilter{})},
	{Keys: "g t", Label: "Tasks", Group: "Go to", Icon: "list-checks", Href: URL.Tasks(TaskListFilter{})},
	{Keys: "g h", Label: "History", Group: "Go to", Icon: "history", Href: URL.History(HistoryQuery{})},
	{Keys: "g n", Label: "Insights", Group: "Go to", Icon: "chart-column", Href: URL.Insights(InsightQuery{})},
	{Keys: "g s", Label: "Scheduler", Group: "Go to", Icon: "alarm-clock", Href: URL.Scheduler()},
	{Label: "Agents", Icon: "bot", Href: URL.Agents()},
	{Label: "Runs", Icon: "play", Href: "/runs"},
	{Label: "New agent", Icon: "plus", Href: URL.NewAgent(), Needs: forAdmins},
	{Label: "Failed tasks to retry", Icon: "rotate-ccw", Href: URL.InboxList(InboxQuery{Only: task.WaitStuck}), Needs: forWriters},
	{Label: "Pause all agents", Icon: "pause", Href: URL.SchedulerAct("pause"), Needs: forWriters},
	{Label: "Stop everything", Icon: "circle-stop", Href: URL.SchedulerAct("stop-everything"), Needs: forWriters},
	{Label: "Invite a person", Icon: "user", Href: URL.Settings("people") + "#name", Needs: forAdmins},
	{Label: "Cost and tokens", Icon: "chart-column", Href: URL.Insights(InsightQuery{})},
	{Label: "Saved views", Icon: "eye", Href: URL.Views()},
	{Label: "Settings", Icon: "settings", Href: URL.Settings("")},
	{Label: "Projects", Icon: "git-pull-request", Href: URL.Projects()},
	{Label: "Merge queue", Icon: "git-pull-request", Href: URL.Merges("", 0), Needs: func(c Chrome) bool { return len(c.Projects) > 0 }},
	{Label: "People", Icon: "user", Href: URL.Settings("people"), Needs: forAdmins},
	{Label: "Tokens", Icon: "key-round", Href: URL.Settings("tokens"), Needs: forPeople},
	{Label: "Appearance and shortcuts", Icon: "sun-moon", Href: URL.Settings("appearance")},
	{Label: "Schedule and limits of the server", Icon: "alarm-clock", Href: URL.Settings("server"), Needs: forAdmins},
	{Label: "Limits and budgets", Icon: "timer", Href: URL.Settings("limits")},
	{Label: "About this server", Icon: "cpu", Href: URL.Settings("about")},
	{Label: "Styleguide", Icon: "layout-list", Href: URL.Styleguide(), Needs: forAdmins},
	{Label: "Documentation", Icon: "file-text", Href: URL.Manual("README", "")},
	{Label: "JSON endpoints", Icon: "terminal", Href: URL.API()},
}

func forAdmins(c Chrome) bool { return c.CanAdmin }

func forPeople(c Chrome) bool { return c.Role.May(task.Account) }

func forWriters(c Chrome) bool { return c.CanWrite }

// keyGroups are the headings of the help.
var keyGroups = []string{"Everywhere", "Go to", "Lists", "Tasks", "Review"}

// groupCommands returns the commands of a group that are available to this
// person; "" selects those that are only in the palette.
func groupCommands(c Chrome, group string) []Command {
	var list []Command
	for i := range commands {
		if k := &commands[i]; k.Group == group && k.offered(c) {
			list = append(list, *k)
		}
	}
	return list
}

// keysDrawn caches the help for each kind of person: without it, rendering an
// inbox takes 5 % longer.
var keysDrawn ui.PartCache

// keysKey determines the contents of the help.
type keysKey struct {
	commands      [2]uint64 // bits of the available commands
	signedIn      bool
	keysTurnedOff bool
}

func newKeysKey(c Chrome) keysKey {
	k := keysKey{signedIn: c.User != "", keysTurnedOff: c.KeysOff}
	for i := range commands {
		if commands[i].offered(c) {
			k.commands[i/64] |= 1 << (i % 64)
		}
	}
	return k
}

// offered reports whether the command is available to a person.
func (k Command) offered(c Chrome) bool {
	return (k.Needs == nil || k.Needs(c)) && (k.Open || c.User != "")
}

// kind returns the type of a command for the palette: a place, an action on the
// page, or neither.
func (k Command) kind() string {
	switch {
	case k.Icon == "":
		return ""
	case k.Press != "" && k.Href == "":
		return "act"
	case k.Href != "" && k.Press == "":
		return "place"
	}
	return "command"
}

// caps returns the keys as displayed.
func (k Command) caps() []string {
	if k.Shown != "" {
		return strings.Fields(k.Shown)
	}
	return strings.Fields(strings.ToUpper(k.Keys))
}

// Places returns the pages that match words, for people without scripts.
func Places(c Chrome, words string) []Command {
	var list []Command
	for _, k := range commands {
		if k.Icon != "" && k.Href != "" && (k.Needs == nil || k.Needs(c)) && ContainsAll(k.Label, words) {
			list = append(list, k)
		}
	}
	return list
}

// ContainsAll reports whether s contains every word of words, in any case.
func ContainsAll(s, words string) bool {
	s = strings.ToLower(s)
	for w := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}
