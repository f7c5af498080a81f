package browser

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// shown is a page in one state.
type shown struct {
	name string
	path string
	does func(b *tab) // what a person does there first, or nil
}

// pages are the pages of the sample, in every main state.
func (s *sample) pages() []shown {
	run := func(id task.ID) string { return "/runs/" + id.String() }
	return []shown{
		{"inbox", "/", nil},
		{"pause", "/scheduler/pause", nil},
		{"stop", "/scheduler/stop-everything", nil},
		{"queues", "/queues", nil},
		{"queues-empty", "/queues?q=nothing+fits+this", nil},
		{"queues-menu", "/queues", func(b *tab) { b.click("#m-" + s.limiter.String() + " summary") }},
		{"queues-picked", "/queues", func(b *tab) {
			b.keys("jx")
			b.wait(`document.querySelector("#bulk").checkVisibility()`)
		}},
		{"queues-move", "/queues", func(b *tab) {
			b.keys("jm")
			b.wait(`document.querySelector("#act-dialog[open]")`)
		}},
		{"palette", "/queues", func(b *tab) { b.chord("k") }},
		{"palette-found", path(s.limiter, ""), func(b *tab) {
			b.chord("k")
			b.insert("re")
			b.wait(`document.querySelectorAll("#pal-list small").length > 1`)
		}},
		{"palette-none", "/tasks", func(b *tab) {
			b.chord("k")
			b.insert("nothing fits this")
			b.see("No results.")
		}},
		{"keys", "/queues", func(b *tab) { b.keys("?") }},
		{"search", "/search", nil},
		{"search-found", "/search?q=the", nil},
		{"search-empty", "/search?q=nothing+fits+this", nil},
		{"queues-toast", "/queues", func(b *tab) {
			b.keys("j+")
			b.see("Priority of #")
		}},
		{"list-picked", "/tasks?sort=-title&priority=1", func(b *tab) { b.click("[data-pick-all]") }},
		{"bulk", "/tasks/bulk?act=cancel&id=" + s.ship.String() + "&id=" + s.lonely.String() + "&back=/tasks", nil},
		{"bulk-move", "/tasks/bulk?act=move&all=1&back=/tasks?agent=coder", nil},
		{"views-menu", "/tasks", func(b *tab) { b.click("#views summary") }},
		{"views", "/views", nil},
		{"tasks", "/tasks", nil},
		{"task", path(s.limiter, ""), nil},
		{"task-menu", path(s.limiter, ""), func(b *tab) { b.click("#task-menu summary") }},
		{"task-step", path(s.limiter, "?step=2"), nil},
		{"task-fields", path(s.limiter, ""), func(b *tab) {
			for _, f := range []string{"title", "description", "owner", "priority", "labels", "blockers"} {
				b.click("#edit-" + f + " > summary")
			}
			b.click("button|Preview")
			b.wait(`document.querySelector(".preview-out .card")`)
		}},
		{"task-transcript", path(s.limiter, "?tab=transcript"), nil},
		{"task-runs", path(s.limiter, "?tab=runs"), nil},
		{"task-links", path(s.limiter, "?tab=links"), func(b *tab) { b.click(".edit-link summary") }},
		{"task-subtasks", path(s.ship, "?tab=subtasks"), nil},
		{"task-timeline", path(s.limiter, ""), func(b *tab) { b.click(".data summary") }},
		{"follow-up", "/tasks/new?follow=" + s.canceled.String(), nil},
		{"task-question", path(s.question, ""), nil},
		{"task-failed", path(s.failed, ""), nil},
		{"task-blocked", path(s.waits, ""), nil},
		{"tasks-label", "/tasks?label=release", nil},
		{"task-draft", path(s.big, ""), nil},
		{"task-archived", path(s.canceled, ""), nil},
		{"new-task", "/tasks/new", nil},
		{"new-task-errors", "/tasks/new", func(b *tab) {
			b.expect("422")
			b.fill("#title", "A title")
			b.choose("#owner", "coder")
			b.fill("#steps", "a step that is far, far, far too long for a step of sixty characters\nok")
			b.press("button|Create task")
		}},
		{"move", path(s.lonely, "/move"), nil},
		{"edit", path(s.limiter, "/edit"), nil},
		{"cancel", path(s.ship, "/cancel"), nil},
		{"step", path(s.ship, "/steps/3/edit"), nil},
		{"approvals", "/approvals/" + s.approval.String(), nil},
		{"approvals-reject", "/approvals/" + s.approval.String(), func(b *tab) { b.click("[data-reject]") }},
		{"permission", "/approvals/" + s.running.String(), nil},
		{"run-running", run(s.running), nil},
		{"run-completed", run(s.completed), nil},
		{"run-failed", run(s.broken), nil},
		{"run-search", run(s.broken) + "?q=findings", nil},
		{"runs", "/runs", nil},
		{"runs-failed", "/runs?status=failed", nil},
		{"history", "/history", nil},
		{"history-found", "/history?q=changelog", nil},
		{"history-said", "/history?q=no+limit+yet", nil},
		{"history-narrow", "/history?agent=coder&status=done&by=user%3Amaya", nil},
		{"history-more", "/history", func(b *tab) { b.click("#more-filters summary") }},
		{"history-numbers", "/history", func(b *tab) { b.click("summary|Show data") }},
		{"history-empty", "/history?q=nothing+fits+this", nil},
		{"insights", "/insights", nil},
		{"insights-day", "/insights?range=24h", nil},
		{"insights-agent", "/insights?range=90d&agent=reviewer", func(b *tab) {
			b.click(".charts > :last-child summary")
			eval[chromedp.Void](b, `void document.querySelector(".charts").lastElementChild.scrollIntoView()`)
		}},
		{"insights-empty", "/insights?agent=translator", nil},
		{"agents", "/agents", nil},
		{"agent", "/agents/coder", nil},
		{"agent-todo", "/agents/coder?todos=200", func(b *tab) {
			eval[chromedp.Void](b, `void document.querySelector(".todos").scrollIntoView({block: "end"})`)
		}},
		{"agent-invalid", "/agents/translator", nil},
		{"agent-edit", "/agents/coder/edit", nil},
		{"agent-edit-problems", "/agents/coder/edit", func(b *tab) {
			b.expect("422")
			b.fill("textarea", "---\ntools: flying\n---\n")
			b.press("button|Save")
		}},
		{"agent-edit-checked", "/agents/translator/edit", nil},
		{"agent-edit-conflict", "/agents/planner/edit", func(b *tab) {
			b.expect("409")
			b.fill("#text", "---\ndescription: Plans the work, and reports every evening.\ntools: read, list, grep, task\nrunner: "+
				"script\ntimeout: 20m\n---\nYou are the planner. Turn a goal into a few short steps.\n")
			s.writeFile("planner", s.onFile("planner")+"Ask before you drop anything.\n") // a different text on each visit
			b.press("button|Save")
			b.see("changed this file")
		}},
		{"agent-new", "/agents/new", nil},
		{"agent-connect", "/agents/researcher/connect", func(b *tab) {
			b.fill("#name", newName("laptop"))
			b.press("main form .btn.primary")
			b.see("ty_")
		}},
		{"scheduler", "/scheduler", nil},
		{"settings", "/settings", nil},
		{"people", "/settings/people", nil},
		{"tokens", "/settings/tokens", nil},
		{"tokens-problem", "/settings/tokens", func(b *tab) {
			b.expect("422")
			b.fill("#name", "laptop")
			b.press("main form .btn.primary")
		}},
		{"tokens-fresh", "/settings/tokens", func(b *tab) {
			b.fill("#name", newName("laptop"))
			b.choose("#agent", "researcher")
			b.press("main form .btn.primary")
			b.see("ty_")
		}},
		{"server", "/settings/server", nil},
		{"server-draft", "/settings/server", func(b *tab) {
			b.fill("[id='scheduler.concurrency']", "7")
			b.loads(chromedp.Reload())
			b.see("Not saved")
			eval[chromedp.Void](b, `localStorage.clear()`)
		}},
		{"server-problem", "/settings/server", func(b *tab) {
			b.expect("422")
			b.fill("[id='runs.timeout']", "soon")
			b.press("#runs button")
			b.see("is not valid")
		}},
		{"limits", "/settings/limits", nil},
		{"appearance", "/settings/appearance", nil},
		{"appearance-problem", "/settings/appearance", func(b *tab) {
			b.expect("422")
			b.fill("#zone", "Europe/Atlantis")
			b.press("button|Save")
		}},
		{"about", "/settings/about", nil},
		{"api", "/api/docs", nil},
		{"docs", "/docs/concepts", nil},
		{"docs-search", "/docs?q=restore+backup", nil},
		{"styleguide", "/styleguide", nil},
		{"error-404", "/tasks/99999", func(b *tab) { b.see("404") }},
	}
}

// only returns the pages whose names match PAGES, a regular expression.
func only(list []shown) []shown {
	fits := regexp.MustCompile(os.Getenv("PAGES"))
	return slices.DeleteFunc(list, func(p shown) bool { return !fits.MatchString(p.name) })
}

// pause pauses the server and an agent of the sample.
func (s *sample) pause() error {
	_, err := s.svc.StopEverything(ctx, s.maya, "The key of the model leaked; a new one is on its way.")
	if err == nil {
		_, err = s.svc.Pause(ctx, s.maya, "coder", "It pushed to the wrong branch three times.")
	}
	return err
}

// pausedPages are the pages that show a pause.
func (s *sample) pausedPages() []shown {
	return []shown{
		{"paused-inbox", "/", nil},
		{"paused-queues", "/queues", nil},
		{"paused-scheduler", "/scheduler", nil},
		{"paused-agent", "/agents/coder", nil},
		{"paused-new-task", "/tasks/new", nil},
	}
}

// visit opens a page in its state.
func (p shown) visit(b *tab) {
	b.t.Helper()
	b.open(p.path)
	if p.does != nil {
		p.does(b)
	}
	// The first live response may change what is examined.
	b.wait(`!document.querySelector("[data-live-pill]") || document.querySelector("[data-live-pill]").textContent === "Live"`)
	b.wait(`!document.querySelector(".htmx-request") && document.fonts.status === "loaded"`)
}

var names atomic.Int64

// newName returns a name that no other state of a page uses: one page may be visited
// at several widths.
func newName(like string) string { return fmt.Sprintf("%s %d", like, names.Add(1)) }
