package handlers

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// sample fills an instance with some of everything and inserts mark into every text
// that people and agents can write. It returns a task of each kind.
type sample struct {
	work, asked, waits, stuck, draft, done, canceled, parent task.ID
	running, ended, failed, approval                         task.ID
}

func (s *site) sample(mark string) (m sample) {
	ctx := context.Background()
	in := func(owner, title string, prio int) task.New {
		return task.New{
			Owner: owner, Title: title + mark, Priority: prio, Description: "What is wanted: " + mark,
			Steps: []task.Step{{Title: "Plan" + clip60(mark), Done: true}, {Title: "Write the code", Details: "Details " + mark}, {Title: "Check"}},
			Resources: []task.Resource{
				{Type: "url", Value: "https://example.com/spec", Label: "Spec" + mark},
				{Type: "file", Value: "/srv/" + mark},
			},
		}
	}
	m.done = s.newTask(mayaActor, in("coder", "Ship the first version", 0)).ID
	s.makeRun(m.done, service.Finished{
		State:   task.State{Status: task.RunCompleted, Phase: task.PhaseEnded},
		Summary: "All of it works. " + mark, Artifacts: []string{"out/report-" + mark},
		Usage: task.Usage{ToolCalls: 12, TokensIn: 42000, TokensOut: 6100, CostUSD: 0.31},
	}, mark)
	s.ok2(s.svc.CompleteTask(ctx, mayaActor, m.done, "Shipped. "+mark, 0))
	m.canceled = s.newTask(mayaActor, in("planner", "A plan nobody needs", 0)).ID
	_, err := s.svc.CancelTask(ctx, mayaActor, m.canceled, "not wanted "+mark)
	s.ok(err)
	s.Forward(2 * time.Hour)

	m.stuck = s.newTask(mayaActor, in("coder", "Migrate the database", 4)).ID
	for range 3 {
		m.failed = s.makeRun(m.stuck, service.Finished{
			State:  task.State{Status: task.RunFailed, Phase: task.PhaseError},
			Reason: "exit code 1: " + mark, Permanent: true,
		}, mark)
	}
	m.draft = s.newTask(mayaActor, task.New{Owner: "bad", Title: "Think about it" + mark, Status: task.Draft}).ID
	m.parent = s.newTask(mayaActor, in("planner", "Prepare the release", 8)).ID
	sub, err := s.svc.CreateSubtask(ctx, asAgent("planner"), m.parent, 1,
		task.New{Owner: "coder", Title: "Write release notes" + mark, Priority: 3})
	s.ok(err)
	m.waits = sub.ID
	r, err := s.svc.RunNow(ctx, mayaActor, m.waits)
	s.ok(err)
	m.approval = r.ID
	m.asked = s.newTask(mayaActor, in("planner", "Choose a color", 1)).ID
	_, err = s.svc.Ask(ctx, asAgent("planner"), m.asked, "Blue or green? "+mark, false)
	s.ok(err)
	s.ok2(s.svc.Comment(ctx, mayaActor, m.stuck, "Please look at the **log**: "+mark))
	m.ended = s.makeRun(m.parent, service.Finished{
		State:   task.State{Status: task.RunCompleted, Phase: task.PhaseEnded},
		Summary: "Planned it in three steps. " + mark, Usage: task.Usage{ToolCalls: 4, TokensIn: 9000, TokensOut: 900},
	}, mark)
	m.work = s.newTask(mayaActor, in("coder", "Add a dark mode to the settings page", 6)).ID
	m.running = s.makeRun(m.work, service.Finished{}, mark)
	s.newTask(mayaActor, in("pull", "Answer the mail of a customer", 2))
	s.newTask(mayaActor, in("reviewer", "Look at the new endpoints", 2))
	_, err = s.svc.Tick(ctx, "cron")
	s.ok(err)
	s.ok(s.svc.NoteJob(ctx, "backup", 1200*time.Millisecond, context.DeadlineExceeded))
	s.ok(s.svc.RollUp(ctx))
	s.ok(s.svc.Index(ctx))
	for i := range 25 {
		s.ok2(s.svc.Todo(ctx, asAgent("coder"), "coder", task.TodoRPush, "Note "+strconv.Itoa(i)+mark))
	}
	_, err = s.svc.CreateToken(ctx, mayaActor, service.NewToken{Name: "laptop", Agent: "coder"})
	s.ok(err)
	return m
}

func clip60(s string) string { r := []rune(s); return string(r[:min(len(r), 50)]) }

func (s *site) ok2(_ any, err error) {
	s.t.Helper()
	s.ok(err)
}

// makeRun creates a manual run of a task, with a transcript, and ends it unless f has
// no status.
func (s *site) makeRun(id task.ID, f service.Finished, mark string) task.ID {
	s.t.Helper()
	ctx := context.Background()
	r := s.runTask(id).Run
	data := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		s.ok(err)
		return b
	}
	s.ok(s.svc.AppendTranscript(ctx, r.ID, r.Lease, []task.Message{
		{Role: task.SpeakerAssistant, Type: "text", Content: "I read the settings first. " + mark},
		{
			Role: task.SpeakerAssistant, Type: "tool_call", Content: "read",
			Data: data(map[string]any{"tool": "read", "args": map[string]string{"path": "settings.go" + mark}}),
		},
		{Role: task.SpeakerTool, Type: "tool_result", Content: "package settings\n\nfunc New() {}\n" + mark},
		{
			Role: task.SpeakerAssistant, Type: "tool_call", Content: "bash",
			Data: data(map[string]any{"tool": "bash", "args": map[string]string{"command": "go test ./..."}}),
		},
		{
			Role: task.SpeakerTool, Type: "tool_result", Content: "refused: coder may not use bash",
			Data: data(map[string]any{"tool": "bash", "denied": true}),
		},
		{Role: task.SpeakerAssistant, Type: "usage", Data: data(task.Usage{ToolCalls: 2, TokensIn: 9000, TokensOut: 800})},
		{Role: task.SpeakerAssistant, Type: "log", Content: "stderr: warning " + mark},
	}))
	if f.State.Status == "" {
		return r.ID
	}
	s.Forward(90 * time.Second)
	s.ok(s.svc.FinishRun(ctx, r.ID, r.Lease, f))
	return r.ID
}

// pages returns the addresses of all pages in an instance with a sample.
func (m sample) pages() []string {
	id := func(path string, id task.ID, rest string) string { return path + id.String() + rest }
	list := []string{
		"/", "/queues", "/queues?agent=coder", "/queues?status=waiting",
		"/tasks?q=release", "/tasks", "/tasks?status=failed&agent=coder",
		"/approvals", id("/approvals/", m.approval, ""), "/runs", "/runs?status=failed&agent=coder",
		id("/runs?task=", m.stuck, ""), "/history", "/history?q=first&status=done", "/insights",
		"/insights?range=24h&agent=coder", "/agents", "/scheduler", "/settings", "/settings/tokens", "/settings/about",
		id("/runs/", m.running, "/transcript"), id("/runs/", m.running, "/transcript?after=1"),
	}
	for _, t := range []task.ID{m.work, m.asked, m.waits, m.stuck, m.draft, m.done, m.canceled, m.parent} {
		list = append(list, id("/tasks/", t, ""))
	}
	for _, r := range []task.ID{m.running, m.ended, m.failed, m.approval} {
		list = append(list, id("/runs/", r, ""))
	}
	for a := range siteAgents {
		list = append(list, "/agents/"+a)
	}
	return list
}

// writerPages returns the pages for people who may change tasks.
func (m sample) writerPages() []string {
	t := "/tasks/" + m.parent.String()
	return []string{
		"/tasks/new", "/tasks/new?owner=coder", "/tasks/new?follow=" + m.done.String(),
		t + "/edit", t + "/move", t + "/cancel", t + "/steps/0/edit", t + "/steps/1/edit",
		"/scheduler/pause", "/scheduler/stop-everything", "/agents/coder/pause",
	}
}

var adminPages = []string{
	"/agents/new", "/agents/coder/edit", "/agents/bad/edit",
	"/settings/server", "/settings/people",
}
