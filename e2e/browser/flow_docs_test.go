package browser

import "testing"

func TestTheReferenceCanBeSearched(t *testing.T) {
	t.Parallel()
	inst := openInstance(t, agentFiles)
	b := newTab(t, inst.url)
	b.open("/api/docs")
	shown := `[...document.querySelectorAll(".docs-op[data-doc]")].filter(e => e.checkVisibility()).map(e => e.id).join(" ")`
	all := eval[string](b, shown)
	b.keys("/")
	b.wait(`document.activeElement?.id === "docs-find"`)
	b.insert("post signup")
	b.wait(`(` + shown + `) === "op-post-agents-id-signup op-post-agents-id-complete-and-signup"`)
	equal(t, "groups in the contents", eval[int](b,
		`[...document.querySelectorAll(".docs-toc [data-docs-group]")].filter(e => e.checkVisibility()).length`), 1)
	b.wait(`document.querySelector("#said").textContent === "2 operations"`)
	b.fill("#docs-find", " ")
	b.wait(`(` + shown + `) === ` + quote(all))
	b.press("a|Sign in")
	b.at("/login")
}

func TestTheReferenceNeedsNoScripts(t *testing.T) {
	t.Parallel()
	inst := openInstance(t, agentFiles)
	b := newTab(t, inst.url).withoutScripts()
	b.open("/api/docs#code-stale_claim")
	b.see("the lease expired or the task moved on")
	b.see("/api/agents/{id}/signup")
}
