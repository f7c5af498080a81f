package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"taskyard/service"
	"taskyard/task"
)

// focused waits until the focus is on a thing that the expression finds; e is
// what has it.
func (b *tab) focused(js string) {
	b.t.Helper()
	b.wait(`(e => e !== document.body && e.checkVisibility({visibilityProperty: true}) && (` + js + `))(document.activeElement)`)
}

// focus gives the focus to a thing, as Tab does.
func (b *tab) focus(what string) {
	b.t.Helper()
	b.wait(find + `(` + quote(what) + `)`)
	eval[bool](b, `(`+find+`(`+quote(what)+`).focus(), true)`)
}

func TestTheFocusStaysWhereAFormWasSent(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	must(inst.svc.AddUser(ctx, inst.maya, "jonas", password, task.RoleOperator))
	b := inst.tab()
	t.Run("on the button that now does the opposite", func(t *testing.T) {
		b.open("/settings/people")
		b.click("tr:has([aria-label$=jonas]) summary|Disable")
		b.focus("button|Disable jonas")
		b.loads(typed(kb.Enter))
		b.see("disabled")
		b.focused(`e.textContent.includes("Enable")`)
	})
	t.Run("on the button of a form that adds", func(t *testing.T) {
		b.focus("#name")
		b.insert("petra")
		b.focus("#password")
		b.insert(password)
		b.focus("button|Add person")
		b.loads(typed(kb.Enter))
		b.see("Added petra")
		b.focused(`e.textContent.includes("Add person")`)
	})
	t.Run("on the next control where its menu is removed", func(t *testing.T) {
		for _, name := range []string{"first", "second"} {
			must(inst.svc.CreateToken(ctx, inst.maya, service.NewToken{Name: name, Agent: "scout", Days: 1}))
		}
		b.open("/settings/tokens")
		b.focus("summary|Revoke second")
		b.keys(kb.Enter)
		b.focus("button|Revoke second")
		b.loads(typed(kb.Enter))
		b.focused(`e.matches("summary") && e.ariaLabel === "Revoke first"`)
	})
	t.Run("in the page of a task whose button is removed", func(t *testing.T) {
		tk := inst.create(task.New{Title: "A draft", Owner: "scout", Status: task.Draft})
		b.open(path(tk.ID, ""))
		b.focus("button|Start")
		b.loads(typed(kb.Enter))
		b.wait(`!document.querySelector("#task-bar").innerText.includes("Draft")`)
		b.focused(`e.closest("main")`)
	})
	t.Run("and the appearance is the new one", func(t *testing.T) {
		b.open("/settings/appearance")
		b.focus("input[name=density][value=cozy]")
		b.keys(" ")
		b.focus("form[action='/settings/appearance'] button|Save")
		b.loads(typed(kb.Enter))
		b.wait(`document.documentElement.dataset.density === "cozy"`)
		b.focused(`e.textContent.trim() === "Save"`)
	})
}

func TestTheFocusGoesToWhatAFormBrings(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.expect("409", "422")
	t.Run("a new token", func(t *testing.T) {
		b.open("/settings/tokens")
		b.focus("#name")
		b.insert("laptop")
		b.choose("#agent", "scout")
		b.loads(typed(kb.Enter))
		b.focused(`e.matches(".fresh") && document.querySelector("#fresh-h").textContent.includes("laptop is ready")`)
		b.keys(kb.Tab)
		b.focused(`e.ariaLabel === "Copy Token"`)
	})
	t.Run("a further check of a project", func(t *testing.T) {
		b.open("/settings/projects/new")
		for _, id := range []string{"checks[0].name", "checks[1].name"} {
			b.focus("button|Add check")
			b.loads(typed(kb.Enter))
			b.focused(`e.id === ` + quote(id))
		}
	})
	t.Run("what is wrong, wherever it is", func(t *testing.T) {
		b.open("/settings/projects/new")
		b.focus("#key")
		b.insert("handbook")
		b.loads(typed(kb.Enter))
		b.focused(`e.name === "merge" && document.querySelector("#merge-err").textContent.includes("Needs a repository")`)
		b.open("/agents/new")
		b.focus("#id")
		b.insert("writer")
		b.focus("#text")
		eval[bool](b, `(document.activeElement.select(), true)`)
		b.insert("nothing of a definition")
		b.focus("button|Create")
		b.loads(typed(kb.Enter))
		b.focused(`e.role === "alert" && e.textContent.includes("not valid")`)
		b.open("/settings/people")
		b.click("summary|Disable")
		b.focus("button|Disable")
		b.loads(typed(kb.Enter))
		b.focused(`e.role === "alert" && !e.closest("form") && e.textContent.includes("last admin")`)
	})
}

func TestASavedFieldShowsWhatWasSaved(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/settings/server")
	b.fill(`[id="runs.timeout"]`, "7m")
	b.loads(typed(kb.Enter))
	b.see("Saved 1 setting")
	equal(t, "field", b.value(`[id="runs.timeout"]`), "7m")
	b.focused(`e.id === "runs.timeout"`)
}

func TestTheFocusStaysInAListThatGrows(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/agents/coder")
	b.focus("#item")
	for _, item := range []string{"Tidy the branch", "Ask about the port"} {
		b.insert(item)
		b.loads(typed(kb.Enter))
		b.see(item)
		b.focused(`e.id === "item" && e.value === ""`)
	}
	b.seeNot("cannot be reached")
}

func TestResumingLeavesTheFocusOnTheButtonThatPauses(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	for agent, page := range map[string]string{"scout": "/agents/scout", "": "/scheduler"} {
		must(inst.svc.Pause(ctx, inst.maya, agent, "Holidays"))
		b.open(page)
		b.press("main button|Resume")
		b.see("Resumed")
		b.focused(`e.matches("a[href$='/pause']")`)
	}
}
