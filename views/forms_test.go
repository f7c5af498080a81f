package views

import (
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"taskyard/task"
)

func TestLivePartsKeepTypedForms(t *testing.T) {
	t.Parallel()
	for name, page := range hostilePages() {
		t.Run(name+" keeps typed text", func(t *testing.T) {
			all := nodes(t, renderHTML(t, page))
			renewed := map[string]bool{}
			for _, n := range all {
				if !hasAttr(n, "data-live") {
					continue
				}
				renewed[attr(n, "id")] = true
				for part := range strings.SplitSeq(attr(n, "hx-select-oob"), ",") {
					renewed[strings.TrimSuffix(strings.TrimPrefix(part, "#"), ":morph")] = true
				}
			}
			delete(renewed, "") // the transcript is appended to, not replaced
			for _, n := range all {
				if n.DataAtom == atom.Form && !hasAttr(n, "data-keep") && typed(n) && inside(n, renewed) {
					t.Errorf("the form to %s would be replaced while someone types", attr(n, "action"))
				}
			}
		})
	}
}

// typed reports whether a form contains more than buttons. For forms marked with
// data-keep, the pages' script prevents morphs of typed text.
func typed(form *xhtml.Node) bool {
	for d := range form.Descendants() {
		if d.DataAtom == atom.Textarea || d.DataAtom == atom.Select || d.DataAtom == atom.Input && attr(d, "type") != "hidden" {
			return true
		}
	}
	return false
}

func inside(n *xhtml.Node, ids map[string]bool) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == xhtml.ElementNode && ids[attr(p, "id")] {
			return true
		}
	}
	return false
}

func TestDecideBar(t *testing.T) {
	t.Parallel()
	c := hostileChrome()
	model := func(whyNot string, phase task.Phase) ApprovalsModel {
		return poisoned(func(m *ApprovalsModel) {
			m.Selected.Run.ID, m.Selected.Run.Status, m.Selected.Run.Phase = 61, task.RunPending, phase
			m.Selected.Run.Approval.Version, m.Selected.WhyNot, m.Selected.Run.PendingDecision = "v-1", whyNot, nil
		})
	}
	t.Run("a reviewer decides on the displayed version", func(t *testing.T) {
		page := renderHTML(t, ApprovalsPage(c, model("", task.PhaseApproval)))
		for _, want := range []string{
			`action="/runs/61/approve"`, `action="/runs/61/deny"`, `name="version" value="v-1"`,
			"data-approve", "data-reject", `name="scope" value="task" form="approve"`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s is missing", want)
			}
		}
	})
	t.Run("a person who may not decide sees why and gets no form", func(t *testing.T) {
		page := renderHTML(t, ApprovalsPage(c, model("You asked for this run yourself.", task.PhaseApproval)))
		if !strings.Contains(page, "You asked for this run yourself.") ||
			strings.Contains(page, "/runs/61/approve") || strings.Contains(page, "/runs/61/deny") {
			t.Error("the reason is missing, or a decision is offered")
		}
	})
	t.Run("a decided run offers no decision", func(t *testing.T) {
		if page := renderHTML(t, ApprovalsPage(c, model("", task.PhaseQueued))); strings.Contains(page, "/runs/61/approve") {
			t.Error("a decision is offered")
		}
	})
}

func TestThePromptIsShownVerbatim(t *testing.T) {
	t.Parallel()
	c := hostileChrome()
	const prompt = "\n  first line\n\tsecond\u202e <b>bold</b>\n\n"
	m := poisoned(func(m *ApprovalsModel) {
		m.Selected.Run.Permission, m.Selected.Asked, m.Selected.Run.Spec.Prompt = nil, nil, prompt
	})
	for _, n := range nodes(t, renderHTML(t, ApprovalsPage(c, m))) {
		if n.DataAtom == atom.Pre && attr(n, "aria-label") == "Prompt" {
			var got strings.Builder
			for d := range n.Descendants() {
				if d.Type == xhtml.TextNode {
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
