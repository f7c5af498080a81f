package views

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"taskyard/internal/testkit"
	"taskyard/task"
	"taskyard/views/ui"
)

// now is the current time of the samples.
const now = task.Time(1_795_185_082_000)

func ago(d time.Duration) task.Time { return now.Add(-d) }

// renderHTML returns a component's HTML as the server sends it.
func renderHTML(t *testing.T, comp templ.Component) string {
	t.Helper()
	var b strings.Builder
	testkit.NoError(t, comp.Render(t.Context(), &b))
	return string(ui.MarkHidden([]byte(b.String())))
}

// formToken is the token of all forms in the samples.
const formToken = "form-token"

func sampleChrome(path string) Chrome {
	return Chrome{
		User: "maya", Role: task.RoleAdmin, FormToken: formToken, CanWrite: true, CanDecide: true, CanAdmin: true,
		Now: now, Path: path, Nav: NavCounts{Inbox: 3, Approvals: 1, Queued: 17, Open: 23},
		Agents: []NavAgent{
			{ID: "planner", Count: 3, Glyph: ui.GlyphWork},
			{ID: "coder", Count: 6, Glyph: ui.GlyphWork},
			{ID: "reviewer", Count: 4, Glyph: ui.GlyphWait},
			{ID: "researcher"},
			{ID: "docs-writer", Invalid: true},
		},
		Scheduler: SchedulerLine{On: true, NextTick: now.Add(29 * time.Minute)},
	}
}

func sampleTask(id task.ID, title, owner string, prio int, change func(*task.Task)) *task.Task {
	t := &task.Task{
		ID: id, Title: title, Owner: owner, Priority: prio, Status: task.Active, CreatedBy: "user:maya",
		Version: 3, ThreadID: id, CreatedAt: ago(2 * time.Hour), UpdatedAt: ago(12 * time.Second),
	}
	if change != nil {
		change(t)
	}
	t.Derive(now)
	return t
}

func claimed(since time.Duration, done, total int) func(*task.Task) {
	return func(t *task.Task) {
		t.Claim = &task.Claim{ID: 3, Holder: t.Owner, Since: ago(since), ExpiresAt: now.Add(time.Hour)}
		t.StepsDone, t.StepsTotal, t.CommentCount = done, total, 4
	}
}

// sampleByOwner returns the open tasks of three agents.
func sampleByOwner() (planner, coder, reviewer []*task.Task) {
	coder = []*task.Task{
		sampleTask(142, "Add rate limiting to the public API", "coder", 9, claimed(6*time.Minute, 3, 5)),
		sampleTask(150, "Return 409 on double claim", "coder", 7, claimed(2*time.Minute, 1, 4)),
		sampleTask(147, "Fix flaky TestQueueClaim under the race detector", "coder", 8, func(t *task.Task) { t.StepsTotal = 3 }),
		sampleTask(153, "Paginate task history by cursor", "coder", 4, nil),
		sampleTask(154, "Write the changelog", "coder", 0, func(t *task.Task) {
			t.Labels, t.BlockedBy, t.Blocked = []string{"docs", "release"}, []task.ID{142}, 1
		}),
		sampleTask(160, "Think about sharding", "coder", 0, func(t *task.Task) { t.Status = task.Draft }),
	}
	reviewer = []*task.Task{
		sampleTask(144, "Review retry policy: is 5 attempts acceptable?", "reviewer", 8,
			func(t *task.Task) { t.QuestionID = 9; t.CommentCount = 3 }),
		sampleTask(151, "Run integration tests for the limiter", "reviewer", 8, func(t *task.Task) {
			t.OpenRunID, t.OpenRunPhase, t.ParentTaskID = 7, task.PhaseApproval, 142
		}),
		sampleTask(148, "Lint pass over internal/web", "reviewer", 3,
			func(t *task.Task) { t.Failures, t.LastFailure = 1, "Stopped: token limit 200k reached" }),
		sampleTask(155, "Security pass over token handling", "reviewer", 6, func(t *task.Task) {
			t.Labels, t.BlockedBy, t.Blocked, t.BlockersCanceled = []string{"security"}, []task.ID{140, 142}, 2, 1
		}),
	}
	planner = []*task.Task{
		sampleTask(139, "Ship API hardening for v0.4", "planner", 9, claimed(18*time.Minute, 4, 7)),
		sampleTask(156, "Split the onboarding epic into agent-sized tasks", "planner", 5, nil),
	}
	return planner, coder, reviewer
}

func sampleOpen() []*task.Task {
	planner, coder, reviewer := sampleByOwner()
	return slices.Concat(planner, coder, reviewer)
}

func sampleQueues() QueuesModel {
	planner, coder, reviewer := sampleByOwner()
	doing := map[task.ID]string{142: "go test ./internal/limit/...", 139: "Checking subtask #142 before step 5"}
	return QueuesModel{
		Bar: FilterModel{
			Agents: []string{"coder", "planner", "researcher", "reviewer"}, Sum: "17 open, 4 agents",
		},
		Stats: &task.BoardDay{
			Done24h: 31, Waiting: 13, OldestAt: ago(3*time.Hour + 12*time.Minute), MedianRunMs: 246_000,
			DayStats: task.DayStats{
				Hours: []task.StatRow{{Hour: task.StatDay(now), RunsCompleted: 42, RunsFailed: 2, Done: 31, Millis: 44 * 246000, CostUSD: 4.12}},
				Today: task.Usage{CostUSD: 4.12}, Budget: task.Budget{MaxCostUSD: 15},
			},
		},
		Columns: []task.BoardColumn{
			{Agent: "planner", Running: 1, Slots: 1, Groups: groupCards(planner, 3, doing)},
			{Agent: "coder", Running: 2, Slots: 2, Groups: groupCards(coder, 2, doing)},
			{Agent: "reviewer", Slots: 1, Groups: groupCards(reviewer, 3, doing)},
			{Agent: "researcher", Slots: 1, LastRun: ago(22 * time.Minute)},
		},
	}
}

func sampleTaskModel() TaskModel {
	t := sampleTask(142, "Add rate limiting to the public API", "coder", 9, claimed(6*time.Minute, 0, 0))
	t.CreatedBy, t.ParentTaskID = "planner", 139
	t.Labels, t.BlockedBy, t.Blocked = []string{"api", "security"}, []task.ID{149, 151}, 1
	t.Description = "Anonymous callers can exhaust the worker pool. Put a token bucket in " +
		"front of `/api/*`, keyed by API token and falling back to IP.\n\n" +
		"- Default 60 requests per minute, burst 20, both configurable\n- Answer 429 with `Retry-After` and " +
		"a problem+json body, see #139 and ask @researcher\n- No change for `/healthz`"
	t.Steps = []task.Step{
		{Title: "Pick a limiter algorithm", Done: true, TaskID: 149},
		{Title: "Middleware with a per-token bucket", Done: true},
		{Title: "Config keys and defaults", Done: true},
		{Title: "Middleware tests, including burst and clock skew", Details: "Running go test ./internal/limit/..."},
		{Title: "Integration tests against a live server", Details: "Delegated: needs your approval to run bash", TaskID: 151},
	}
	t.Resources = []task.Resource{
		{Type: "url", Value: "https://example.org/pull/318", Label: "Pull request 318: rate limiting"},
		{Type: "file", Value: "/srv/docs/limits.md"},
		{Type: "url", Value: "https://www.rfc-editor.org/rfc/rfc6585"},
	}
	parent := sampleTask(139, "Ship API hardening for v0.4", "planner", 9, claimed(time.Hour, 4, 7))
	done := sampleTask(149, "Pick a limiter algorithm", "researcher", 5, func(t *task.Task) { t.Status = task.Done })
	waits := sampleTask(151, "Integration tests for limiter", "reviewer", 5, func(t *task.Task) { t.OpenRunPhase = task.PhaseApproval })
	runs := []*task.Run{
		{
			ID: 33, TaskID: 142, Agent: "coder", Status: task.RunRunning, Phase: task.PhaseWorking, CreatedAt: ago(7 * time.Minute),
			StartedAt: ago(372 * time.Second), Usage: task.Usage{ToolCalls: 11, TokensIn: 40100, TokensOut: 8000, CostUSD: 0.31},
		},
		{
			ID: 31, TaskID: 142, Agent: "coder", Status: task.RunCompleted, Phase: task.PhaseEnded,
			CreatedAt: ago(40 * time.Minute), StartedAt: ago(40 * time.Minute), EndedAt: ago(30 * time.Minute),
			Summary: "Buckets are created lazily.\nAdding a fake clock instead of sleeping.",
		},
		{
			ID: 30, TaskID: 142, Agent: "coder", Status: task.RunFailed, Phase: task.PhaseError, CreatedAt: ago(47 * time.Minute),
			StartedAt: ago(47 * time.Minute), EndedAt: ago(45 * time.Minute), Reason: "tool bash is not allowed for coder",
		},
	}
	question := &task.Message{
		ID: 5, TaskID: 142, Kind: task.KindQuestion, Author: "coder",
		Content: "May I raise the default burst to **40**?", CreatedAt: ago(3 * time.Minute),
	}
	messages := []*task.Message{
		{
			ID: 1, TaskID: 142, Kind: task.KindHandoff, Author: "researcher", CreatedAt: ago(58 * time.Minute),
			Content: "Token bucket beats a sliding window here: constant memory per key and a natural " +
				"burst. Use `golang.org/x/time/rate`; evict idle buckets after 10 minutes.",
		},
		{ID: 2, TaskID: 142, Kind: task.KindComment, Author: "user:maya", CreatedAt: ago(20 * time.Minute), Content: "Keep the defaults *low*."},
		question,
	}
	events := []*task.Event{
		{ID: 1, At: ago(2 * time.Hour), Actor: "planner", Kind: task.EvTaskCreated, TaskID: 142},
		{
			ID: 2, At: ago(50 * time.Minute), Actor: "user:maya", Kind: task.EvTaskUpdated, TaskID: 142,
			Changes: json.RawMessage(`{"priority":[5,9],"title":["a","b"]}`),
		},
		{ID: 3, At: ago(20 * time.Minute), Actor: "user:maya", Kind: task.EvCommented, TaskID: 142},
	}
	return TaskModel{
		Task: t, Subtasks: map[task.ID]*task.Task{149: done, 151: waits},
		Activity: Stream(messages, events, runs), Question: question, Runs: runs,
		Family: FamilyTree{
			Ancestors: []*task.Task{parent}, Self: t,
			Siblings: []*task.Task{sampleTask(140, "Idempotency keys", "coder", 3, nil)}, SiblingCount: 1, Subtasks: []*task.Task{done, waits},
			Open: 1, Done: 1,
		}, Why: []task.Reason{
			{Code: task.WhyRunning, Message: "Run 33 is working.", Run: 33},
			{Code: task.WhyBlocked, Message: "It is blocked by #151, which must be done first.", Task: 151},
		},
		Blockers: []*task.Task{done, waits}, Blocks: []*task.Task{parent},
		Usage: task.Usage{TokensIn: 100000, TokensOut: 21000, CostUSD: 0.58}, FamilyUsage: task.Usage{
			TokensIn: 300000, CostUSD: 1.2,
			Estimated: true,
		}, Agents: sampleAgents, Key: "KEY", Prev: 141, Next: 147, Place: "2 of 6",
	}
}

var sampleAgents = []AgentOption{
	{ID: "coder", Queue: 6}, {ID: "reviewer", Queue: 1, PullOnly: true}, {ID: "docs-writer", Invalid: true},
}

type samplePage struct {
	name string
	comp templ.Component
}

// samplePages returns all pages of this package, with every part filled.
func samplePages() []samplePage {
	m := sampleTaskModel()
	at := sampleChrome
	flash := at("/tasks")
	flash.Flash, flash.Theme = Flash{
		Text: "#152 moved to reviewer",
		Undo: &Undo{Action: "/tasks/152/move", Fields: [][2]string{{"to", "coder"}}},
	}, "dark"
	flash.Views = []task.SavedView{{ID: 1, Name: "Mine", Path: "/tasks?by=user%3Amaya"}}
	skipped := at("/tasks")
	skipped.Flash = Flash{Text: "Moved 2 tasks; 1 skipped", Skipped: []string{"#7: Task 7 is done"}}
	skipped.From = "/tasks?agent=coder"
	archived, draft := sampleTaskModel(), sampleTaskModel()
	archived.Question, archived.Task = nil,
		sampleTask(12, "Old work", "coder", 0,
			func(t *task.Task) { t.Status, t.ArchivedAt, t.Summary = task.Done, ago(time.Hour), "It is done." })
	draft.Task = sampleTask(13, "A plan", "coder", 0, func(t *task.Task) { t.Status = task.Draft })
	draft.Notice, draft.Entries = "Task 13 changed.",
		TaskEntries{Comment: "typed", Errors: ui.FieldErrors{"content": "must not be blank", "value": "is not a URL"}}
	viewer := at("/tasks/142")
	viewer.CanWrite, viewer.CanDecide, viewer.CanAdmin = false, false, false
	errs := ui.FieldErrors{
		"": "The task was not created.", "title": "must not be blank",
		"steps[1].title": "must be 1 to 60 characters, not 61", "to": "No agent of that name is defined",
		"comment": "must not be blank", "password2": "is not the same",
	}
	edit := NewEditModel(m.Task, sampleAgents)
	edit.Changed, edit.Errors = "maya changed the title 2m ago.", errs
	return []samplePage{
		{"queues", QueuesPage(at("/queues"), sampleQueues())},
		{"queues-empty", QueuesPage(at("/queues"), QueuesModel{})},
		{"queues-nothing", QueuesPage(at("/queues?q=x"),
			QueuesModel{
				Filter: QueueFilter{Query: "x", Agent: "coder", Status: "idle"},
				Bar: FilterModel{Filter: QueueFilter{
					Query: "x", Agent: "coder", Status: "idle",
					Priority: "4", CreatedBy: "user:jo", Blocked: "no", Label: "api",
				}},
			})},
		{"task", TaskPage(at("/tasks/142"), m)},
		{"task-archived", TaskPage(at("/tasks/12"), archived)},
		{"task-draft", TaskPage(at("/tasks/13"), draft)},
		{"task-viewer", TaskPage(viewer, m)},
		{"tasks", TasksPage(flash, TasksModel{
			Tasks: sampleOpen(), Next: "9:1",
			Bar: FilterModel{List: true, Agents: []string{"coder"}}, Total: 300,
		})},
		{"tasks-empty", TasksPage(at("/tasks"), TasksModel{})},
		{"move", MovePage(at("/tasks/142/move"), MoveModel{Task: m.Task, Agents: sampleAgents, To: "reviewer", Errors: errs})},
		{"tasks-skipped", TasksPage(skipped, TasksModel{Filter: QueueFilter{Sort: "-title", After: "100"}, Tasks: sampleOpen()})},
		{"views", ViewsPage(flash, ViewsModel{Views: flash.Views, Of: 1, Name: "typed", Error: "you already have a view of this name"})},
		{"views-none", ViewsPage(at("/views"), ViewsModel{})},
		{"bulk-move", BulkPage(skipped, BulkModel{
			Act: "move", IDs: []task.ID{142, 12, 13},
			Tasks: []*task.Task{m.Task}, Back: "/tasks", Agents: sampleAgents, Errors: errs,
		})},
		{"bulk-priority", BulkPage(at("/tasks/bulk"),
			BulkModel{Act: "priority", IDs: []task.ID{142}, Tasks: []*task.Task{m.Task}, Back: "/tasks"})},
		{"bulk-label", BulkPage(at("/tasks/bulk"), BulkModel{Act: "label", IDs: []task.ID{142}, Tasks: []*task.Task{m.Task}, Back: "/tasks"})},
		{"bulk-cancel", BulkPage(at("/tasks/bulk"),
			BulkModel{Act: "cancel", IDs: []task.ID{142}, Tasks: []*task.Task{m.Task}, Below: 2, Back: "/tasks"})},
		{"bulk-complete", BulkPage(at("/tasks/bulk"),
			BulkModel{Act: "complete", IDs: []task.ID{142}, Tasks: []*task.Task{m.Task}, Back: "/tasks"})},
		{"cancel", CancelPage(at("/tasks/142/cancel"),
			CancelModel{Task: m.Task, Subtasks: []*task.Task{m.Subtasks[151], m.Subtasks[149]}, Count: 2, OpenRuns: 1})},
		{"edit", EditPage(at("/tasks/142/edit"), edit)},
		{"step", StepPage(at("/tasks/142/steps/3/edit"), StepModel{
			Task: m.Task, Index: 3, Title: m.Task.Steps[3].Title,
			Agents: sampleAgents, Sub: SubtaskEntry{Title: m.Task.Steps[3].Title},
		})},
		{"step-linked", StepPage(at("/tasks/142/steps/0/edit"), StepModel{Task: m.Task, Title: "Pick"})},
		{"new", NewTaskPage(at("/tasks/new"), NewTaskModel{
			Priority: "0", Agents: sampleAgents, Owner: "coder",
			Steps: "One\nTwo", Follow: 12, FollowTitle: "Old work", Errors: errs, Key: "kept-key",
		})},
		{"new-empty", NewTaskPage(at("/tasks/new"), NewTaskModel{})},
		{"inbox", InboxPage(at("/"), sampleInbox())},
		{"inbox-empty", InboxPage(at("/"), InboxModel{})},
		{"pause", PausePage(at("/scheduler/pause"), PauseModel{Reason: "typed", Errors: errs})},
		{"stop", StopPage(at("/scheduler/stop-everything"), StopModel{Queued: 2, Errors: errs})},
		{"login", LoginPage(Chrome{Now: now, FormToken: formToken},
			LoginModel{Name: "maya", Next: "/queues", Error: "Wrong name or password."})},
		{"setup", SetupPage(Chrome{Now: now, FormToken: formToken}, SetupModel{Token: "secret", Errors: errs})},
		{"error", ErrorPage(Chrome{Now: now}, ErrorModel{
			Status: 404, Title: "Task not found",
			Message: "There is no task 99.", RequestID: "req" + strconv.Itoa(7),
		})},
	}
}

// groupCards returns the groups of a column, with at most limit cards each.
func groupCards(tasks []*task.Task, limit int, doing map[task.ID]string) (groups []task.BoardGroup) {
	for _, shown := range []task.DisplayState{
		task.ShownWorking, task.ShownWaiting, task.ShownFailed, task.ShownIdle, task.ShownDraft,
	} {
		g := task.BoardGroup{Shown: shown}
		for _, t := range tasks {
			switch {
			case t.DisplayState() != shown:
			case len(g.Cards) == limit:
				g.More++
			default:
				g.Cards = append(g.Cards, task.BoardCard{Task: t, Activity: doing[t.ID]})
			}
		}
		if len(g.Cards) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}
