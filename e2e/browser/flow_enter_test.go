package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func TestEnterInATitleSavesTheTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	b.open("/queues")
	b.keys("c")
	b.focused(`e.id === "new-title"`)
	b.insert("Polish the lamp")
	b.choose("#new-owner", "scout")
	b.loads(typed(kb.Enter))
	b.wait(`document.querySelector("main h1")?.textContent.includes("Polish the lamp")`)
	tk := inst.open()[0]
	b.open(path(tk.ID, "/edit"))
	b.fill("#title", "Polish both lamps")
	b.loads(typed(kb.Enter))
	b.wait(`document.querySelector("main h1")?.textContent.includes("Polish both lamps")`)
}
