package views

import (
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func sampleInbox() InboxModel {
	item := func(id task.ID, text string) task.InboxItem {
		return task.InboxItem{TaskID: id, Title: "Task " + id.String(), Owner: "coder", MessageID: 100 +
			id, RunID: 7, Author: "coder", Text: text, At: ago(time.Hour)}
	}
	return InboxModel{Inbox: task.Inbox{
		Questions: []task.InboxItem{item(1, "Blue or **green**?"), item(2, strings.Repeat("long ", 500))},
		Approvals: []*task.Run{{
			ID: 7, TaskID: 3, TaskTitle: "Ship it", Agent: "coder",
			AskedBy: "planner", Approval: &task.Approval{ExpiresAt: now.Add(time.Hour)},
		}},
		Stuck:           []task.InboxItem{item(4, "exit code 3\nmore")},
		BlockerCanceled: []task.InboxItem{item(5, "")},
		Notices:         []task.InboxItem{item(6, "It is half done.")},
		Totals:          task.InboxTotals{Questions: 2, Approvals: 1, Stuck: 1, BlockerCanceled: 1, Notices: 30},
	}}
}

func TestTheInboxPutsQuestionsFirst(t *testing.T) {
	t.Parallel()
	page := renderHTML(t, InboxPage(sampleChrome("/"), sampleInbox()))
	at := -1
	for _, h := range []string{"Questions", "Approvals", "Failed, needs attention", "Blocked by a canceled task", "Notices"} {
		next := strings.Index(page, `">`+h+` <span class="muted">`)
		if next <= at {
			t.Errorf("%s is at %d, the previous section at %d", h, next, at)
		}
		at = next
	}
	t.Run("a long text is cut and links to the rest", func(t *testing.T) {
		if n := strings.Count(page, "long "); n > 320 || !strings.Contains(page, "Read more") {
			t.Errorf("got %d words, link: %v", n, strings.Contains(page, "Read more"))
		}
	})
	t.Run("omitted entries are counted", func(t *testing.T) {
		if !strings.Contains(page, `href="/?only=notice">Show all 30`) {
			t.Error("the remaining notices are not linked")
		}
	})
	t.Run("the title shows the number of waiting entries", func(t *testing.T) {
		if !strings.Contains(page, "<title>(3) Inbox · Taskyard</title>") {
			t.Error("the title has no number")
		}
	})
}

func TestAnEmptyInboxSaysWhy(t *testing.T) {
	t.Parallel()
	c := sampleChrome("/")
	shows := func(c Chrome, words ...string) {
		t.Helper()
		page := renderHTML(t, InboxPage(c, InboxModel{
			Running: []*task.Run{{ID: 9, Agent: "coder", Status: task.RunRunning}}, Numbers: InboxNumbers{Running: 1},
		}))
		for _, w := range append(words, "Inbox is empty") {
			if !strings.Contains(page, w) {
				t.Errorf("%q is missing", w)
			}
		}
	}
	shows(c, "23 tasks are open, 1 run is running", "View queues")
	c.Nav.Open = 0
	shows(c, "No open tasks", "Create a task")
	c.CanWrite = false
	shows(c, "No open tasks", "View history")
	c.Agents = nil
	shows(c, "No agents yet", "Go to Agents")
}

func TestAPauseIsShownOnEveryPage(t *testing.T) {
	t.Parallel()
	c := sampleChrome("/")
	c.Pauses = task.Pauses{
		{By: "user:jonas", Reason: "The key leaked.", Since: ago(5 * time.Minute)},
		{Agent: "coder", By: task.System, Reason: "It failed.", Since: ago(time.Minute)},
	}
	for i, page := range []string{
		renderHTML(t, InboxPage(c, InboxModel{})),
		renderHTML(t, AgentsPage(c, AgentsModel{})), renderHTML(t, NewTaskPage(c, NewTaskModel{})),
	} {
		for _, want := range []string{
			"Taskyard is paused", "jonas", "5m ago", "The key leaked.",
			`action="/scheduler/resume"`, "Paused: nothing starts",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("page %d: %q is missing", i, want)
			}
		}
	}
	t.Run("an agent's own pause is on its page and its queue", func(t *testing.T) {
		if page := renderHTML(t, AgentPage(c, AgentModel{AgentRow: AgentRow{Agent: task.Agent{ID: "coder"}}})); !strings.Contains(page,
			"coder is paused") || !strings.Contains(page, "by Taskyard") ||
			!strings.Contains(page, `action="/agents/coder/resume"`) || strings.Contains(page, "Pause…") {
			t.Error("the agent's page does not show the pause")
		}
		m := QueuesModel{Columns: []task.BoardColumn{{Agent: "coder"}, {Agent: "planner"}}}
		if n := strings.Count(renderHTML(t, QueuesPage(c, m)), ">Paused<"); n != 1 {
			t.Errorf("got %d columns marked as paused", n)
		}
	})
	t.Run("a person who may not change it gets no button", func(t *testing.T) {
		c := c
		c.CanWrite = false
		for _, page := range []string{
			renderHTML(t, SchedulerPage(c, SchedulerModel{})),
			renderHTML(t, AgentPage(c, AgentModel{AgentRow: AgentRow{Agent: task.Agent{ID: "coder"}}})),
		} {
			for _, act := range []string{"/resume", "/pause", "stop-everything"} {
				if strings.Contains(page, act) {
					t.Error("a viewer is offered " + act)
				}
			}
		}
	})
	t.Run("the confirmation page states the number of runs", func(t *testing.T) {
		page := renderHTML(t, StopPage(c, StopModel{Running: []task.Run{{ID: 1}, {ID: 2}, {ID: 3}}}))
		for _, want := range []string{"3 runs will be stopped", "Stop 3 runs and pause"} {
			if !strings.Contains(page, want) {
				t.Errorf("%q is missing", want)
			}
		}
	})
}

func TestAWaitingMergeLinksToTheQueue(t *testing.T) {
	t.Parallel()
	page := renderHTML(t, InboxPage(sampleChrome("/"), InboxModel{Inbox: task.Inbox{
		Alerts: []task.InboxAlert{{Job: task.AlertMerge, Text: "#2 into main: no such repository", At: ago(time.Hour)}},
	}}))
	if !strings.Contains(page, "A merge waits") || !strings.Contains(page, "#2 into main: no such repository") ||
		!strings.Contains(page, `href="/merges"`) || strings.Contains(page, "scheduled") {
		t.Error(page)
	}
}
