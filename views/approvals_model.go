package views

import (
	"slices"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// ApprovalsModel is the page of the runs that wait for a reviewer.
type ApprovalsModel struct {
	Waiting  []task.Run            // the list on the left, oldest first
	Selected *ApprovalDetail       // the run on the right, or nil
	Recent   map[string][]task.Run // by agent of Waiting: its ended runs, newest first
	ReadOnly []task.Run            // those of Waiting that may do nothing but read
}

// beside returns the rows before and after the selected one, 0 where there is
// none.
func (m *ApprovalsModel) beside() (prev, next task.ID) {
	for i := range m.Waiting {
		if m.Selected == nil || m.Waiting[i].ID != m.Selected.Run.ID {
			continue
		}
		if i > 0 {
			prev = m.Waiting[i-1].ID
		}
		if i+1 < len(m.Waiting) {
			next = m.Waiting[i+1].ID
		}
		return prev, next
	}
	if len(m.Waiting) > 0 { // a run that no longer waits
		next = m.Waiting[0].ID
	}
	return 0, next
}

// ApprovalDetail is one run as a reviewer sees it. Its Run.Spec holds the
// bytes that will run.
type ApprovalDetail struct {
	Run        task.Run
	Parent     *task.Task         // the task it is a part of, or nil
	Asked      *task.Permission   // what the run asked for last, or nil
	ParentStep int                // 1-based step of Parent that it stands for, or 0
	Agent      *task.Agent        // the definition that serves now, or nil when it is gone
	MaxDepth   int                // the configured depth limit
	Recent     []task.Run         // ended runs of the agent, newest first, at most 12
	Enforced   []task.Enforcement // each tool and limit: asked for, and enforced or not
	WhyNot     string             // why this person may not decide; "" when they may
	Before     *task.Spec         // what it would have done before it was asked again, or nil
	Form       DecideForm         // what was typed, when a decision was refused
}

// DecideForm keeps what a reviewer typed through a refusal.
type DecideForm struct {
	Error          string         // why it was refused, where no field is to blame
	Errors         ui.FieldErrors // what is wrong with each field
	Tried          string         // approval or rejection
	Late           bool           // somebody or something was faster
	Changed        bool           // what would run is not what was looked at
	Reason         string
	ScopeTask      bool
	TimeoutSeconds string
	IdleSeconds    string
	MaxTokens      string
	MaxTurns       string
	MaxCost        string
	Unsaved        []UnsavedField // what was typed into a form that is not there any more
}

// limited reports whether a tighter limit was typed, which opens its disclosure.
func (f DecideForm) limited() bool {
	return f.TimeoutSeconds+f.IdleSeconds+f.MaxTokens+f.MaxTurns+f.MaxCost != ""
}

// spec returns what will run.
func (d *ApprovalDetail) spec() task.Spec { return specFromRun(&d.Run) }

// waits reports whether the run still waits for a decision.
func (d *ApprovalDetail) waits() bool {
	return d.Run.PendingDecision == nil && d.Run.State() == task.State{Status: task.RunPending, Phase: task.PhaseApproval}
}

// changed reports whether the definition that serves now differs from the one
// that will run.
func (d *ApprovalDetail) changed() bool {
	h := d.spec().DefinitionHash
	return d.Agent != nil && h != "" && d.Agent.Hash != h
}

// why says in a sentence how the run came about.
func (d *ApprovalDetail) why() string {
	switch {
	case d.Run.RetryOf != 0:
		return "asks to try run " + d.Run.RetryOf.String() + " again"
	case d.Run.Depth > 0 || d.Parent != nil || d.Run.Cause == task.CauseDelegate:
		return "asks to delegate"
	}
	return "asks to run"
}

// ToolChip is one tool as the approval and agent pages show it.
type ToolChip struct {
	Name    string
	Granted bool
	Danger  int // as task.Danger says
}

// toolChips lists the granted tools, most harmless first, then the known
// tools that are not granted.
func toolChips(granted []string) []ToolChip {
	var list []ToolChip
	for danger := 0; danger <= 3; danger++ {
		for _, t := range granted {
			if task.Danger(t) == danger {
				list = append(list, ToolChip{t, true, danger})
			}
		}
	}
	for _, t := range task.KnownTools {
		if !slices.Contains(granted, t) {
			list = append(list, ToolChip{t, false, task.Danger(t)})
		}
	}
	return list
}

// Ability is what a run may do, in words: the worst first, in bold.
type Ability struct {
	Danger int    // of the most dangerous tool
	Bold   string // "This run may execute shell commands"
	Rest   string // " in its workspace and write files. It cannot …"
}

// abilityFromSpec describes what a run with this spec may do and may not do.
// agent is the definition that it was made from, or nil when that is gone.
func abilityFromSpec(spec task.Spec, agent *task.Agent) Ability {
	has := func(tool string) bool { return slices.Contains(spec.Tools, tool) }
	worst := 0
	for _, t := range spec.Tools {
		worst = max(worst, task.Danger(t))
	}
	shell := worst == 3 // bash, or a tool that Taskyard does not know
	var can, cannot []string
	note := func(yes bool, what string) {
		if yes {
			can = append(can, what)
		} else {
			cannot = append(cannot, what)
		}
	}
	note(shell, "execute shell commands")
	note(shell || has("create") || has("edit"), "write files")
	if has("fetch") || !shell { // a shell may reach the network without fetch
		note(has("fetch"), "read web pages")
	}
	note(has("task"), "create further tasks")
	if len(can) == 0 {
		return Ability{worst, "This run may only read", " what is in its workspace. It may not " + joinList(cannot, "or") + "."}
	}
	rest := ""
	if can[0] == "execute shell commands" || can[0] == "write files" {
		rest = " in its work folder"
	}
	if len(can) > 1 {
		rest += " and " + joinList(can[1:], "and")
	}
	rest += "."
	if shell && agent != nil {
		rest += " " + shellNetwork(agent.Network)
	}
	if len(cannot) > 0 {
		rest += " It may not " + joinList(cannot, "or") + "."
	}
	return Ability{worst, "This run may " + can[0], rest}
}

func shellNetwork(on bool) string {
	if on {
		return "Its shell may reach the network."
	}
	return "Its shell has no network."
}

// joinList joins words as a sentence does: "a, b and c".
func joinList(list []string, last string) string {
	n := len(list)
	if n < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:n-1], ", ") + " " + last + " " + list[n-1]
}

// dangerText describes how much harm a tool can do, as task.Danger ranks it.
func dangerText(danger int) string {
	return [...]string{"reads", "reaches out or delegates", "writes files", "runs commands"}[min(max(danger, 0), 3)]
}
