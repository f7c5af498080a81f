package service

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskyard/task"
)

// workPrompt is what every run is asked, whatever the agent and the task; the
// specifics are in the <Task> block before it.
const workPrompt = `Work on the task above.

1. Read the <Task> block: the goal, what is done, and the latest messages.
2. Compare the steps with the actual state; mark finished ones with update_step.
3. If there is no plan yet, write one with update_steps: a few short steps.
4. Before you move past a step that has a subtask, check the subtask with get_task.
5. Work on the next step that is not done.
6. If you need an answer from a person, call notify_user with needs_reply and end your turn.
7. When everything is done, call complete_task with a short summary.

Work only on this task.`

// Bounds of what a prompt repeats of a task's thread: the rest is one call away.
const (
	shownMessages = 10
	historyBytes  = 6000 // bytes of messages, runs and subtasks together, about 1,500 tokens
	newestMessage = 4000 // bytes of the newest message
	minMessage    = 200  // bytes; of an older message less is not shown

	lastingMessage = 1000 // bytes that an answer or hand-over has in any case
)

// buildPrompt returns the prompt of a run of a task. A boundary of a former
// rendering is kept, so that the same texts give the same bytes, unless it is
// "" or a text holds it. helpers are the agents that it may delegate to.
func buildPrompt(tk *task.Task, r *task.Run, spec task.Spec, helpers []task.Agent, boundary string) (prompt, used string) {
	for boundary == "" || promptContains(tk, helpers, boundary) {
		boundary = newBoundary()
	}
	w := &partWriter{boundary: boundary}
	fmt.Fprintf(w, partsNotice+"\n\n", boundary)
	if r.Delegated() {
		w.delegated(tk, r, spec)
	} else {
		w.task(tk, r)
		w.WriteString("\n\n" + workPrompt)
	}
	w.delegation(helpers)
	return w.String(), boundary
}

// promptContains reports whether one of the texts of a prompt holds a word.
func promptContains(tk *task.Task, helpers []task.Agent, word string) bool {
	texts := []string{tk.Title, tk.Description}
	for _, a := range helpers {
		texts = append(texts, a.Description)
	}
	for _, s := range tk.Steps {
		texts = append(texts, s.Title, s.Details)
	}
	for _, r := range tk.Resources {
		texts = append(texts, r.Value, r.Label)
	}
	for _, c := range tk.Comments {
		texts = append(texts, c.Content)
	}
	for _, r := range tk.Runs {
		texts = append(texts, r.Summary, r.Reason, r.LastWords)
	}
	texts = append(texts, reviewTexts(tk)...)
	for _, s := range tk.Subtasks {
		texts = append(texts, s.Title, s.Summary, s.Merge)
		if s.LastRun != nil {
			texts = append(texts, s.LastRun.Reason, s.LastRun.LastWords)
		}
	}
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), word) })
}

// task describes a task to the agent that runs on it, and what happened before.
func (w *partWriter) task(tk *task.Task, r *task.Run) {
	fmt.Fprintf(w, "<Task>\nid: %d\nstatus: %s\nowner: %s\ncreated by: %s\npriority: %d\n",
		tk.ID, tk.Status, tk.Owner, authorLabel(tk.CreatedBy), tk.Priority)
	if tk.ParentTaskID != 0 {
		fmt.Fprintf(w, "subtask of: %d\n", tk.ParentTaskID)
	}
	if tk.Project != "" {
		fmt.Fprintf(w, "project: %s\n", tk.Project)
	}
	if len(tk.BlockedBy) > 0 {
		fmt.Fprintf(w, "comes after tasks: %s\n", task.JoinIDs(tk.BlockedBy, ", "))
	}
	w.part("title", writtenBy(tk, tk.TitleBy), onOneLine(tk.Title))
	if tk.Description != "" {
		w.part("description", writtenBy(tk, tk.TextBy), tk.Description)
	}
	const workers = "those who work on this task"
	if len(tk.Steps) == 0 {
		w.WriteString("steps: (no plan yet)\n")
	} else {
		w.part("steps", workers, stepLines(tk.Steps))
	}
	if len(tk.Resources) > 0 {
		w.part("resources", workers, resourceLines(tk.Resources))
	}
	w.review(tk)
	room := historyBytes - w.subtasks(tk) - w.earlierRuns(tk)
	w.lastMessages(tk, room)
	if r.StartReason != "" {
		fmt.Fprintf(w, "reason for this run: %s\n", onOneLine(strings.ReplaceAll(r.StartReason, "\n", "; ")))
	}
	w.WriteString("</Task>")
}

// stepLines lists steps. Details are indented, so that none looks like a step.
func stepLines(steps []task.Step) string {
	lines := make([]string, 0, len(steps))
	for i, s := range steps {
		mark := " "
		if s.Done {
			mark = "x"
		}
		line := fmt.Sprintf("%d. [%s] %s", i, mark, onOneLine(s.Title))
		if s.TaskID != 0 {
			line += fmt.Sprintf(" (subtask %d)", s.TaskID)
		}
		if s.Details != "" {
			line += "\n   " + strings.ReplaceAll(normalized(s.Details), "\n", "\n   ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func resourceLines(list []task.Resource) string {
	lines := make([]string, 0, len(list))
	for i, r := range list {
		line := fmt.Sprintf("%d. %s %s", i, r.Type, onOneLine(r.Value))
		if r.Label != "" {
			line += " (" + onOneLine(r.Label) + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// subtasks reports how the subtasks of a task are, and returns the bytes of
// their texts.
func (w *partWriter) subtasks(tk *task.Task) (bytes int) {
	if len(tk.Subtasks) == 0 {
		return 0
	}
	w.WriteString("subtasks")
	if slices.Contains(tk.Cut, "subtasks") {
		w.WriteString(" (the newest; read each with get_task)")
	}
	w.WriteString(":\n")
	for _, s := range tk.Subtasks {
		heading := fmt.Sprintf("subtask %d of agent %s, %s", s.ID, s.Owner, s.Status)
		text := onOneLine(s.Title)
		if s.Summary != "" {
			text += "\n" + s.Summary
		}
		if s.Merge != "" {
			text += "\n(Taskyard: " + s.Merge + ")"
		}
		w.part(heading, "those who work on task "+s.ID.String(), text)
		bytes += len(text)
		if s.LastRun != nil {
			bytes += w.pastRun("subtask "+s.ID.String()+": ", *s.LastRun)
		}
	}
	return bytes
}

// earlierRuns reports how the runs of a task ended, and returns the bytes of
// their texts.
func (w *partWriter) earlierRuns(tk *task.Task) (bytes int) {
	if len(tk.Runs) == 0 {
		return 0
	}
	w.WriteString("earlier runs of this task")
	if slices.Contains(tk.Cut, "runs") {
		fmt.Fprintf(w, " (the newest; GET /api/tasks/%d/runs has all)", tk.ID)
	}
	w.WriteString(":\n")
	for _, r := range tk.Runs {
		bytes += w.pastRun("", r)
	}
	return bytes
}

// pastRun reports how a run ended, by whom its reason or summary is.
func (w *partWriter) pastRun(before string, r task.PastRun) int {
	heading := fmt.Sprintf("%srun %d of agent %s, %s", before, r.ID, r.Agent, r.Status)
	if r.Status != task.RunCompleted {
		heading += " (" + string(r.Phase) + ")"
	}
	author, text := authorLabel(r.Agent), r.Summary
	switch {
	case r.By != "":
		author, text = authorLabel(r.By), r.Reason
	case r.Reason != "":
		author, text = "Taskyard, which may quote agents and programs", r.Reason
	}
	w.part(heading, author, text)
	if r.LastWords != "" {
		w.part("its last message", authorLabel(r.Agent), r.LastWords)
	}
	return len(text) + len(r.LastWords)
}

// lastMessages repeats the newest messages of a thread within room bytes, those
// first that outlast others, and says where the rest is.
func (w *partWriter) lastMessages(tk *task.Task, room int) {
	list := tk.Comments
	if len(list) == 0 {
		return
	}
	texts := map[int]string{}
	show := func(i, limit int) {
		if _, ok := texts[i]; !ok {
			texts[i] = task.ClipText(list[i].Content, limit)
			room -= len(texts[i])
		}
	}
	newest := len(list) - 1
	show(newest, newestMessage)
	for _, i := range task.LastingMessages(list) {
		show(i, max(room, lastingMessage))
	}
	for i := newest; i >= 0 && len(texts) < shownMessages && (len(list[i].Content) <= room || room >= minMessage); i-- {
		show(i, room)
	}
	if n := max(tk.CommentCount, len(list)) - len(texts); n > 0 {
		fmt.Fprintf(w, "last messages (%d earlier ones are left out: get_task with comments_after 0 reads all):\n", n)
	} else {
		w.WriteString("last messages:\n")
	}
	for _, i := range slices.Sorted(maps.Keys(texts)) {
		c, text := list[i], texts[i]
		heading := string(c.Kind) + " " + c.ID.String()
		if len(text) < len(c.Content) {
			heading += fmt.Sprintf(", cut: get_task with comments_after %d reads all of it", c.ID-1)
		}
		w.part(heading, commentAuthor(c), text)
	}
}

// runSpec returns exactly what would run now, as that run, by its runner as it
// is configured now. A run that was delegated works where the run that
// delegated it works, unless it has a workspace of its own.
func (tx *txn) runSpec(def task.Agent, now Runner, tk *task.Task, r *task.Run) (task.Spec, error) {
	var parent *task.Run
	if r.ParentRun != 0 {
		var err error
		if parent, err = tx.Run(r.ParentRun); err != nil {
			return task.Spec{}, err
		}
	}
	place, err := tx.runPlace(tk, parent)
	if err != nil {
		return task.Spec{}, err
	}
	if place.Continues, err = tx.continues(def, now, r); err != nil {
		return task.Spec{}, err
	}
	return tx.s.buildSpec(def, now, tk, r, parent, place), nil
}

// runPlace returns where the runs of a task of a project work, as the part of a
// Spec: in the worktree of the task, or in that of the run that delegated it.
func (tx *txn) runPlace(tk *task.Task, parent *task.Run) (spec task.Spec, err error) {
	if tk.Project == "" {
		return spec, nil
	}
	p, err := tx.Project(tk.Project)
	if err != nil || p.Repository == "" {
		return spec, err
	}
	spec.Project, spec.Workspace = p.Key, task.WorktreeWorkspace(p.Repository)
	if parent != nil && parent.Spec != nil && parent.Spec.Workspace == spec.Workspace {
		return spec, nil // its work becomes part of the result of the task above
	}
	tree, err := taskWorktree(&tx.Rx, tk, p)
	spec.Branch, spec.BranchFrom, spec.Setup = tree.Branch, p.DefaultBranch, p.Setup
	if above, err := parentInProject(&tx.Rx, tk); err != nil {
		return spec, err
	} else if above != nil {
		spec.BranchFrom = tree.Target
	}
	if err != nil {
		return spec, err
	}
	list, _, err := tx.s.inForce(&tx.Rx, tk, p)
	for _, c := range list {
		if c.Run != "" {
			spec.Checks = append(spec.Checks, c.Run)
		}
	}
	return spec, err
}

// shareWorkspace makes a run work in the folder of its parent, which it may only
// read unless both may write, or on a branch from the worktree of its parent.
func shareWorkspace(spec *task.Spec, parent *task.Run) {
	_, tree := task.ParseWorktree(spec.Workspace)
	if spec.Workspace != "" && (!tree || spec.Workspace != parent.Spec.Workspace) {
		return
	}
	spec.Workspace, spec.SharedRun = parent.Spec.Workspace, parent.ID
	if spec.SharedFolder() {
		spec.SharedRun = cmp.Or(parent.Spec.SharedRun, parent.ID)
		// It has no tool that its parent lacks.
		spec.ReadOnly = !task.Writes(spec.Tools)
	}
}

func (s *Service) buildSpec(def task.Agent, now Runner, tk *task.Task, r, parent *task.Run, place task.Spec) task.Spec {
	spec := task.Spec{
		Agent: def.ID, DefinitionHash: def.Hash, Runner: def.Runner, Model: now.runModel(def, r.Ask), SystemPrompt: def.Prompt,
		Workspace: cmp.Or(place.Workspace, def.Workspace, now.Workspace), Depth: r.Depth,
		Env: slices.Clone(def.Env), Network: hasNetwork(def, r.Ask),
		TaskTools: def.TaskTools, Continues: place.Continues,
		Project: place.Project, Branch: place.Branch, BranchFrom: place.BranchFrom, Setup: place.Setup, Checks: place.Checks,
	}
	spec.Tools, spec.Limits = s.runRights(def, r.Ask)
	if parent != nil && parent.Spec != nil {
		shareWorkspace(&spec, parent)
	}
	var helpers []task.Agent
	if slices.Contains(spec.Tools, "task") && s.Delegates() && r.Depth < s.config().TaskTool.MaxDepth {
		helpers = s.helpers()
	}
	boundary := ""
	if r.Spec != nil {
		boundary = r.Spec.Boundary
	}
	spec.Prompt, spec.Boundary = buildPrompt(tk, r, spec, helpers, boundary)
	if a := r.Approval; boundary != "" && a != nil && a.Version != specHash(spec) {
		// What was shown may be known by now to those who changed the texts.
		spec.Prompt, spec.Boundary = buildPrompt(tk, r, spec, helpers, "")
	}
	return spec
}

// runRights returns the tools and limits of a run of an agent, within what was
// asked for it, which may be nil.
func (s *Service) runRights(def task.Agent, ask *task.Ask) (tools []string, limits task.Limits) {
	tools, limits = slices.Clone(def.Tools), ownLimits(def)
	if ask != nil {
		tools, limits = intersect(def.Tools, ask.Tools), limits.AtMost(ask.Limits)
	}
	limits.TimeoutSeconds = cmp.Or(limits.TimeoutSeconds, int(s.config().RunTimeout.Seconds()))
	limits.IdleTimeoutSeconds = cmp.Or(limits.IdleTimeoutSeconds, int(s.config().IdleTimeout.Seconds()))
	return tools, limits
}

// hasNetwork reports whether the shell of a run of an agent may use the network,
// within what was asked for it, which may be nil.
func hasNetwork(def task.Agent, ask *task.Ask) bool {
	return def.Network && (ask == nil || !ask.NoNetwork)
}

// specHash returns what an approval of one run freezes: every byte of the spec.
func specHash(spec task.Spec) string {
	b, err := json.Marshal(spec)
	if err != nil {
		panic(err) // a plain struct
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// grantHash returns what an approval for all runs of a task freezes: everything but
// the part of the prompt that progress itself changes, and the conversation
// before it.
func grantHash(spec task.Spec, tk *task.Task) string {
	spec.Prompt, spec.Boundary, spec.Continues = tk.Title+"\x00"+tk.Description, "", 0
	return specHash(spec)
}
