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
	ReadOnly []task.Run            // those of Waiting that can only read
}

// beside returns the rows before and after the selected one, 0 if there is
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

// ApprovalDetail is one run for a reviewer. Its Run.Spec contains exactly what
// will run.
type ApprovalDetail struct {
	Run        task.Run
	Parent     *task.Task         // the parent task, or nil
	Asked      *task.Permission   // the run's latest permission request, or nil
	ParentStep int                // 1-based step of Parent that it implements, or 0
	Agent      *task.Agent        // the current definition, or nil if it was deleted
	MaxDepth   int                // the configured depth limit
	Recent     []task.Run         // ended runs of the agent, newest first, at most 12
	Enforced   []task.Enforcement // each requested tool and limit, and whether it is enforced
	WhyNot     string             // why this person may not decide, or ""
	Before     *task.Spec         // its plan before it changed, or nil
	Form       DecideForm         // the typed values, if a decision failed
}

// DecideForm keeps what a reviewer typed when a decision fails.
type DecideForm struct {
	Error          string         // why it failed, if no field is wrong
	Errors         ui.FieldErrors // the error of each field
	Attempted      string         // approval or rejection
	Late           bool           // someone or something was faster
	Changed        bool           // the plan differs from the one that was reviewed
	Reason         string
	ScopeTask      bool
	TimeoutSeconds string
	IdleSeconds    string
	MaxTokens      string
	MaxTurns       string
	MaxCost        string
	Unsaved        []UnsavedField // text typed into a form that no longer exists
}

// limited reports whether a tighter limit was typed, so that its section is
// open.
func (f DecideForm) limited() bool {
	return f.TimeoutSeconds+f.IdleSeconds+f.MaxTokens+f.MaxTurns+f.MaxCost != ""
}

// spec returns the plan that will run.
func (d *ApprovalDetail) spec() task.Spec { return specFromRun(&d.Run) }

// waits reports whether the run still waits for a decision.
func (d *ApprovalDetail) waits() bool {
	return d.Run.PendingDecision == nil && d.Run.State() == task.State{Status: task.RunPending, Phase: task.PhaseApproval}
}

// changed reports whether the current definition differs from the one that will
// run.
func (d *ApprovalDetail) changed() bool {
	h := d.spec().DefinitionHash
	return d.Agent != nil && h != "" && d.Agent.Hash != h
}

// reasonText explains in a sentence how the run came about.
func (d *ApprovalDetail) reasonText() string {
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
	Danger  int // see task.Danger
}

// toolChips lists the granted tools, most harmless first, then the known
// tools that are not granted.
func toolChips(granted []string) []ToolChip {
	var list []ToolChip
	for danger := 0; danger <= 3; danger++ {
		for _, t := range granted {
			if task.RiskLevel(t) == danger {
				list = append(list, ToolChip{t, true, danger})
			}
		}
	}
	for _, t := range task.KnownTools {
		if !slices.Contains(granted, t) {
			list = append(list, ToolChip{t, false, task.RiskLevel(t)})
		}
	}
	return list
}

// Ability describes what a run may do: the most dangerous part first, in bold.
type Ability struct {
	Danger int    // of the most dangerous tool
	Bold   string // "This run may execute shell commands"
	Rest   string // " in its workspace and write files. It cannot …"
}

// abilityFromSpec describes what a run with this spec may do and may not do.
// agent is the definition that it is based on, or nil if it was deleted.
func abilityFromSpec(spec task.Spec, agent *task.Agent) Ability {
	has := func(tool string) bool { return slices.Contains(spec.Tools, tool) }
	worst := 0
	for _, t := range spec.Tools {
		worst = max(worst, task.RiskLevel(t))
	}
	shell := worst == 3 // bash, or an unknown tool
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
		rest = " in its workspace"
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

// joinList joins words: "a, b and c".
func joinList(list []string, last string) string {
	n := len(list)
	if n < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:n-1], ", ") + " " + last + " " + list[n-1]
}

// dangerText describes how dangerous a tool is, according to task.Danger.
func dangerText(danger int) string {
	return [...]string{"reads", "reaches out or delegates", "writes files", "runs commands"}[min(max(danger, 0), 3)]
}
