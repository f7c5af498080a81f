package browser

import (
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// drafts counts the drafts of typed text in the browser.
func (b *tab) drafts() int {
	b.t.Helper()
	return eval[int](b, `Object.keys(localStorage).filter(k => k.startsWith("draft:")).length`)
}

// lose drops the next two responses to acts that the server has executed.
func (b *tab) lose() {
	b.t.Helper()
	eval[chromedp.Void](b, `void (() => {
		const real = window.fetch;
		let lost = 0;
		window.fetch = async (url, init) => {
			const res = await real(url, init);
			if (init?.method === "POST" && lost++ < 2) throw new TypeError("Failed to fetch");
			return res;
		};
	})()`)
}

// typing returns forms of all kinds: the page of each, and the field to type in.
func (inst *instance) typing() map[string]struct{ page, field, text string } {
	run := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID)
	tk := inst.create(task.New{Title: "Paint the gate", Steps: []task.Step{{Title: "Buy paint"}}})
	return map[string]struct{ page, field, text string }{
		"a rejection":            {"/approvals/" + run.ID.String(), "#reason", "Not at this hour"},
		"a pause":                {"/scheduler/pause", "#reason", "Moving house"},
		"a setting":              {"/settings/server", "[id='runs.attempts']", "7"},
		"a definition":           {"/agents/scout/edit", "#text", "---\ndescription: Half a thought.\n---\n"},
		"an edited task":         {path(tk.ID, "/edit"), "#description", "Green, not blue"},
		"a step on its own page": {path(tk.ID, "/steps/0/edit"), "#details", "Two tins"},
		"a hand-over":            {path(tk.ID, "/move"), "#comment", "I found the brush"},
		"a person":               {"/settings/people", "#name", "rita"},
		"a token":                {"/settings/tokens", "#name", "laptop"},
		"a new task":             {"/tasks/new", "#labels", "paint"},
	}
}

func TestTypedTextSurvivesAReload(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	enter := func(field, text string) {
		eval[chromedp.Void](b, `void (() => { const e = document.querySelector(`+quote(field)+`);
			e.closest("details")?.setAttribute("open", "");
			e.value = `+quote(text)+`; e.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	}
	for name, f := range inst.typing() {
		t.Run(name, func(t *testing.T) {
			b.open(f.page)
			was := b.value(f.field)
			enter(f.field, f.text)
			b.loads(chromedp.Reload())
			b.wait(`document.querySelector(` + quote(f.field) + `)?.value === ` + quote(f.text))
			equal(t, "a draft that replaces another text is marked as not saved",
				eval[bool](b, `document.body.innerText.includes("Not saved")`), was != "")
			if was != "" {
				b.click("main button|Discard")
				equal(t, "after Discard", b.value(f.field), was)
				b.loads(chromedp.Reload())
				equal(t, "after Discard and a reload", b.value(f.field), was)
			} else {
				enter(f.field, "")
			}
			equal(t, "drafts", b.drafts(), 0)
		})
	}
	t.Run("passwords are not kept", func(t *testing.T) {
		b.open("/settings")
		b.fill("input[type=password]", "correct horse battery")
		equal(t, "drafts", b.drafts(), 0)
		b.loads(chromedp.Reload())
		equal(t, "password", b.value("input[type=password]"), "")
	})
}

func TestADraftIsOfferedOnlyForTheTextItIsBasedOn(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Paint the gate", Description: "Blue."})
	b := inst.tab()
	b.open(path(tk.ID, "/edit"))
	b.fill("#description", "Green.")
	text := "Red, said the owner."
	must(inst.svc.UpdateTask(ctx, inst.maya, tk.ID, task.Patch{Description: &text}))
	b.loads(chromedp.Reload())
	equal(t, "after a change by another person", b.value("#description"), text)
	b.seeNot("Not saved")
}

func TestDecisionsAndSettingsAreResent(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	run := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID)
	b := inst.tab()
	b.open("/approvals/" + run.ID.String())
	b.click("[data-reject]")
	b.fill("#reason", "Not at this hour")
	b.lose()
	b.click("button|Reject the run")
	b.see("Connection lost. Checking…")
	b.see("rejected")
	equal(t, "decision", inst.decided(run.ID), "denied")
	equal(t, "drafts", b.drafts(), 0)

	b.open("/settings/server")
	b.fill("[id='runs.attempts']", "7")
	b.lose()
	b.click(`[aria-label="Save Runs"]`)
	b.see("Connection lost. Checking…")
	b.gone("Connection lost")
	b.wait(`document.querySelector("[id='runs.attempts']").defaultValue === "7"`)
	equal(t, "attempts", inst.svc.Rules().Attempts, 7)
	equal(t, "drafts", b.drafts(), 0)

	b.open("/agents/scout/edit")
	const text = "---\ndescription: Sent twice.\ntools: read\nrunner: none\n---\nGo.\n"
	b.fill("#text", text)
	b.see("Sent twice.")
	b.lose()
	b.click("button|Save")
	b.see("Connection lost. Checking…")
	b.at("/agents/scout")
	b.see("Sent twice.")
	equal(t, "the file", inst.onFile("scout"), text)
	equal(t, "drafts", b.drafts(), 0)
}

func TestARefusedFormKeepsItsDraft(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.expect("422")
	b.open("/settings/server")
	was := b.value("[id='runs.attempts']")
	b.fill("[id='runs.attempts']", "minus one")
	b.press(`[aria-label="Save Runs"]`)
	b.wait(`document.querySelector("[id='runs.attempts']").ariaInvalid === "true"`)
	b.at("/settings/server")
	equal(t, "typed text", b.value("[id='runs.attempts']"), "minus one")
	b.fill("[id='runs.attempts']", "minus two")
	b.loads(chromedp.Reload())
	equal(t, "after a reload", b.value("[id='runs.attempts']"), "minus two")
	b.see("Not saved: you typed this before.")
	b.fill("[id='runs.attempts']", "6")
	b.press(`[aria-label="Save Runs"]`)
	equal(t, "attempts before", was == "6", false)
	equal(t, "attempts", inst.svc.Rules().Attempts, 6)
	equal(t, "drafts", b.drafts(), 0)
}

func TestNobodyElseSeesADraft(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Paint the gate"})
	b := inst.tab()
	b.open(path(tk.ID, "/edit"))
	b.fill("#description", "Only mine")
	equal(t, "drafts", b.drafts(), 1)
	t.Run("after a session that ended silently", func(t *testing.T) {
		rita := must(inst.svc.AddUser(ctx, task.SystemActor, "rita", password, task.RoleOperator))
		if _, err := chromedp.Call(b.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		(&instance{t: t, svc: inst.svc, url: inst.url, maya: task.Actor{UserID: rita.ID}}).admit(b)
		b.open(path(tk.ID, "/edit"))
		equal(t, "description", b.value("#description"), "")
		b.seeNot("Not saved")
	})
	t.Run("nor after a sign-out", func(t *testing.T) {
		b.expect("401")
		b.press(".side-foot form button")
		equal(t, "drafts", b.drafts(), 0)
	})
}

func TestADraftIsKeptForThirtyDays(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Paint the gate"})
	b := inst.tab()
	b.open(path(tk.ID, "/edit"))
	age := func(days int) {
		b.fill("#description", "Half a thought")
		eval[chromedp.Void](b, `void Object.keys(localStorage).filter(k => k.startsWith("draft:")).forEach(k => {
			const [time, ...text] = localStorage.getItem(k).split(" ");
			localStorage.setItem(k, (parseInt(time, 36) - `+strconv.Itoa(days)+` * 86400000).toString(36) + " " + text.join(" "));
		})`)
		b.loads(chromedp.Reload())
	}
	age(29)
	b.wait(`document.querySelector("#description")?.value === "Half a thought"`)
	age(31)
	equal(t, "description", b.value("#description"), "")
	equal(t, "drafts", b.drafts(), 0)
}
