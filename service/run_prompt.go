package service

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"taskyard/task"
)

// workPrompt is what every run is asked, whatever the agent and the task; the
// specifics are in the <Task> block before it.
const workPrompt = `Work on the task above.

1. Read the <Task> block: what is wanted, what is done, what was said last.
2. Compare the steps with what you find; tick what is done.
3. If there is no plan yet, make one: a few short steps.
4. Before you pass a step that has a subtask, look at that subtask's status.
5. Work on the next step that is not done.
6. If you need a person, ask with notify (needsReply) and end your turn.
7. When everything is done, complete the task with a short summary.

Work on this task only.`

func joinIDs(ids []task.ID, sep string) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	return strings.Join(words, sep)
}

const shownMessages = 10

// promptOf is what a run of a task is asked. A boundary of a former rendering
// is kept, so that the same texts give the same bytes, unless it is "" or a
// text holds it.
func promptOf(tk *task.Task, delegated bool, tools []string, boundary string) (prompt, used string) {
	for boundary == "" || holds(tk, boundary) {
		boundary = newBoundary()
	}
	w := &partWriter{boundary: boundary}
	fmt.Fprintf(w, partsSentence+"\n\n", boundary)
	if delegated {
		w.delegated(tk, tools)
	} else {
		w.task(tk)
		w.WriteString("\n\n" + workPrompt)
	}
	return w.String(), boundary
}

// holds reports whether one of the texts of a task holds a word.
func holds(tk *task.Task, word string) bool {
	texts := []string{tk.Title, tk.Description}
	for _, s := range tk.Steps {
		texts = append(texts, s.Title, s.Details)
	}
	for _, r := range tk.Resources {
		texts = append(texts, r.Value, r.Label)
	}
	for _, c := range tk.Comments {
		texts = append(texts, c.Content)
	}
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), word) })
}

// task describes a task to the agent that runs on it.
func (w *partWriter) task(tk *task.Task) {
	fmt.Fprintf(w, "<Task>\nid: %d\nstatus: %s\nowner: %s\ncreated by: %s\npriority: %d\n",
		tk.ID, tk.Status, tk.Owner, authorLabel(tk.CreatedBy), tk.Priority)
	if tk.ParentTaskID != 0 {
		fmt.Fprintf(w, "subtask of: %d\n", tk.ParentTaskID)
	}
	if len(tk.BlockedBy) > 0 {
		fmt.Fprintf(w, "comes after the tasks: %s\n", joinIDs(tk.BlockedBy, ", "))
	}
	w.part("title", writtenBy(tk, tk.TitleBy), inLine(tk.Title))
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
	w.lastMessages(tk.Comments)
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
		line := fmt.Sprintf("%d. [%s] %s", i, mark, inLine(s.Title))
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
		line := fmt.Sprintf("%d. %s %s", i, r.Type, inLine(r.Value))
		if r.Label != "" {
			line += " (" + inLine(r.Label) + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (w *partWriter) lastMessages(list []task.Comment) {
	if len(list) == 0 {
		return
	}
	if n := len(list) - shownMessages; n > 0 {
		fmt.Fprintf(w, "last messages (%d earlier ones left out):\n", n)
		list = list[n:]
	} else {
		w.WriteString("last messages:\n")
	}
	for _, c := range list {
		w.part(string(c.Kind)+" "+c.ID.String(), commentAuthor(c), c.Content)
	}
}

// specOf is exactly what would run now, as that run.
func (s *Service) specOf(def task.Agent, tk *task.Task, r *task.Run) task.Spec {
	runner := s.cfg.Runners[def.Runner]
	spec := task.Spec{
		Agent: def.ID, DefinitionHash: def.Hash, Runner: def.Runner, Model: cmp.Or(def.Model, runner.Model), SystemPrompt: def.Prompt,
		Workspace: cmp.Or(def.Workspace, runner.Workspace), Depth: r.Depth, Env: slices.Clone(def.Env), Network: def.Network,
	}
	if r.Ask != nil {
		spec.Model = cmp.Or(r.Ask.Model, spec.Model)
	}
	spec.Tools, spec.Limits = s.rightsOf(def, r.Ask)
	boundary := ""
	if r.Spec != nil {
		boundary = r.Spec.Boundary
	}
	spec.Prompt, spec.Boundary = promptOf(tk, r.Delegated(), spec.Tools, boundary)
	if a := r.Approval; boundary != "" && a != nil && a.Version != hashOf(spec) {
		// What was shown may be known by now to those who changed the texts.
		spec.Prompt, spec.Boundary = promptOf(tk, r.Delegated(), spec.Tools, "")
	}
	return spec
}

// rightsOf returns the tools and limits of a run of an agent, within what was
// asked for it, which may be nil.
func (s *Service) rightsOf(def task.Agent, ask *task.Ask) (tools []string, limits task.Limits) {
	tools, limits = slices.Clone(def.Tools), ownLimits(def)
	if ask != nil {
		tools, limits = intersect(def.Tools, ask.Tools), limits.Within(ask.Limits)
	}
	limits.TimeoutSeconds = cmp.Or(limits.TimeoutSeconds, int(s.cfg.RunTimeout.Seconds()))
	limits.IdleTimeoutSeconds = cmp.Or(limits.IdleTimeoutSeconds, int(s.cfg.IdleTimeout.Seconds()))
	return tools, limits
}

// hashOf is what an approval of one run freezes: every byte of the spec.
func hashOf(spec task.Spec) string {
	b, err := json.Marshal(spec)
	if err != nil {
		panic(err) // a plain struct
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// grantOf is what an approval for all runs of a task freezes: everything but
// the part of the prompt that progress itself changes.
func grantOf(spec task.Spec, tk *task.Task) string {
	spec.Prompt, spec.Boundary = tk.Title+"\x00"+tk.Description, ""
	return hashOf(spec)
}
