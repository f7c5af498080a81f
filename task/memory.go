package task

import "slices"

// PastRun is a run of a task that has ended, as the agent of the next run reads it.
type PastRun struct {
	ID      ID        `json:"id"`
	Agent   string    `json:"agent"`
	Status  RunStatus `json:"status" enum:"completed,failed,canceled"`
	Phase   Phase     `json:"phase" doc:"how it ended: ended, timeout, denied, …"`
	By      string    `json:"by,omitempty" doc:"who denied it"`
	Summary string    `json:"summary,omitempty"`
	Reason  string    `json:"reason,omitempty" doc:"why it failed or was canceled"`
	EndedAt Time      `json:"endedAt"`

	LastWords string `json:"lastWords,omitempty" doc:"last message of a failed run"`
}

// Subtask is a subtask as the agent of its parent reads it.
type Subtask struct {
	ID      ID       `json:"id"`
	Title   string   `json:"title"`
	Owner   string   `json:"owner"`
	Status  Status   `json:"status" enum:"draft,active,done,canceled"`
	Summary string   `json:"summary,omitempty" doc:"its result, or the reason if it was canceled"`
	LastRun *PastRun `json:"lastRun,omitempty" doc:"only for open subtasks: the last run, if it failed or was denied"`
	Merge   string   `json:"merge,omitempty" doc:"whether the files of its last run were merged into the worktree of the run that delegated it"`
}

// Bounds of what a task remembers in an answer and in a prompt.
const (
	MaxPastRuns = 5  // ended runs of the task
	MaxSubtasks = 20 // subtasks

	pastText     = 1000 // bytes of one summary or reason
	pastRunBytes = 1500 // bytes of the texts of all runs
	subtaskBytes = 2500 // bytes of the texts of all subtasks
	minPastText  = 80   // bytes; less of a text says nothing
)

// Remember sets the runs and subtasks of t, which are given newest first and
// may be one more than the limits: the newest are kept, in the order of their
// creation, and the texts of older ones are cut first. t.Cut names what is
// incomplete.
func (t *Task) Remember(runs []PastRun, subtasks []Subtask) {
	if len(runs) > MaxPastRuns {
		runs = runs[:MaxPastRuns]
		t.noteCut("runs")
	}
	if len(subtasks) > MaxSubtasks {
		subtasks = subtasks[:MaxSubtasks]
		t.noteCut("subtasks")
	}
	room := pastRunBytes
	for i := range runs {
		t.cutPastText(&runs[i].Summary, "runs", &room)
		t.cutPastText(&runs[i].Reason, "runs", &room)
		t.cutPastText(&runs[i].LastWords, "runs", &room)
	}
	room = subtaskBytes
	for i := range subtasks {
		t.cutPastText(&subtasks[i].Merge, "subtasks", &room)
		t.cutPastText(&subtasks[i].Summary, "subtasks", &room)
		if r := subtasks[i].LastRun; r != nil {
			t.cutPastText(&r.Reason, "subtasks", &room)
			t.cutPastText(&r.LastWords, "subtasks", &room)
		}
	}
	slices.Reverse(runs)
	slices.Reverse(subtasks)
	t.Runs, t.Subtasks = runs, subtasks
}

// cutPastText cuts a text to what room is left, and takes it from that.
func (t *Task) cutPastText(text *string, what string, room *int) {
	limit := min(pastText, *room)
	switch {
	case len(*text) <= limit:
	case limit < minPastText:
		*text = ""
		t.noteCut(what)
	default:
		*text = ClipText(*text, limit)
		t.noteCut(what)
	}
	*room -= len(*text)
}

// dropOldest leaves out the oldest subtasks and runs.
func (t *Task) dropOldest(n *int, limit int) {
	for *n > limit && len(t.Subtasks) > 0 {
		*n -= t.Subtasks[0].jsonBytes()
		t.Subtasks = t.Subtasks[1:]
		t.noteCut("subtasks")
	}
	for *n > limit && len(t.Runs) > 0 {
		*n -= t.Runs[0].jsonBytes()
		t.Runs = t.Runs[1:]
		t.noteCut("runs")
	}
}

func (r PastRun) jsonBytes() int {
	return 160 + JSONBytes(r.Agent) + JSONBytes(r.By) + JSONBytes(r.Summary) + JSONBytes(r.Reason) + JSONBytes(r.LastWords)
}

func (s Subtask) jsonBytes() int {
	n := 110 + JSONBytes(s.Title) + JSONBytes(s.Owner) + JSONBytes(s.Summary) + JSONBytes(s.Merge)
	if s.LastRun != nil {
		n += 12 + s.LastRun.jsonBytes()
	}
	return n
}
