package browser

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"taskyard/task"
)

func TestToastsStackWaitAndExpire(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	b := newTab(t, inst.url)
	// The lifetime of toasts is ten times shorter.
	b.preload(`{ const real = setInterval; window.setInterval = (f, ms, ...rest) => real(f, ms === 250 ? 25 : ms, ...rest); }`)
	inst.signIn(b)
	b.open("/queues")
	shown := `document.querySelectorAll("#toasts .toast").length`
	eval[chromedp.Void](b, `void (taskyard.toast("One"), taskyard.toast("Two"), taskyard.toast("Two"), taskyard.toast("Bad", true, {remedy: "Do that.", id: "R1"}), document.querySelector("#toasts button").focus())`)
	equal(t, "toasts", eval[int](b, shown), 3)
	b.see("Do that.")
	b.see("Request R1")
	t.Run("they stay while they have the focus or the mouse", func(t *testing.T) {
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 1600))`)
		equal(t, "toasts", eval[int](b, shown), 3)
		p := b.spot("#toasts p|Two")
		b.do(chromedp.MouseEvent("mouseMoved", p.X, p.Y))
		b.wait(`document.querySelector("#toasts").matches(":hover")`)
		eval[chromedp.Void](b, `document.activeElement.blur()`)
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 1600))`)
		equal(t, "toasts", eval[int](b, shown), 3)
		b.do(chromedp.MouseEvent("mouseMoved", 5, 5))
	})
	t.Run("then they expire, except errors", func(t *testing.T) {
		b.gone("Two")
		b.see("Bad")
		b.click("#toasts button|Dismiss")
		b.gone("Bad")
	})
	t.Run("a repeated message keeps its toast, for a person who is about to press it", func(t *testing.T) {
		same := `(() => { const all = [1, 2].map(() => { taskyard.toast("Ended", true, {href: "/login", label: "Sign in"}); return document.querySelector("#toasts .toast:last-child"); }); return all[0] === all[1] && all[0].isConnected; })()`
		equal(t, "the same", eval[bool](b, same), true)
		eval[chromedp.Void](b, `taskyard.toast("Ended", true, {id: "R2"})`)
		b.see("Request R2")
		b.seeNot("Sign in")
		b.click("#toasts button|Dismiss")
		b.gone("Ended")
	})
	t.Run("never more than four", func(t *testing.T) {
		eval[chromedp.Void](b, `void [1, 2, 3, 4, 5, 6].forEach(n => taskyard.toast("Number " + n))`)
		b.wait(shown + ` === 4`)
		b.see("Number 6")
	})
}

func TestAToastSurvivesThePageWithoutScripts(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Polish the lamp", Owner: "scout"})
	b := inst.tab().withoutScripts()
	b.open(path(tk.ID, "/move"))
	b.choose("#to", "coder")
	b.fill("#comment", "Yours.")
	b.press("main button|Move")
	b.see("Undo")
	b.press("#toasts a")
	b.seeNot("Undo")
}

// proxied is a proxy in front of the server that can hold back, end and fail requests.
type proxied struct {
	*httptest.Server
	broken atomic.Bool // every POST returns 500
	down   atomic.Bool // nothing is returned
	lives  atomic.Int64
}

func newProxied(t testing.TB, inst *instance) *proxied {
	t.Helper()
	target := must(url.Parse(inst.url))
	p := &proxied{}
	rp := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = target.Host }}
	rp.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case p.down.Load():
			panic(http.ErrAbortHandler)
		case p.broken.Load() && r.Method == http.MethodPost:
			w.Header().Set("X-Request-Id", "REQ0815")
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		if r.URL.Path == "/live" {
			p.lives.Add(1)
			defer p.lives.Add(-1)
		}
		rp.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

func TestAServerErrorNamesTheRequest(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.create(task.New{Title: "Raise me", Owner: "scout"})
	p := newProxied(t, inst)
	b := newTab(t, p.URL)
	b.expect("500")
	inst.signIn(b)
	b.open("/queues")
	p.broken.Store(true)
	b.keys("j+")
	b.see("Request REQ0815")
	b.see("Try again")
}

func TestAnEndedSessionKeepsTypedTextAndLeadsBack(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Tick me", Owner: "scout", Steps: []task.Step{{Title: "First"}}})
	b := inst.tab()
	b.open(path(tk.ID, ""))
	b.expect("401")
	if _, err := chromedp.Call(b.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	b.countRequests()
	b.fill("#comment", "Half a thought")
	b.click("#plan .tick")
	b.see("Your session has ended")
	b.wait("window.requests === 0") // refused requests are not repeated
	equal(t, "typed", b.value("#comment"), "Half a thought")
	b.press("#toasts a|Sign in")
	b.fill("#name", "maya")
	b.fill("#password", password)
	b.loads(typed(kb.Enter))
	b.at(path(tk.ID, ""))
}

func TestARefusedPageDoesNotKeepRequesting(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Watch me", Owner: "scout"})
	b := newTab(t, inst.url)
	b.expect("401")
	for _, p := range []string{"/", "/queues", "/tasks", "/runs", "/agents", "/agents/scout", "/scheduler", path(tk.ID, "")} {
		inst.admit(b)
		b.open(p)
		if _, err := chromedp.Call(b.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		b.countRequests()
		const look = `document.querySelectorAll("[data-live]").forEach(part => htmx.trigger(part, "live"))`
		eval[chromedp.Void](b, look)
		b.see("Your session has ended")
		b.wait("window.requests === 0")
		inst.admit(b) // as in another tab
		eval[chromedp.Void](b, look)
		b.gone("Your session has ended")
	}
}

func TestTheLivePillShowsTheState(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Watched", Owner: "scout"})
	p := newProxied(t, inst)
	b := newTab(t, p.URL)
	b.expect(whileAway...)
	inst.signIn(b)
	b.open(path(tk.ID, ""))
	pill := func(s string) { b.wait(`document.querySelector("[data-live-pill]")?.textContent === ` + quote(s)) }
	pill("Live")
	t.Run("paused by a person, it shows nothing new until it is resumed", func(t *testing.T) {
		b.click("[data-live-pill]")
		pill("Paused")
		must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Said meanwhile."))
		eval[chromedp.Void](b, `new Promise(done => setTimeout(done, 500))`)
		b.seeNot("Said meanwhile.")
		b.click("[data-live-pill]")
		pill("Live")
		b.see("Said meanwhile.")
	})
	t.Run("a dropped stream returns with the missed changes", func(t *testing.T) {
		p.down.Store(true)
		p.CloseClientConnections()
		pill("Reconnecting")
		must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Said into the dark."))
		p.down.Store(false)
		pill("Live")
		b.see("Said into the dark.")
	})
	t.Run("a browser without a network shows that", func(t *testing.T) {
		offline := func(on bool) {
			if _, err := chromedp.Call(b.ctx, network.OverrideNetworkState,
				network.OverrideNetworkStateParams{Offline: on, DownloadThroughput: -1, UploadThroughput: -1}); err != nil {
				t.Fatal(err)
			}
		}
		offline(true)
		b.see("You are offline")
		pill("Offline")
		b.fill("#comment", "Not lost")
		b.click("#comment-form button")
		b.see("Nothing was sent")
		equal(t, "typed", b.value("#comment"), "Not lost")
		offline(false)
		pill("Live")
		b.gone("You are offline. What you see")
	})
}

// beside opens another tab of the same browser, with its cookies and locks.
func (b *tab) beside() *tab {
	b.t.Helper()
	c, stop := chromedp.NewContext(b.ctx, chromedp.WithExistingBrowserContext(chromedp.FromContext(b.ctx).BrowserContextID))
	b.t.Cleanup(stop)
	ok(b.t, chromedp.Do(c))
	n := &tab{
		t: b.t, ctx: c, base: b.base, faults: &faults{urls: map[network.RequestID]string{}},
		arrived: make(chan struct{}, 1), scripted: true,
	}
	ok(b.t, chromedp.Listen(c, n.arrive))
	n.reportArrivals()
	ok(b.t, chromedp.Listen(c, n.faults.record))
	return n
}

func TestEightTabsShareOneStream(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.create(task.New{Title: "Watched by many", Owner: "scout"})
	other := inst.create(task.New{Title: "Watched by one", Owner: "scout"})
	p := newProxied(t, inst)
	b := newTab(t, p.URL)
	inst.signIn(b)
	tabs := []*tab{b}
	b.open(path(tk.ID, ""))
	for range 7 {
		n := b.beside()
		n.open(path(tk.ID, ""))
		tabs = append(tabs, n)
	}
	tabs[7].open(path(other.ID, ""))
	visible := 0
	for _, n := range tabs {
		if eval[bool](n, `!document.hidden`) {
			visible++
			n.live()
		}
	}
	t.Logf("%d of %d tabs are visible, %d streams are open", visible, len(tabs), p.lives.Load())
	if n := p.lives.Load(); n > 2 { // one may end while the next begins
		t.Errorf("got %d open streams", n)
	}
	must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Heard by all."))
	must(inst.svc.Comment(ctx, inst.maya, other.ID, "Heard by one."))
	for i, n := range tabs {
		if eval[bool](n, `!document.hidden`) {
			n.see([]string{"Heard by all.", "Heard by one."}[i/7])
		}
	}
	t.Run("when the tab with the stream closes, another takes it over", func(t *testing.T) {
		ok(t, chromedp.Cancel(tabs[1].ctx))
		b.open("/settings") // whether or not it has live parts: it had the stream
		must(inst.svc.Comment(ctx, inst.maya, tk.ID, "Heard by the rest."))
		for _, n := range tabs[2:7] {
			if eval[bool](n, `!document.hidden`) {
				n.see("Heard by the rest.")
			}
		}
	})
}
