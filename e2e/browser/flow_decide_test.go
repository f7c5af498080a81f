package browser

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// decided returns the decision on a run, even while it can be undone.
func (inst *instance) decided(id task.ID) string {
	inst.t.Helper()
	r := must(inst.svc.Run(ctx, inst.maya, id))
	if r.PendingDecision != nil {
		return r.PendingDecision.Decision
	}
	return r.Approval.Decision
}

func TestDecideByKeyboard(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	one, two := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID),
		inst.ask(inst.create(task.New{Title: "Rotate the keys", Owner: "keeper"}).ID)
	b := inst.tab()
	b.open("/approvals")
	b.wait(`document.querySelector(".approval[aria-current]").textContent.includes("Restart")`)
	b.loads(typed("j"))
	b.at("/approvals/" + two.ID.String())
	b.loads(typed("k"))
	b.at("/approvals/" + one.ID.String())
	b.keys("e")
	b.wait(`document.activeElement.id === "timeoutSeconds"`)
	b.awaitSeen()
	b.insert("60")
	b.loads(typed("\r"))
	b.at("/approvals/" + two.ID.String())
	b.see("Run 1 approved.")
	equal(t, "seconds", must(inst.svc.Run(ctx, inst.maya, one.ID)).PendingDecision.Limits.TimeoutSeconds, 60)
	b.loads(typed("z"))
	b.at("/approvals/" + one.ID.String())
	b.see("Undone")
	equal(t, "decision", inst.decided(one.ID), "")
	b.awaitSeen()
	b.loads(typed("a"))
	b.see("Run 1 approved.")
	b.gone("Run 1 approved.") // when its time is up
	inst.until("it takes effect", func() bool {
		return must(inst.svc.Run(ctx, inst.maya, one.ID)).PendingDecision == nil
	})
	inst.stage.agent(t, one.TaskID).say("exit")
}

func TestADoubleClickDecidesOnce(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	r := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID)
	b := inst.tab()
	b.open("/approvals/" + r.ID.String())
	b.awaitSeen()
	b.loads(b.onto("#approve button", func(p spot) chromedp.Action[chromedp.Void] {
		return chromedp.MouseClickXY(p.X, p.Y, chromedp.ClickCount(2))
	}))
	b.see("Run 1 approved.")
	events := must(inst.svc.Events(ctx, inst.maya, task.EventFilter{TaskID: r.TaskID, Limit: 100}))
	n := 0
	for _, e := range events {
		if e.Kind == task.EvRunHeld {
			n++
		}
	}
	equal(t, "decisions", n, 1)
}

func TestTwoReviewersRace(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	must(inst.svc.AddUser(ctx, inst.maya, "rita", password, task.RoleReviewer))
	r := inst.ask(inst.create(task.New{Title: "Restart the mail server", Owner: "keeper"}).ID)
	first, second := inst.tab(), newTab(t, inst.url)
	second.expect("409")
	second.open("/login")
	second.fill("#name", "rita")
	second.fill("#password", password)
	second.press("button|Sign in")
	second.open("/approvals/" + r.ID.String())
	first.open("/approvals/" + r.ID.String())
	second.wait(`document.querySelector("#approve")`)
	first.awaitSeen()
	first.press("#approve button")
	second.click("[data-reject]")
	second.wait(`document.activeElement?.id === "reason"`)
	second.insert("Not on a Friday.")
	second.press("button|Reject the run")
	second.see("Your rejection was too late; nothing changed.")
	second.see("maya approved this run")
	equal(t, "decision", inst.decided(r.ID), "approved")
}

func TestDecideWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newInstanceWith(t, map[string]string{
		"keeper": agentFiles["keeper"], "reader": "---\ndescription: Reads.\ntools: read, grep\nrunner: script\napproval: always\n---\nRead.\n",
	})
	run := func(title, owner string) *task.Run {
		return inst.ask(inst.create(task.New{Title: title, Owner: owner}).ID)
	}
	r, one, two := run("Restart the mail server", "keeper"), run("Read the logs", "reader"), run("Read the mails", "reader")
	inst.clock.Stop() // decisions can be undone for 5 s
	b := newTab(t, inst.url).withoutScripts()
	b.open("/login")
	b.fill("#name", "maya")
	b.fill("#password", password)
	b.press("button|Sign in")
	b.open("/approvals/" + r.ID.String())
	b.press("#approve button")
	b.see("Run 1 approved.")
	b.press("button|Undo")
	b.see("Undone")
	equal(t, "decision", inst.decided(r.ID), "")
	b.click("[data-reject]")
	b.fill("#reason", "Not on a Friday.")
	b.press("button|Reject the run")
	equal(t, "decision", inst.decided(r.ID), "denied")
	b.click("summary|with read-only tools")
	b.click(`input[value^="` + two.ID.String() + `:"]`)
	b.press("button|Approve the checked runs")
	equal(t, "checked", inst.decided(one.ID), "approved")
	equal(t, "unchecked run", inst.decided(two.ID), "")
	b.press("button|Undo")
	equal(t, "decisions left", inst.decided(one.ID)+inst.decided(r.ID), "")
}

// gate is a proxy in front of the server that can be shut, as if the server restarted.
type gate struct {
	t    testing.TB
	addr string
	to   *httputil.ReverseProxy
	mu   sync.Mutex
	srv  *http.Server
}

func newGate(t testing.TB, server string) *gate {
	t.Helper()
	u, err := url.Parse(server)
	ok(t, err)
	g := &gate{t: t, addr: "127.0.0.1:0", to: &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
	}}
	g.to.ErrorLog = log.New(io.Discard, "", 0)
	g.open()
	t.Cleanup(g.shut)
	return g
}

func (g *gate) open() {
	g.t.Helper()
	ln, err := net.Listen("tcp", g.addr)
	ok(g.t, err)
	g.addr = ln.Addr().String()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.srv = &http.Server{Handler: g.to, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func(s *http.Server) { _ = s.Serve(ln) }(g.srv)
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.srv.Close() // closes every connection, too
}

func TestATranscriptContinuesAfterAnOutage(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Talks while nobody listens"})
	r := inst.ask(tk.ID)
	agent := inst.stage.agent(t, tk.ID)
	g := newGate(t, inst.url)
	b := newTab(t, inst.url)
	inst.signIn(b)
	b.base = "http://" + g.addr
	b.expect(whileAway...)
	b.expect("502")
	b.open("/runs/" + r.ID.String())
	b.live()
	agent.say("Line before.")
	b.see("Line before.")
	loaded := eval[float64](b, `performance.timeOrigin`)
	g.shut()
	b.wait(`document.querySelector("[data-live-pill]")?.textContent === "Reconnecting"`)
	for i := range 5 {
		agent.say("Line %d while away.", i)
	}
	inst.until("the lines are stored", func() bool {
		list := must(inst.svc.Transcript(ctx, inst.maya, r.ID, 0, 100))
		return strings.Contains(list[len(list)-1].Content, "Line 4")
	})
	g.open()
	b.see("Line 4 while away.")
	agent.say("Line after.")
	b.see("Line after.")
	lines := eval[string](b, `[...document.querySelectorAll("#transcript .say")].map(e => e.innerText.trim()).join(" ")`)
	equal(t, "lines", lines, "Line before. Line 0 while away. Line 1 while away. Line 2 "+
		"while away. Line 3 while away. Line 4 while away. Line after.")
	equal(t, "page was reloaded", eval[float64](b, `performance.timeOrigin`) != loaded, false)
	agent.say("exit")
}
