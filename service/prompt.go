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
// specifics stand in the <Task> block before it.
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

// taskBlock describes a task to the agent that runs on it.
func taskBlock(k *task.Task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<Task>\nid: %d\ntitle: %s\nstatus: %s\nowner: %s\ncreated by: %s\npriority: %d\n", k.ID, k.Title, k.Status, k.Owner, k.CreatedBy, k.Priority)
	if k.ParentTaskID != 0 {
		fmt.Fprintf(&b, "subtask of: %d\n", k.ParentTaskID)
	}
	if len(k.BlockedBy) > 0 {
		fmt.Fprintf(&b, "comes after the tasks: %s\n", joinIDs(k.BlockedBy, ", "))
	}
	if k.Description != "" {
		fmt.Fprintf(&b, "\ndescription:\n%s\n", k.Description)
	}
	b.WriteString("\nsteps:\n")
	if len(k.Steps) == 0 {
		b.WriteString("(no plan yet)\n")
	}
	for i, s := range k.Steps {
		mark := " "
		if s.Done {
			mark = "x"
		}
		fmt.Fprintf(&b, "%d. [%s] %s", i, mark, s.Title)
		if s.TaskID != 0 {
			fmt.Fprintf(&b, " (subtask %d)", s.TaskID)
		}
		b.WriteByte('\n')
		if s.Details != "" {
			fmt.Fprintf(&b, "   %s\n", strings.ReplaceAll(s.Details, "\n", "\n   "))
		}
	}
	if len(k.Resources) > 0 {
		b.WriteString("\nresources:\n")
		for i, r := range k.Resources {
			fmt.Fprintf(&b, "%d. %s %s", i, r.Type, r.Value)
			if r.Label != "" {
				fmt.Fprintf(&b, " (%s)", r.Label)
			}
			b.WriteByte('\n')
		}
	}
	lastMessages(&b, k.Comments)
	b.WriteString("</Task>")
	return b.String()
}

func lastMessages(b *strings.Builder, list []task.Comment) {
	if len(list) == 0 {
		return
	}
	if n := len(list) - shownMessages; n > 0 {
		fmt.Fprintf(b, "\nlast messages (%d earlier ones left out):\n", n)
		list = list[n:]
	} else {
		b.WriteString("\nlast messages:\n")
	}
	for _, c := range list {
		fmt.Fprintf(b, "- %s, %s: %s\n", c.Author, c.Kind, strings.ReplaceAll(c.Content, "\n", "\n  "))
	}
}

// specOf is exactly what would run now, as that run.
func (s *Service) specOf(def task.Agent, k *task.Task, r *task.Run) task.Spec {
	runner := s.cfg.Runners[def.Runner]
	spec := task.Spec{
		Agent: def.ID, DefinitionHash: def.Hash, Runner: def.Runner, Model: cmp.Or(def.Model, runner.Model),
		Tools: slices.Clone(def.Tools), SystemPrompt: def.Prompt, Prompt: taskBlock(k) + "\n\n" + workPrompt,
		Workspace: cmp.Or(def.Workspace, runner.Workspace), Depth: r.Depth, Env: slices.Clone(def.Env), Network: def.Network, Limits: ownLimits(def),
	}
	if r.Ask != nil {
		spec.Model, spec.Tools = cmp.Or(r.Ask.Model, spec.Model), intersect(def.Tools, r.Ask.Tools)
		spec.Limits = spec.Limits.Within(r.Ask.Limits)
		spec.Prompt = delegatedPrompt(k, spec.Tools)
	}
	if spec.Limits.TimeoutSeconds == 0 {
		spec.Limits.TimeoutSeconds = int(s.cfg.RunTimeout.Seconds())
	}
	if spec.Limits.IdleTimeoutSeconds == 0 {
		spec.Limits.IdleTimeoutSeconds = int(s.cfg.IdleTimeout.Seconds())
	}
	return spec
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
func grantOf(spec task.Spec, k *task.Task) string {
	spec.Prompt = k.Title + "\x00" + k.Description
	return hashOf(spec)
}
