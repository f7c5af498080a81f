package browser

import (
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// cutOff lists elements of the navigation, the properties of a page and the forms that
// overflow, so that they cannot be read.
const cutOff = `[...document.querySelectorAll(".nav a, .nav .count, .props, .props dd, .danger-zone form")].filter(e => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map(e => e.scrollWidth + " of " + e.clientWidth + ": " + e.outerHTML.slice(0, 160)).join("\n")`

// overlaid lists the buttons of the bar that overlap.
const overlaid = `(() => { const l = [...document.querySelectorAll(".bar .btn")].map(e => [e, e.getBoundingClientRect()]).filter(([, r]) => r.width > 0);
	const over = (a, b) => a.right > b.left + 1 && b.right > a.left + 1 && a.bottom > b.top + 1 && b.bottom > a.top + 1;
	return l.filter(([, r], i) => l.slice(0, i).some(([, before]) => over(before, r))).map(([e]) => e.outerHTML.slice(0, 160)).join("\n"); })()`

func TestLongNamesFitTheirPlace(t *testing.T) {
	t.Parallel()
	long := "agent-" + strings.Repeat("x", 57)
	inst := newInstanceWith(t, map[string]string{long: agentFiles["scout"]})
	in := task.New{Title: strings.Repeat("W", 190), Owner: long, NoStart: true}
	for _, c := range "abcdefghijkl" {
		in.Labels = append(in.Labels, string(c)+strings.Repeat("x", 31))
	}
	tk := must(inst.svc.CreateTask(ctx, inst.maya, in))
	b := inst.tab()
	for _, path := range testkit.Sample(2, []string{"/queues", "/", "/tasks/" + tk.ID.String(), "/tasks", "/agents/" + long, "/scheduler"}) {
		b.open(path)
		eval[struct{}](b, `(document.querySelectorAll(".danger-zone").forEach(d => d.open = true), {})`)
		for _, width := range []int64{1280, 390, 320} {
			b.size(width, 900)
			if v := eval[string](b, sideways); v != "" {
				t.Errorf("%s scrolls horizontally at %d px: %s", path, width, v)
			}
			if v := eval[string](b, cutOff); v != "" {
				t.Errorf("%s is cut off at %d px:\n%s", path, width, v)
			}
			if v := eval[string](b, overlaid); v != "" {
				t.Errorf("buttons of %s overlap at %d px:\n%s", path, width, v)
			}
		}
		b.size(1280, 900)
	}
}
