package handlers

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"taskyard/task"
)

// tab is a real browser's tab with scripts. It collects what the console says:
// errors, exceptions and refusals by the policy.
type tab struct {
	y   *pageYard
	ctx context.Context

	mu   sync.Mutex
	said []string
}

// newTab starts Chromium. Without one the test is skipped, except in CI.
func newTab(y *pageYard) *tab {
	t := y.t
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no chromium was found")
		}
		t.Skip("no chromium was found")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	b := &tab{y: y, ctx: ctx}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Log(err)
		}
		cancel()
		stop()
	})
	b.do() // the first run starts the browser and must have no timeout
	y.ok(chromedp.Listen(ctx, b.hear))
	return b
}

func (b *tab) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" {
			b.said = append(b.said, "console error")
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Source == "security" {
			b.said = append(b.said, ev.Entry.Text+" "+ev.Entry.URL)
		}
	}
}

// quiet checks that nothing was complained about since the last look.
func (b *tab) quiet(at string) {
	b.y.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.y.t.Errorf("%s: %s", at, s)
	}
	b.said = nil
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.y.t.Helper()
	ctx := b.ctx
	if len(steps) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(b.ctx, 20*time.Second)
		defer cancel()
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.y.t.Fatalf("browser: %v", err)
	}
}

func (b *tab) open(path string) { b.y.t.Helper(); b.do(chromedp.Navigate(b.y.srv.URL + path)) }

// wait waits until an expression is true on the page, which may be another one
// meanwhile.
func (b *tab) wait(expression string) {
	b.y.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression)); err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			b.y.t.Fatalf("waited in vain for %s", expression)
		case <-again.C:
		}
	}
}

func eval[T any](b *tab, expression string) T {
	b.y.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	b.y.ok(err)
	return v
}

// signIn signs in by the form as a person does.
func (b *tab) signIn() {
	b.y.t.Helper()
	b.open("/login")
	b.do(chromedp.SendKeys(chromedp.CSS("#name"), "maya"), chromedp.SendKeys(chromedp.CSS("#password"), pagePassword), chromedp.Click(chromedp.CSS("button[type=submit]")))
	b.wait(`location.pathname == "/" && document.querySelector("#inbox") != null`)
}

func TestPagesInABrowser(t *testing.T) {
	y := newPageYard(t)
	y.maya()
	m := y.sample("")
	b := newTab(y)
	b.signIn()

	t.Run("no page complains", func(t *testing.T) {
		for _, p := range append(append(m.pages(), m.writerPages()...), adminPages...) {
			if !strings.Contains(p, "/transcript") {
				b.open(p)
				b.quiet(p)
			}
		}
	})
	t.Run("what others do arrives, and typed text stays", func(t *testing.T) {
		at := "/tasks/" + m.work.String()
		b.open(at)
		b.do(chromedp.SendKeys(chromedp.CSS("#comment"), "half a sent"))
		// No wait for the stream: what happens before it stands must not be lost.
		y.ok2(y.svc.Comment(context.Background(), asAgent("coder"), m.work, "news from the agent"))
		b.wait(`document.querySelector("#feed").textContent.includes("news from the agent")`)
		done := true
		y.ok2(y.svc.UpdateStep(context.Background(), mayaActor, m.work, 1, task.StepPatch{Done: &done}))
		b.wait(`document.querySelector("#task").textContent.includes("2 of 3")`)
		if v := eval[string](b, `document.querySelector("#comment").value`); v != "half a sent" {
			t.Errorf("the composer holds %q", v)
		}
		b.quiet(at)
	})
	t.Run("a tick sends itself and renews the page", func(t *testing.T) {
		b.open("/tasks/" + m.work.String())
		b.do(chromedp.Click(chromedp.CSS("#tick-2")))
		b.wait(`document.querySelector("#task").textContent.includes("3 of 3")`)
		b.quiet("tick")
	})
	t.Run("the board moves by itself", func(t *testing.T) {
		b.open("/queues")
		k := y.create(mayaActor, task.New{Owner: "coder", Title: "Just arrived"})
		b.wait(`document.querySelector("#t-` + k.ID.String() + `") != null`)
		b.quiet("/queues")
	})
	t.Run("a transcript grows while it is read", func(t *testing.T) {
		b.open("/runs/" + m.running.String())
		r, err := y.svc.Run(context.Background(), mayaActor, m.running)
		y.ok(err)
		y.ok(y.svc.AppendTranscript(context.Background(), r.ID, r.Lease, []task.Message{{Role: task.SpeakerAssistant, Type: "text", Content: "a line that came later"}}))
		b.wait(`document.querySelector("#transcript").textContent.includes("a line that came later")`)
		b.quiet("transcript")
	})
	t.Run("a run is approved by key, and the next one is shown", func(t *testing.T) {
		b.open("/approvals")
		b.do(chromedp.KeyEvent("a"))
		b.wait(`document.body.textContent.includes("is queued")`)
		b.quiet("/approvals")
	})
}
