package browser

import "testing"

func TestATokenIsCopiedOverPlainHTTPToo(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	b := y.tab()
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
