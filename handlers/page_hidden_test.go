package handlers

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
	"taskyard/views/ui"
)

// hiding has one character of each family of nonprinting or reordering characters: C0
// and C1 controls, zero-width, bidirectional, line separators, tags, fillers, soft
// hyphen, byte order mark, and a variation selector after a letter.
const hiding = "\u200bzero\u202eover\u2066iso\u2069\U000E0041\U000E0062tag\ufeffbom\u00adsoft\u3164fill\u061calm\ufe0fvs\u2060wj"

// hidingLines are the ones that only multi-line texts may contain.
const hidingLines = hiding + "\u2028line\u2029par\u0085nel\u009bcsi\x1b[2Jesc\x07bel\x7fdel\rcr"

// seeds are the families whose names must appear on at least one page.
var seeds = []string{
	"‹U+200B›", "‹U+202E›", "‹U+2066›", "‹U+E0041›", "‹U+FEFF›", "‹U+00AD›", "‹U+3164›", "‹U+061C›",
	"‹U+FE0F›", "‹U+2028›", "‹U+2029›", "‹U+0085›", "‹U+009B›", "‹U+001B›", "‹U+0007›", "‹U+007F›", "‹U+000D›",
}

// readAttr lists the attributes that people see or hear.
var readAttr = regexp.MustCompile(`^(title|alt|label|placeholder|content|data-text|aria-(label|description|valuetext|roledescription))$`)

// hiddenOn returns the first text or attribute of a page that contains a hidden
// character. Values of fields are excluded because they are sent back verbatim.
func hiddenOn(t *testing.T, page string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	testkit.NoError(t, err)
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "textarea" && ui.HiddenCount(n.Data) > 0 {
			return "<" + n.Parent.Data + "> " + n.Data
		}
		for _, a := range n.Attr {
			if readAttr.MatchString(a.Key) && ui.HiddenCount(a.Val) > 0 {
				return "<" + n.Data + " " + a.Key + "> " + a.Val
			}
		}
	}
	return ""
}

func TestHiddenCharactersAreVisibleOnEveryPage(t *testing.T) {
	inst := newSite(t)
	ctx := context.Background()
	inst.ok(os.WriteFile(filepath.Join(inst.dir, "tricky.md"),
		[]byte("---\nname: \"Tricky"+hiding+"\"\ndescription: \"does"+hiding+"\"\ntools: read, \"od"+hiding+
			"d\"\nrunner: script\napproval: always\nmodel: \"m"+hiding+"\"\n---\nPrompt "+hidingLines+"\n"), 0o600))
	b := inst.maya()
	b.post("/agents/reload").is(303)
	files := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Files " + hiding}).ID
	run := inst.makeRun(files, service.Finished{
		State:   task.State{Status: task.RunCompleted, Phase: task.PhaseEnded},
		Summary: "sum " + hidingLines, Work: &task.Work{
			Total: 1, Branch: "b" + hiding, Repository: "/r" + hiding, Note: "note " + hidingLines,
			Files: []task.FileChange{{
				Path: "f" + hidingLines, Change: task.FileModified, Added: 1, Removed: 1,
				Note: hidingLines, Diff: "@@ -1 +1 @@\n-a" + hidingLines + "\n+b" + hidingLines + "\n",
			}},
		},
	}, hidingLines)
	m := inst.sample(hiding)
	more := inst.newTask(mayaActor, task.New{Owner: "tricky", Title: "More " + hiding, Description: "# Markdown " + hidingLines +
		"\n\n[link](https://example.com \"t" + hiding + "\") `code" + hiding + "` &#x202e;&#8203;"}).ID
	inst.ok2(inst.svc.Comment(ctx, mayaActor, more, "comment "+hidingLines))
	inst.ok2(inst.svc.RunNow(ctx, mayaActor, more))
	inst.ok2(inst.svc.SaveView(ctx, mayaActor, "view"+hiding, "/tasks?q="+url.QueryEscape(hiding)))
	inst.ok2(inst.svc.CreateToken(ctx, mayaActor, service.NewToken{Name: "token" + hiding, Agent: "coder"}))
	inst.ok2(inst.svc.Pause(ctx, mayaActor, "planner", "pause "+hidingLines))
	inst.ok(inst.svc.Index(ctx))
	q := url.QueryEscape(hiding)
	pages := append(append(m.pages(), m.writerPages()...), adminPages...)
	pages = append(pages, "/tasks/"+more.String(), "/tasks/"+more.String()+"/edit", "/tasks/"+files.String(),
		"/runs/"+run.String(), "/runs/"+run.String()+"/transcript", "/agents/tricky", "/agents/tricky/edit",
		"/agents/tricky/pause", "/views", "/approvals?run="+more.String(),
		"/search?q=zero", "/search?q="+q, "/history?q="+q, "/tasks?q="+q, "/queues?q="+q, "/tasks?label="+q, "/nothing/"+
			url.PathEscape(hiding), "/tasks/"+url.PathEscape(hiding), "/login?next="+q, "/tasks/new?owner="+q, "/styleguide", "/api/docs")
	var all strings.Builder
	for _, p := range pages {
		a := b.get(p)
		if a.status >= 500 {
			t.Errorf("%s: got status %d", p, a.status)
		}
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			continue // files are verbatim
		}
		if found := hiddenOn(t, a.body); found != "" {
			t.Errorf("%s contains a hidden character in %.300q", p, found)
		}
		all.WriteString(a.body)
	}
	for _, name := range seeds {
		if !strings.Contains(all.String(), name) {
			t.Errorf("%s is not named on any page: the test does not reach it", name)
		}
	}
	t.Run("a field keeps its value verbatim, and its hidden characters are named after it", func(t *testing.T) {
		page := b.get("/tasks/" + more.String() + "/edit")
		page.shows(`value="More `+hiding+`"`, `‹U+202E›`)
	})
	t.Run("the check finds hidden characters", func(t *testing.T) {
		for _, s := range []string{
			"<p>a\u202eb</p>", "<title>\u200b</title>", "<option>\U000E0041</option>",
			`<a title="&#x202e;">x</a>`, "<svg><text>\u2066</text></svg>", `<button aria-label="&#8203;"></button>`,
		} {
			if hiddenOn(t, s) == "" {
				t.Errorf("%q was not found", s)
			}
			if found := hiddenOn(t, string(ui.MarkHidden([]byte(s)))); found != "" {
				t.Errorf("%q remains in %q", s, found)
			}
		}
	})
}
