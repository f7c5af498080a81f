package browser

import (
	"testing"

	"taskyard/service"
)

func TestANewTokenIsVisibleOnAPhone(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} { // the form is below the list
		must(inst.svc.CreateToken(ctx, inst.maya, service.NewToken{Name: name, Agent: "scout"}))
	}
	b := inst.tab()
	b.size(390, 844)
	b.open("/settings/tokens")
	b.fill("#name", "laptop")
	b.choose("#agent", "scout")
	b.press("main form .btn.primary")
	b.see("ty_")
	b.wait(`(() => { const r = document.querySelector(".fresh h2").getBoundingClientRect(); return r.top >= 0 && r.bottom < innerHeight; })()`)
}

func TestATokenCanBeCopiedOverPlainHTTP(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.preload(`Object.defineProperty(Navigator.prototype, "clipboard", {value: undefined}); document.addEventListener("copy", () => { window.copied = String(getSelection()); });`)
	b.open("/settings/tokens")
	b.fill("#name", "laptop")
	b.choose("#agent", "scout")
	b.press("main form .btn.primary")
	b.see("ty_")
	b.click(`button[aria-label="Copy Token"], [data-copy]`)
	b.wait(`window.copied?.startsWith("ty_")`)
	b.see("Copied")
}
