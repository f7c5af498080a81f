package browser

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// injected lists what no page of ours contains: handlers in attributes, addresses that
// run code, elements that load from or send to other sites.
const injected = `[...document.querySelectorAll("*")].filter(e =>
	e.matches("iframe, object, embed, base, meta[http-equiv], math, animate, foreignObject, marquee, video, audio, frame, style, x, main link, script:not([src^='/static/']), link:not([href^='/static/']):not([href='data:,']), form:not([action^='/']), form[action^='//']")
	|| [...e.attributes].some(a => /^(on|hx-on)/i.test(a.name) || a.name === "style" && !e.closest("svg") || /^(hx-get|hx-post)$/.test(a.name) && !a.value.startsWith("/") || /^(href|src|action|formaction|xlink:href|data|srcdoc)$/i.test(a.name) && /^[\s\x00-\x20]*(javascript|vbscript|data:text)/i.test(a.value))
).map(e => e.outerHTML.slice(0, 200)).join("\n")`

// cut returns at most n runes of a text, on one line.
func cut(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	return string(r[:min(len(r), n)])
}

// hostileInstance shows each text of the corpus in every place that shows text.
type hostileInstance struct {
	*sample
	tasks, runs []task.ID
	pages       []string
}

func newHostileInstance(t testing.TB) *hostileInstance {
	agents := map[string]string{}
	everything := strings.Join(corpus, "\n")
	for i := range 5 {
		words, _ := json.Marshal(cut(strings.Join(corpus[i*13:(i+1)*13], " "), 900))
		name, _ := json.Marshal(cut(corpus[i*3], 60))
		agents["hostile-"+strconv.Itoa(i)] = "---\nname: " + string(name) + "\ndescription: " + string(words) +
			"\ntools: read, edit, bash\nrunner: script\nmodel: " + string(name) + "\n---\n" + everything + "\n"
	}
	agents["broken"] = "---\nname: " + corpus[0] + "\ntools: " + corpus[13] + "\nrunner: " + corpus[18] + "\n---\n" + everything
	agents["careful"] = "---\ndescription: Asks first.\ntools: read\nrunner: script\napproval: always\n---\n" + everything + "\n"
	h := &hostileInstance{sample: &sample{instance: openInstance(t, agents)}}
	u := must(h.svc.AddUser(ctx, task.SystemActor, "maya", password, task.RoleAdmin))
	h.maya = task.Actor{Name: task.UserActorName(u.Name), Role: u.Role, UserID: u.ID}
	for i, s := range corpus {
		h.work(t, i, s)
	}
	h.around(t)
	h.start()
	return h
}

// work creates a task about one text, with an ended run.
func (h *hostileInstance) work(t testing.TB, i int, s string) {
	t.Helper()
	owner := "hostile-" + strconv.Itoa(i%5)
	tk := h.create(task.New{
		Title: cut(s, 200), Owner: owner, Description: s,
		Steps: []task.Step{{Title: cut(s, 60), Details: s}}, Resources: []task.Resource{
			{Type: "url", Value: "https://example.com/?" + url.QueryEscape(s), Label: cut(s, 200)},
			{Type: "file", Value: "/srv/" + strings.ReplaceAll(cut(s, 200), "/", "∕"), Label: cut(s, 200)},
		},
	})
	must(h.svc.Comment(ctx, h.maya, tk.ID, s))
	run := h.claim(tk.ID)
	call, _ := json.Marshal(map[string]any{"tool": s, "id": s, "input": map[string]string{s: s}})
	run.lines(task.Message{Role: task.SpeakerAssistant, Type: "text", Content: s},
		task.Message{Role: task.SpeakerAssistant, Type: "tool_call", Content: s, Data: call},
		task.Message{Role: task.SpeakerTool, Type: "tool_result", Content: s, Data: call},
		task.Message{Role: task.SpeakerSystem, Type: "log", Content: s})
	if i%2 == 0 {
		must(h.svc.Ask(ctx, run.agent, tk.ID, s, false))
	}
	end := service.Finished{
		State:   task.State{Status: task.RunCompleted, Phase: task.PhaseEnded},
		Summary: s, Artifacts: []string{s}, Work: &task.Work{
			Repository: "/srv/" + s, Branch: cut(s, 80), Note: s, Total: 2,
			Files: []task.FileChange{{Path: s, Change: task.FileModified, Added: 1, Removed: 1, Diff: "@@ -1 +1 @@ " + cut(s, 200) +
				"\n-" + cut(s, 200) + "\n+" + cut(s, 200) + "\n"}, {Path: "b/" + s, Change: task.FileAdded, Note: s}},
		},
	}
	if i%3 == 0 {
		end.State, end.Reason, end.Permanent = task.State{Status: task.RunFailed, Phase: task.PhaseTokens}, s, true
	}
	run.end(end)
	if i%5 == 4 {
		must(h.svc.CompleteTask(ctx, h.maya, tk.ID, s, 0))
	}
	h.tasks, h.runs = append(h.tasks, tk.ID), append(h.runs, run.start.Run.ID)
}

// around fills the places that are not about the work of a task.
func (h *hostileInstance) around(t testing.TB) {
	t.Helper()
	for i, s := range corpus {
		must(h.svc.Todo(ctx, h.maya, "hostile-0", task.TodoRPush, s))
		if i%4 == 0 {
			must(h.svc.CreateToken(ctx, h.maya, service.NewToken{Name: cut(s, 60), Agent: "hostile-0"}))
			must(h.svc.SaveView(ctx, h.maya, cut(s, 60), "/tasks?q="+url.QueryEscape(s)))
		}
	}
	all := strings.Join(corpus, " ")
	ask := func(title string) task.ID {
		return h.ask(h.create(task.New{Title: title, Owner: "careful", Description: all}).ID).ID
	}
	waits, denied := ask(cut(corpus[13], 200)), ask(cut(corpus[1], 200))
	must(h.svc.DenyRun(ctx, h.maya, denied, cut(all, 1900), 0))
	must(h.svc.Pause(ctx, h.maya, "hostile-1", cut(all, 1900)))
	moved := h.create(task.New{Title: "Handed over", Owner: "hostile-2"}).ID
	must(h.svc.HandOver(ctx, h.maya, service.HandOver{TaskID: moved, From: "hostile-2", To: "hostile-3", Comment: all}))
	h.pages = []string{
		"/", "/?only=question", "/?only=stuck", "/queues", "/tasks", "/tasks?sort=title", "/approvals",
		"/approvals/" + waits.String(), "/runs/" + denied.String(), "/runs", "/runs?status=failed",
		"/history", "/agents", "/agents/hostile-0", "/agents/hostile-0/edit", "/agents/hostile-1", "/agents/broken",
		"/scheduler", "/settings", "/settings/tokens", "/settings/people", "/settings/about",
		"/views", "/tasks/new", path(h.tasks[0], "/edit"), path(h.tasks[0], "/move"),
		path(h.tasks[0], "/cancel"), path(h.tasks[0], "/steps/0/edit"), path(moved, ""),
		"/tasks/bulk?act=cancel&id=" + h.tasks[0].String() + "&id=" + h.tasks[1].String() + "&back=/tasks",
		"/queues?q=" + url.QueryEscape(all), "/history?q=" + url.QueryEscape(all), "/search?q=" + url.QueryEscape(all),
		"/tasks/" + url.PathEscape(corpus[0]), "/agents/" + url.PathEscape(corpus[13]),
		"/tasks?label=" + url.QueryEscape(corpus[1]) + "&agent=" + url.QueryEscape(corpus[14]), "/login?next=" +
			url.QueryEscape("javascript:alert(1)"), "/tasks/new?owner=" + url.QueryEscape(corpus[1]),
	}
}

func TestHostileTextIsOnlyText(t *testing.T) {
	t.Parallel()
	h := newHostileInstance(t)
	b := h.tab()
	b.expect("404", "422") // addresses that do not exist
	pages := h.pages
	for i := range corpus {
		each := []string{path(h.tasks[i], ""), "/runs/" + h.runs[i].String(), "/search?q=" + url.QueryEscape(corpus[i])}
		if !testkit.Thorough() { // the pages with lists contain each text too
			if i%2 == 1 {
				continue
			}
			each = each[i/2%3 : i/2%3+1]
		}
		pages = append(pages, each...)
	}
	for _, p := range testkit.Sample(10, pages) {
		b.open(p)
		eval[chromedp.Void](b, `void document.querySelectorAll("details").forEach(d => d.open = true)`)
		if v := eval[string](b, injected); v != "" {
			t.Errorf("%s contains as elements what must be text:\n%s", p, v)
		}
	}
	t.Run("the check detects injected elements", func(t *testing.T) {
		b := h.tab()
		b.open("/queues")
		b.expect("Content Security Policy", "violation of s")
		for _, s := range []string{
			`<p onclick=x></p>`, `<x></x>`, `<a href=" javascript:x">x</a>`,
			`<i style="top:0">x</i>`, `<form action=//evil.example></form>`,
		} {
			found := eval[string](b, `(() => { document.body.insertAdjacentHTML("beforeend", `+quote(s)+`); const found = `+
				injected+`; document.body.lastElementChild.remove(); return found; })()`)
			if found == "" {
				t.Errorf("%s was not detected", s)
			}
		}
	})
	t.Run("a title is shown unchanged", func(t *testing.T) {
		b.open(path(h.tasks[0], ""))
		b.see(corpus[0])
		b.wait(`document.title.includes(` + quote(corpus[0]) + `)`)
	})
	t.Run("text inserted by scripts is only text too", func(t *testing.T) {
		b.open("/queues")
		for _, s := range []string{corpus[0], corpus[13], corpus[44]} {
			b.chord("k")
			b.insert(s)
			b.wait(`document.querySelector("#palette [role=status]").textContent.includes("result")`)
			b.keys("\x1b")
		}
		must(h.svc.Comment(ctx, h.maya, h.tasks[1], corpus[13])) // a live part
		b.open(path(h.tasks[1], ""))
		b.live()
		must(h.svc.Comment(ctx, h.maya, h.tasks[1], corpus[0]+"<b>the last</b>"))
		b.see("<b>the last</b>")
		if v := eval[string](b, injected); v != "" {
			t.Error(v)
		}
	})
}

func TestLabelsAndNamesOfPeopleContainNoTags(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, s := range corpus {
		if _, err := inst.svc.CreateTask(ctx, inst.maya, task.New{Title: "x", Owner: "scout", Labels: []string{s}, NoStart: true}); err == nil {
			t.Errorf("%q was accepted as a label", s)
		}
		if _, err := inst.svc.AddUser(ctx, inst.maya, s, password, task.RoleViewer); err == nil {
			t.Errorf("%q was accepted as the name of a person", s)
		}
	}
}
