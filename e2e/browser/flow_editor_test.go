package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// writeFile writes a definition as another program would.
func (inst *instance) writeFile(id, text string) {
	inst.t.Helper()
	ok(inst.t, os.WriteFile(filepath.Join(inst.dir, "agents", id+".md"), []byte(text), 0o600))
}

func (inst *instance) onFile(id string) string {
	inst.t.Helper()
	return string(must(os.ReadFile(filepath.Join(inst.dir, "agents", id+".md"))))
}

// marked returns an expression that reports whether a line has the mark of a finding.
func marked(line, mark string) string {
	return `document.querySelector(".editor-lines #L` + line + `")?.classList.contains(` + quote(mark) + `)`
}

func TestAnAgentIsEditedByMouse(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/agents/scout")
	b.press("a|Edit")
	b.at("/agents/scout/edit")
	b.see("Valid")
	b.fill("#text", "---\ndescription: Looks around.\ntools: read, telepathy\nrunner: nowhere\n---\nLook.\n")
	b.see("1 error and 1 warning")
	b.wait(marked("4", "bad"))
	b.wait(marked("3", "warn"))
	equal(t, "numbered lines", eval[int](b, `document.querySelectorAll(".editor-lines li").length`), 7)
	b.click("[data-line-link='4']")
	equal(t, "selected line", eval[string](b,
		`(e => e.value.slice(e.selectionStart, e.selectionEnd))(document.querySelector("#text"))`), "runner: nowhere")
	mine := "---\ndescription: Looks around well.\ntools: read, edit\nrunner: none\n---\nLook.\n"
	b.fill("#text", mine)
	b.wait(`document.querySelector("#check").innerText.includes("Looks around well.") && document.querySelector("#check .tools .caution")?.innerText.includes("edit")`)
	b.wait(`!document.querySelector(".editor-lines .bad, .editor-lines .warn")`)

	inst.writeFile("scout", strings.Replace(inst.onFile("scout"), "Look.", "Look twice.", 1))
	b.expect("409")
	b.press("button|Save")
	b.see("changed this file while you edited it")
	b.see("Look twice.")
	b.see("description: Looks around well.")
	equal(t, "typed text", b.value("#text"), mine)
	b.press("button|Use mine")
	b.at("/agents/scout")
	b.see("Looks around well.")
	equal(t, "the file", inst.onFile("scout"), mine)
}

func TestAnAgentIsEditedByKeyboard(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/agents/scout")
	b.loads(typed("e"))
	b.at("/agents/scout/edit")
	eval[chromedp.Void](b, `document.querySelector("#text").focus()`)
	eval[chromedp.Void](b, `document.activeElement.select()`)
	b.insert("---\nname: By keys.\ntools: flying\n---\nGo.\n")
	b.see("this agent can't run")
	b.expect("422")
	b.loads(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.see("was not saved")
	equal(t, "typed text", b.value("#text"), "---\nname: By keys.\ntools: flying\n---\nGo.\n")
	eval[chromedp.Void](b, `document.querySelector("#text").focus()`)
	eval[chromedp.Void](b, `document.activeElement.select()`)
	b.insert("---\ndescription: By keys.\ntools: read\nrunner: none\n---\nGo.\n")
	b.wait(`document.querySelector("#check .verdict").innerText.includes("Valid")`)
	b.keys(kb.Tab + kb.Tab)
	b.wait(`document.activeElement.matches("button.primary")`)
	b.loads(typed(kb.Enter))
	b.at("/agents/scout")
	b.see("By keys.")
}

func TestAnAgentIsEditedWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab().withoutScripts()
	b.open("/agents/scout/edit")
	b.fill("#text", "---\ndescription: Plain.\ntools: read, telepathy\nrunner: nowhere\n---\nLook.\n")
	b.press("button|Check")
	b.see("1 error and 1 warning")
	b.wait(marked("4", "bad"))
	mine := "---\ndescription: Plain.\ntools: read\nrunner: none\n---\nLook.\n"
	b.fill("#text", mine)
	b.press("button|Check")
	b.see("Valid")
	equal(t, "typed text", b.value("#text"), mine)
	inst.writeFile("scout", strings.Replace(inst.onFile("scout"), "Look.", "Look twice.", 1))
	b.expect("409")
	b.press("button|Save")
	b.see("changed this file while you edited it")
	b.see("Look twice.")
	equal(t, "typed text", b.value("#text"), mine)
	b.press("button|Use mine")
	b.at("/agents/scout")
	equal(t, "the file", inst.onFile("scout"), mine)
	b.open("/agents/new")
	b.press("a|Runner script")
	b.fill("#id", "helper")
	b.press("button|Create")
	b.at("/agents/helper")
	b.see("Saved helper")
}

func TestTheLinesOfTheEditorAlignWithTheirNumbers(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/agents/coder/edit")
	long := "---\ndescription: x\ntools: read\nrunner: none\n---\n" +
		strings.Repeat("A long line that wraps where the window ends. ", 40) +
		"\n\tTabs\tand\ttabs\n" + strings.Repeat("line\n", 60) + "ünïcödé 漢字 "
	for _, width := range []int64{1280, 390} {
		b.size(width, 900)
		b.fill("#text", long)
		b.wait(`document.querySelectorAll(".editor-lines li").length === document.querySelector("#text").value.split("\n").length`)
		// The text never scrolls inside its box: the copy beneath makes room for it.
		if over := eval[int](b, `(e => e.scrollHeight - e.clientHeight)(document.querySelector("#text"))`); over > 1 {
			t.Errorf("%d px: the text is %d px higher than its lines", width, over)
		}
		if side := eval[int](b, `(e => e.scrollWidth - e.clientWidth)(document.querySelector("#text"))`); side > 1 {
			t.Errorf("%d px: the text is %d px wider than its box", width, side)
		}
	}
}

func TestTheAppearanceCanBeChosen(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/settings/appearance")
	b.click("label|Roomy")
	b.fill("#zone", "Asia/Tokyo")
	b.press("button|Save")
	b.see("JST")
	equal(t, "density", eval[string](b, `document.documentElement.dataset.density`), "cozy")
	b.open("/scheduler")
	b.see("in JST")
}
