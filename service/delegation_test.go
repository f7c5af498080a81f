package service

import (
	"fmt"
	"testing"
	"time"

	"taskyard/task"
)

// boss and lead, to which it delegates, may delegate; hand may not.
const (
	bossTools = "tools: read, grep, edit, task"
	leadTools = "tools: read, edit, bash, task"
)

// delegating returns an instance with agents that delegate, without approvals.
func delegating(t *testing.T, with ...func(*Config)) *instance {
	t.Helper()
	inst := newInstance(t, append([]func(*Config){noApprove}, with...)...)
	inst.define("boss", definition(bossTools, "runner: script", "timeout: 200s", "max_tokens: 1000", "max_cost_usd: 2", "model: big"))
	inst.define("lead", definition(leadTools, "runner: script", "max_parallel: 3"))
	inst.define("hand", definition("tools: read, bash", "runner: script", "max_parallel: 3", "model: own",
		"models:\n  low: small\n  high: huge"))
	return inst
}

func tool(change func(*task.DelegationRules)) func(*Config) {
	return func(c *Config) {
		change(&c.TaskTool)
	}
}

func (inst *instance) delegate(a task.Actor, d task.Delegation) task.Delegated {
	inst.t.Helper()
	if d.Task == "" {
		d.Task = "Look into it after event " + inst.lastEvent().String() // an identical request would join an open one
	}
	if d.AgentType == "" {
		d.AgentType = "hand"
	}
	return must(inst.s.Delegate(inst.ctx(), a, d))
}

func (inst *instance) delegated(a task.Actor, run task.ID) task.Delegated {
	inst.t.Helper()
	return must(inst.s.DelegatedRun(inst.ctx(), a, run, 0))
}

func (inst *instance) wantRefused(a task.Actor, d task.Delegation, code task.Code, words ...string) *task.Error {
	inst.t.Helper()
	if d.Task == "" {
		d.Task = "Look into it"
	}
	if d.AgentType == "" {
		d.AgentType = "hand"
	}
	last := inst.lastEvent()
	_, err := inst.s.Delegate(inst.ctx(), a, d)
	e := refused(inst.t, err, code, words...)
	equal(inst.t, "last event", inst.lastEvent(), last)
	return e
}

func TestARunDelegatesASubtaskAndItsRun(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	tk, st, own := inst.inRun("boss", steps("a", "b"), func(in *task.New) {
		in.Priority = 7
		in.Resources = []task.Resource{
			{Type: "file", Value: "/a"},
			{Type: "url", Value: "https://example.com", Label: "the page"},
			{Type: "file", Value: "/c"},
		}
	})
	d := inst.delegate(own, task.Delegation{Task: "Read the page\nand tell what it says.", StepIndex: ptr(1), Resources: []int{2, 1}})
	sub, run := inst.task(d.TaskID), inst.run(d.RunID)
	t.Run("the subtask is created by the caller and owned by the agent", func(t *testing.T) {
		equal(t, "parent", sub.ParentTaskID, tk.ID)
		equal(t, "created by", sub.CreatedBy, "boss")
		equal(t, "owner", sub.Owner, "hand")
		equal(t, "title", sub.Title, "Read the page")
		equal(t, "description", sub.Description, "Read the page\nand tell what it says.")
		equal(t, "priority", sub.Priority, 7)
	})
	t.Run("it is linked to the step", func(t *testing.T) { equal(t, "step", inst.task(tk.ID).Steps[1].TaskID, d.TaskID) })
	t.Run("it refers to the resources in the requested order", func(t *testing.T) {
		equal(t, "resources", fmt.Sprint(sub.Resources),
			fmt.Sprint([]task.Resource{{Type: "file", Value: "/c"}, {Type: "url", Value: "https://example.com", Label: "the page"}}))
	})
	t.Run("its run names the delegating run", func(t *testing.T) {
		equal(t, "cause", run.Cause, task.CauseDelegate)
		equal(t, "asked by", run.AskedBy, "boss")
		equal(t, "parent run", run.ParentRun, st.Run.ID)
		equal(t, "task of the parent run", run.ParentRunTask, tk.ID)
		equal(t, "depth", run.Depth, 1)
	})
	t.Run("the response is its state", func(t *testing.T) {
		equal(t, "answer", fmt.Sprintf("%+v", d),
			fmt.Sprintf("%+v", task.Delegated{
				RunID: d.RunID, TaskID: d.TaskID, Status: task.RunPending,
				Phase: task.PhaseQueued, FilesModified: []string{}, Artifacts: []string{}, Model: "own",
			}))
	})
	t.Run("its end completes the task, and the response reports success", func(t *testing.T) {
		child := inst.start()
		equal(t, "run", child.Run.ID, d.RunID)
		equal(t, "status", inst.delegated(own, d.RunID).Status, task.RunRunning)
		ok(t, inst.s.AppendTranscript(inst.ctx(), child.Run.ID, child.Run.Lease, []task.Message{
			{Type: "tool_call", Content: "edit", Data: []byte(`{"tool":"edit","input":{"path":"main.go"}}`)},
			{Type: "tool_call", Content: "read", Data: []byte(`{"tool":"read","input":{"path":"other.go"}}`)},
			{Type: "tool_call", Content: "edit", Data: []byte(`{"tool":"edit","id":7,"input":{"path":"failed.go"}}`)},
			{Type: "tool_result", Content: "no", Data: []byte(`{"tool":"edit","id":7,"error":true}`)},
			{Type: "usage", Content: "", Data: []byte(`{"tokensIn":30,"tokensOut":4}`)},
			{Type: "usage", Content: "", Data: []byte(`{"tokensIn":"none of these"}`)},
		}))
		equal(t, "tokens so far", inst.delegated(own, d.RunID).TokensUsed, 34)
		f := completed("The page says hello.")
		f.Artifacts, f.Usage = []string{"notes.md", "a.md"}, task.Usage{ToolCalls: 2, TokensIn: 30, TokensOut: 4}
		inst.finish(child, f)
		want := task.Delegated{
			RunID: d.RunID, TaskID: d.TaskID, Status: task.RunCompleted, Phase: task.PhaseEnded, Success: true, Summary: "The page says hello.",
			FilesModified: []string{"main.go"}, FilesRead: []string{"other.go"}, Artifacts: []string{"a.md", "notes.md"},
			Model: "own", ToolCalls: 2, TokensUsed: 34,
		}
		equal(t, "answer", fmt.Sprintf("%+v", inst.delegated(own, d.RunID)), fmt.Sprintf("%+v", want))
		equal(t, "task", inst.task(d.TaskID).Status, task.Done)
		equal(t, "summary", inst.task(d.TaskID).Summary, "The page says hello.")
	})
	inst.checkChain()
}

func TestADelegationIsValidated(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	_, _, own := inst.inRun("boss", steps("a"))
	for name, c := range map[string]struct {
		d     task.Delegation
		code  task.Code
		words []string
	}{
		"a task":                       {task.Delegation{Task: " \n"}, task.CodeInvalidField, []string{"task: is required"}},
		"a known agent":                {task.Delegation{AgentType: "nobody"}, task.CodeUnknownAgent, []string{"nobody", "known agents", "hand"}},
		"a valid agent":                {task.Delegation{AgentType: "bad"}, task.CodeInvalidAgent, []string{"bad"}},
		"an agent that can be started": {task.Delegation{AgentType: "pull"}, task.CodePullOnly, []string{"Taskyard cannot start agent pull: "}},
		"a known complexity": {
			task.Delegation{Complexity: "huge"},
			task.CodeInvalidField,
			[]string{"estimatedComplexity", "low, medium, high"},
		},
		"an existing step":       {task.Delegation{StepIndex: ptr(1)}, task.CodeInvalidField, []string{"stepIndex", "steps 0 to 0"}},
		"no negative step":       {task.Delegation{StepIndex: ptr(-1)}, task.CodeInvalidField, []string{"stepIndex"}},
		"existing resources":     {task.Delegation{Resources: []int{0}}, task.CodeInvalidField, []string{"resources[0]", "has no resources"}},
		"known tools":            {task.Delegation{Tools: []string{"sword"}}, task.CodeInvalidField, []string{"tools", "sword", "known are"}},
		"a short wait":           {task.Delegation{Wait: 51 * time.Second}, task.CodeInvalidField, []string{"waitSeconds", "0 to 50"}},
		"no other task in a run": {task.Delegation{ParentTask: 999}, task.CodeInvalidField, []string{"taskId", "inside a run"}},
		"positive limits":        {task.Delegation{Limits: task.Limits{MaxTokens: -1}}, task.CodeInvalidField, []string{"limits.maxTokens"}},
	} {
		t.Run(name, func(t *testing.T) { inst.wantRefused(own, c.d, c.code, c.words...) })
	}
	t.Run("a step has at most one subtask", func(t *testing.T) {
		d := inst.delegate(own, task.Delegation{StepIndex: ptr(0)})
		inst.wantRefused(own, task.Delegation{StepIndex: ptr(0)}, task.CodeStepLinked, d.TaskID.String())
	})
}

func TestDelegationDepthIsLimited(t *testing.T) {
	t.Parallel()
	inst := delegating(t, func(c *Config) { c.MaxParallel = 1 })
	_, _, root := inst.inRun("boss")
	t.Run("the first and second levels may delegate, the third may not", func(t *testing.T) {
		inst.delegate(root, task.Delegation{AgentType: "lead"})
		child := inst.actor(inst.start())
		d := inst.delegate(child, task.Delegation{AgentType: "lead"})
		equal(t, "depth", inst.run(d.RunID).Depth, 2)
		grandchild := inst.actor(inst.start())
		inst.wantRefused(grandchild, task.Delegation{}, task.CodeDepthExceeded, "maximum sub-agent depth exceeded (depth 2, limit 2)")
	})
	t.Run("a limit of 0 forbids delegation", func(t *testing.T) {
		inst := delegating(t, tool(func(c *task.DelegationRules) { c.MaxDepth = 0 }))
		_, _, own := inst.inRun("boss")
		inst.wantRefused(own, task.Delegation{}, task.CodeDepthExceeded, "(depth 0, limit 0)")
		inst.wantRefused(maya, task.Delegation{}, task.CodeDepthExceeded, "(depth 0, limit 0)")
	})
	t.Run("a later run of a delegated task has the same depth", func(t *testing.T) {
		inst := delegating(t, wakes)
		_, _, own := inst.inRun("boss")
		d := inst.delegate(own, task.Delegation{AgentType: "lead"})
		st := inst.start()
		child := inst.actor(st)
		must(inst.s.Ask(inst.ctx(), child, d.TaskID, "Which one?", false))
		inst.finish(st, completed("asked"))
		equal(t, "phase", inst.delegated(own, d.RunID).Phase, task.PhaseQuestion)
		must(inst.s.Reply(inst.ctx(), maya, d.TaskID, "The second."))
		woken := inst.openRun(d.TaskID)
		equal(t, "cause", woken.Cause, task.CauseWake)
		equal(t, "depth", woken.Depth, 1)
		again := inst.start()
		equal(t, "tools", fmt.Sprint(again.Spec.Tools), "[read edit task]")
		inst.finish(again, completed("It was the second."))
		equal(t, "summary", inst.delegated(own, d.RunID).Summary, "It was the second.")
	})
}

func TestWhoMayDelegate(t *testing.T) {
	t.Parallel()
	t.Run("an agent without the tool task may not, inside or outside a run", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("hand")
		inst.wantRefused(own, task.Delegation{}, task.CodeForbidden, "hand", "tool task")
		inst.wantRefused(agentActor("hand"), task.Delegation{}, task.CodeForbidden, "hand", "tool task")
	})
	t.Run("nor may a run without the tool", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		inst.delegate(own, task.Delegation{AgentType: "lead", Tools: []string{"read"}})
		child := inst.actor(inst.start())
		inst.wantRefused(child, task.Delegation{}, task.CodeForbidden, "lead", "read")
		_, err := inst.s.CreateTask(inst.ctx(), child, task.New{Title: "Around the corner", Owner: "hand"})
		refused(t, err, task.CodeForbidden, "delegated")
	})
	t.Run("outside a run an agent names a task that it owns", func(t *testing.T) {
		inst := delegating(t)
		mine, others := inst.create(maya, "boss", noStart, steps("a")), inst.create(maya, "lead", noStart)
		d := inst.delegate(agentActor("boss"), task.Delegation{ParentTask: mine.ID, StepIndex: ptr(0)})
		equal(t, "parent", inst.task(d.TaskID).ParentTaskID, mine.ID)
		equal(t, "parent run", inst.run(d.RunID).ParentRun, 0)
		equal(t, "depth", inst.run(d.RunID).Depth, 1)
		inst.wantRefused(agentActor("boss"), task.Delegation{ParentTask: others.ID}, task.CodeForbidden, "owner")
	})
	t.Run("without a task the new task has no parent, step or resource", func(t *testing.T) {
		inst := delegating(t)
		d := inst.delegate(oleg, task.Delegation{})
		equal(t, "parent", inst.task(d.TaskID).ParentTaskID, 0)
		inst.wantRefused(oleg, task.Delegation{StepIndex: ptr(0)}, task.CodeInvalidField, "stepIndex", "taskId")
		inst.wantRefused(oleg, task.Delegation{Resources: []int{0}}, task.CodeInvalidField, "resources", "taskId")
	})
	t.Run("a viewer may not", func(t *testing.T) { delegating(t).wantRefused(vera, task.Delegation{}, task.CodeForbidden) })
	t.Run("a delegated task passes on its depth and tools", func(t *testing.T) {
		inst := delegating(t)
		_, _, own := inst.inRun("boss")
		d := inst.delegate(own, task.Delegation{AgentType: "lead"})
		e := inst.delegate(agentActor("lead"), task.Delegation{ParentTask: d.TaskID})
		equal(t, "depth", inst.run(e.RunID).Depth, 2)
		f := inst.run(e.RunID)
		equal(t, "tools", fmt.Sprint(f.Ask.Tools), "[read edit task]")
	})
	t.Run("nobody while delegation is disabled", func(t *testing.T) {
		inst := delegating(t, tool(func(c *task.DelegationRules) { c.Enabled = false }))
		inst.wantRefused(maya, task.Delegation{}, task.CodeDelegationOff, "turned off")
	})
}

func TestDelegationsPerHourAreLimited(t *testing.T) {
	t.Parallel()
	inst := delegating(t, tool(func(c *task.DelegationRules) { c.MaxPerHour = 2 }))
	_, _, own := inst.inRun("boss", func(in *task.New) {})
	inst.delegate(own, task.Delegation{})
	inst.Forward(time.Minute)
	inst.delegate(own, task.Delegation{})
	e := inst.wantRefused(own, task.Delegation{}, task.CodeRateLimited, "boss", "2 times")
	equal(t, "kind", e.Kind, task.TooMany)
	equal(t, "seconds to wait", e.Retry, 59*60)
	t.Run("people and other agents are not limited", func(t *testing.T) {
		inst.delegate(maya, task.Delegation{})
		inst.delegate(agentActor("lead"), task.Delegation{})
	})
	t.Run("after the hour it may again", func(t *testing.T) {
		inst.Forward(59 * time.Minute)
		boss := agentActor("boss")
		inst.delegate(boss, task.Delegation{})
	})
}
