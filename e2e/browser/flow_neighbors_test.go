package browser

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// oneOrigin serves instances below their paths on one address, as a proxy would.
func oneOrigin(t testing.TB, instances ...*instance) string {
	t.Helper()
	mux := http.NewServeMux()
	for _, inst := range instances {
		target := must(url.Parse(strings.TrimSuffix(inst.url, inst.path)))
		mux.Handle(inst.path+"/", &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = target.Host
		}, ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

func TestInstancesOnOneHostAreSeparateInTheBrowser(t *testing.T) {
	t.Parallel()
	red, blue := openInstanceBelow(t, "/red", agentFiles).peopled(), openInstanceBelow(t, "/blue", agentFiles).peopled()
	b := newTab(t, "")
	red.admit(b)
	blue.admit(b)
	b.base = oneOrigin(t, red, blue)
	ask := func(inst *instance) *task.Task {
		tk := inst.create(task.New{Title: "Paint the gate", Owner: "scout"})
		must(inst.svc.Ask(ctx, task.Actor{Name: "scout", Role: task.RoleAgent}, tk.ID, "Which color?", false))
		return tk
	}
	tk, other := ask(red), ask(blue)
	equal(t, "task", tk.ID, other.ID)
	b.open("/red" + path(tk.ID, ""))
	b.live()
	two := b.beside()
	two.open("/blue" + path(other.ID, ""))

	t.Run("each follows its own server", func(t *testing.T) {
		two.live()
		for _, said := range []string{"Said in blue.", "Said again."} { // a page that has just loaded may show the first anyway
			must(blue.svc.Comment(ctx, blue.maya, other.ID, said))
			two.see(said)
		}
		must(red.svc.Comment(ctx, red.maya, tk.ID, "Said in red."))
		b.see("Said in red.")
	})
	t.Run("an unfinished answer in one is not in the other", func(t *testing.T) {
		b.fill("#reply-text", "Red, of course")
		two.loads(chromedp.Reload())
		equal(t, "answer", two.value("#reply-text"), "")
	})
	t.Run("notifications of both are received", func(t *testing.T) {
		names := `navigator.locks.query().then(l => new Set(l.held.filter(l => l.name.startsWith("taskyard-seen")).map(l => l.name)).size)`
		b.wait(names + `.then(n => n === 2)`)
	})
}
