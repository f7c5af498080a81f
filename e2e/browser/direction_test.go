package browser

import (
	"testing"

	"taskyard/task"
)

func TestRightToLeftText(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := inst.tab()
	tk := inst.create(task.New{
		Title: "כתוב את ההערות", Description: "שלום:\n\n- אחת\n- שתיים\n\nEnglish:\n\n- one",
		Steps: []task.Step{{Title: "لنبدأ!"}},
	})
	b.open(path(tk.ID, ""))
	b.wait(`[...document.querySelectorAll(".markdown ul")].map(l => getComputedStyle(l).direction).join() === "rtl,ltr"`)
	b.wait(`getComputedStyle(document.querySelector(".step-title")).unicodeBidi === "plaintext"`)
}
