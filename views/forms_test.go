package views_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"taskyard/task"
	"taskyard/views"
)

func TestFormsThatChangeSomething(t *testing.T) {
	for name, page := range hostilePages() {
		t.Run(name+" guards its forms", func(t *testing.T) {
			for _, n := range elements(t, render(t, page)) {
				if n.DataAtom != atom.Form || get(n, "method") != "post" {
					continue
				}
				action := get(n, "action")
				fields := map[string]string{}
				for d := range n.Descendants() {
					if d.DataAtom == atom.Input && get(d, "type") == "hidden" {
						fields[get(d, "name")] = get(d, "value")
					}
				}
				if fields["_token"] != "tok" || fields["_key"] == "" {
					t.Errorf("form to %s has token %q and key %q", action, fields["_token"], fields["_key"])
				}
				if !strings.HasPrefix(action, "/") {
					t.Errorf("form posts to %q", action)
				}
				if action != views.URL.Logout() && !has(n, "hx-disabled-elt") {
					t.Errorf("form to %s has no hx-disabled-elt", action)
				}
			}
		})
	}
}

func TestNoFormStandsInALivePart(t *testing.T) {
	for name, page := range hostilePages() {
		t.Run(name+" keeps what is typed", func(t *testing.T) {
			all := elements(t, render(t, page))
			renewed := map[string]bool{}
			for _, n := range all {
				if !has(n, "data-live") {
					continue
				}
				renewed[get(n, "id")] = true
				for part := range strings.SplitSeq(get(n, "hx-select-oob"), ",") {
					renewed[strings.TrimSuffix(strings.TrimPrefix(part, "#"), ":morph")] = true
				}
			}
			delete(renewed, "") // the transcript renews nothing, it grows
			for _, n := range all {
				if n.DataAtom == atom.Form && !has(n, "data-keep") && typed(n) && inside(n, renewed) {
					t.Errorf("the form to %s is morphed away while somebody types", get(n, "action"))
				}
			}
		})
	}
}

// typed reports whether a form holds more than buttons. Where a form is marked
// by data-keep, the script of the pages keeps morphs off what is typed.
func typed(form *html.Node) bool {
	for d := range form.Descendants() {
		if d.DataAtom == atom.Textarea || d.DataAtom == atom.Select || d.DataAtom == atom.Input && get(d, "type") != "hidden" {
			return true
		}
	}
	return false
}

func inside(n *html.Node, ids map[string]bool) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == html.ElementNode && ids[get(p, "id")] {
			return true
		}
	}
	return false
}

func TestIDsAndReferences(t *testing.T) {
	for name, page := range hostilePages() {
		t.Run(name+" has each id once and every reference met", func(t *testing.T) {
			all := elements(t, render(t, page))
			ids := map[string]bool{}
			for _, n := range all {
				if id := get(n, "id"); id != "" && ids[id] {
					t.Errorf("id %q appears twice", id)
				}
				ids[get(n, "id")] = true
			}
			for _, n := range all {
				for _, key := range []string{"for", "form", "aria-labelledby", "aria-describedby"} {
					for id := range strings.FieldsSeq(get(n, key)) {
						if !ids[id] {
							t.Errorf("%s=%q meets no element", key, id)
						}
					}
				}
			}
		})
	}
}

func TestHeadingsStepByStep(t *testing.T) {
	levels := map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4}
	for name, page := range hostilePages() {
		t.Run(name+" has one first heading and skips no level", func(t *testing.T) {
			last, first := 0, 0
			for _, n := range elements(t, render(t, page)) {
				level := levels[n.DataAtom]
				if level == 0 {
					continue
				}
				if level > last+1 {
					t.Errorf("h%d after h%d", level, last)
				}
				if level == 1 {
					first++
				}
				last = level
			}
			if first != 1 {
				t.Errorf("%d first headings", first)
			}
		})
	}
}

func TestDecideBar(t *testing.T) {
	c := hostileChrome()
	model := func(whyNot string, phase task.Phase) views.ApprovalsModel {
		return poisoned(func(m *views.ApprovalsModel) {
			m.Selected.Run.ID, m.Selected.Run.Status, m.Selected.Run.Phase = 61, task.RunPending, phase
			m.Selected.Run.Approval.Version, m.Selected.WhyNot, m.Selected.Run.PendingDecision = "v-1", whyNot, nil
		})
	}
	t.Run("a reviewer decides on the version that is shown", func(t *testing.T) {
		page := render(t, views.ApprovalsPage(c, model("", task.PhaseApproval)))
		for _, want := range []string{
			`action="/runs/61/approve"`, `action="/runs/61/deny"`, `name="version" value="v-1"`,
			"data-approve", "data-reject", `name="scope" value="task" form="approve"`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s is missing", want)
			}
		}
	})
	t.Run("who may not decide reads why and gets no form", func(t *testing.T) {
		page := render(t, views.ApprovalsPage(c, model("You asked for this run yourself.", task.PhaseApproval)))
		if !strings.Contains(page, "You asked for this run yourself.") ||
			strings.Contains(page, "/runs/61/approve") || strings.Contains(page, "/runs/61/deny") {
			t.Error("the reason is missing, or a decision is offered")
		}
	})
	t.Run("what is decided offers no decision", func(t *testing.T) {
		if page := render(t, views.ApprovalsPage(c, model("", task.PhaseQueued))); strings.Contains(page, "/runs/61/approve") {
			t.Error("a decision is offered")
		}
	})
}

func TestPromptIsShownToTheLetter(t *testing.T) {
	c := hostileChrome()
	const prompt = "\n  first line\n\tsecond\u202e <b>bold</b>\n\n"
	m := poisoned(func(m *views.ApprovalsModel) {
		m.Selected.Run.Permission, m.Selected.Asked, m.Selected.Run.Spec.Prompt = nil, nil, prompt
	})
	for _, n := range elements(t, render(t, views.ApprovalsPage(c, m))) {
		if n.DataAtom == atom.Pre && get(n, "aria-label") == "Prompt" {
			var got strings.Builder
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					got.WriteString(d.Data)
				}
			}
			if want := strings.ReplaceAll(prompt, "\u202e", "‹U+202E›"); got.String() != want {
				t.Errorf("got %q, want %q", got.String(), want)
			}
			return
		}
	}
	t.Error("no prompt on the page")
}
