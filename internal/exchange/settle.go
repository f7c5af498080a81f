package exchange

import (
	"fmt"
	"slices"
	"strings"

	"taskyard/task"
)

// settle resolves and checks the links between the tasks, sets Nesting, and
// fits every item. It is the last step of the readers.
func (p *Plan) settle() *Plan {
	p.index()
	for _, item := range p.Items {
		p.links(item)
		p.fit(item)
	}
	p.nest()
	p.cycles()
	p.waiting()
	return p
}

func (p *Plan) index() {
	p.byRef = make(map[string]*Item, len(p.Items))
	for _, item := range p.Items {
		if item.Ref == "" {
			continue // already reported
		}
		if first := p.byRef[item.Ref]; first != nil {
			p.Report.AddProblem(item.Where+".id", "appears twice: %s is also the id of %s", task.Quote(item.Ref), first.Where)
			continue
		}
		p.byRef[item.Ref] = item
	}
}

// links checks that every link of an item refers to a task in the files.
func (p *Plan) links(item *Item) {
	for i, ref := range item.Subtasks {
		if ref == "" {
			continue
		}
		where := fmt.Sprintf("%s.steps[%d].taskId", item.Where, i)
		sub := p.byRef[ref]
		switch {
		case sub == nil:
			p.Report.AddProblem(where, "leads to task %s, which the files do not hold; give tasks.json and history.jsonl together", task.Quote(ref))
		case sub.Parent == "":
			sub.Parent = item.Ref // the earliest format has the link only in the step
		case sub.Parent != item.Ref:
			p.Report.AddProblem(where, "leads to task %s, which is a subtask of %s already: a task has one parent and one step",
				task.Quote(ref), task.Quote(sub.Parent))
		}
	}
	if item.Parent != "" && p.byRef[item.Parent] == nil {
		p.Report.AddProblem(item.Where+".parentTaskId", "leads to task %s, which the files do not hold", task.Quote(item.Parent))
		item.Parent = ""
	}
	seen := map[string]bool{}
	kept := item.BlockedBy[:0]
	for i, ref := range item.BlockedBy {
		where := fmt.Sprintf("%s.blockedBy[%d]", item.Where, i)
		switch {
		case p.byRef[ref] == nil:
			p.Report.AddProblem(where, "leads to task %s, which the files do not hold", task.Quote(ref))
		case ref == item.Ref:
			p.Report.AddProblem(where, "lets the task wait for itself")
		case !seen[ref]:
			seen[ref] = true
			kept = append(kept, ref)
		}
	}
	item.BlockedBy = kept
	p.oneStep(item)
}

// oneStep rejects two steps of one plan with the same subtask.
func (p *Plan) oneStep(item *Item) {
	seen := map[string]bool{}
	for i, ref := range item.Subtasks {
		if ref != "" && seen[ref] {
			p.Report.AddProblem(fmt.Sprintf("%s.steps[%d].taskId", item.Where, i),
				"leads to task %s, as another step does: one step a subtask", task.Quote(ref))
		}
		seen[ref] = true
	}
}

// nest returns the depth of each task; cycles of parents have no depth.
func (p *Plan) nest() {
	for _, item := range p.Items {
		depth, up := 0, item
		for up.Parent != "" && depth <= task.MaxNesting {
			if up = p.byRef[up.Parent]; up == nil {
				break
			}
			depth++
			if up == item {
				p.Report.AddProblem(item.Where+".parentTaskId", "makes the task its own ancestor")
				depth = 0
				break
			}
		}
		if depth > task.MaxNesting {
			p.Report.AddProblem(item.Where+".parentTaskId", "nests the task more than %d deep", task.MaxNesting)
		}
		item.Task.Nesting = min(depth, task.MaxNesting)
	}
}

// cycles reports every cycle of blockers, with its path. Archived tasks no
// longer wait, so they cannot be in a cycle.
func (p *Plan) cycles() {
	type frame struct {
		item *Item
		next int
	}
	at := map[*Item]int{} // 1-based position on the stack, or done
	const done = -1
	for _, start := range p.Items {
		if at[start] != 0 {
			continue
		}
		stack := []frame{{start, 0}}
		at[start] = 1
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.item.Task.Status.Archived() || top.next == len(top.item.BlockedBy) {
				at[top.item] = done
				stack = stack[:len(stack)-1]
				continue
			}
			blocker := p.byRef[top.item.BlockedBy[top.next]]
			top.next++
			switch {
			case blocker == nil || at[blocker] == done:
			case at[blocker] == 0:
				stack = append(stack, frame{blocker, 0})
				at[blocker] = len(stack)
			default:
				refs := []string{}
				for _, f := range stack[at[blocker]-1:] {
					refs = append(refs, f.item.Ref)
				}
				p.Report.AddProblem(top.item.Where+".blockedBy", "closes a circle: %s", describeCycle(refs))
			}
		}
	}
}

// waiting bounds how many open tasks wait for one.
func (p *Plan) waiting() {
	count := map[string]int{}
	for _, item := range p.Items {
		if item.Task.Status.Archived() {
			continue
		}
		for _, ref := range item.BlockedBy {
			if count[ref]++; count[ref] == task.MaxBlocks+1 {
				p.Report.AddProblem(item.Where+".blockedBy", "is one too many: %d open tasks wait for task %s already, the most that may",
					task.MaxBlocks, task.Quote(ref))
			}
		}
	}
}

// describeCycle describes a cycle; of a long one, only its ends.
func describeCycle(refs []string) string {
	first := refs[0]
	if len(refs) > 20 {
		refs = append(append(slices.Clone(refs[:10]), "…"), refs[len(refs)-9:]...)
	}
	return strings.Join(append(refs, first), " waits for ")
}

// dropUnknown drops links to tasks that another program's file does not contain, and
// reports them.
func (p *Plan) dropUnknown(what string) {
	p.byRef = map[string]*Item{}
	for _, item := range p.Items {
		p.byRef[item.Ref] = item
	}
	for _, item := range p.Items {
		kept := item.BlockedBy[:0]
		for _, ref := range item.BlockedBy {
			if p.byRef[ref] == nil || ref == item.Ref {
				p.Report.omit(item.Where, what+" to tasks that the files do not hold")
				continue
			}
			kept = append(kept, ref)
		}
		item.BlockedBy = kept
		if item.Parent != "" && p.byRef[item.Parent] == nil {
			p.Report.omit(item.Where, "parents that the files do not hold")
			item.Parent = ""
		}
	}
}

// stepsOfChildren adds a step for each child to its parent, as delegation does,
// while there is room.
func (p *Plan) stepsOfChildren() {
	for _, item := range p.Items {
		up := p.byRef[item.Parent]
		if item.Parent == "" || up == nil || up == item || len(up.Task.Steps) >= task.MaxSteps {
			continue
		}
		for len(up.Subtasks) < len(up.Task.Steps) {
			up.Subtasks = append(up.Subtasks, "")
		}
		title, _ := line(item.Task.Title, task.MaxStepTitle)
		up.Task.Steps = append(up.Task.Steps, task.Step{Title: title, Done: item.Task.Status == task.Done})
		up.Subtasks = append(up.Subtasks, item.Ref)
	}
}
