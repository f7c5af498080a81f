package browser

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// faults are what a browser reports: console errors and warnings, uncaught exceptions,
// failed requests, dialogs, and violations of the content security policy.
type faults struct {
	mu       sync.Mutex
	list     []string
	expected []string
	urls     map[network.RequestID]string
	posts    []string      // paths to which something was sent
	posted   chan struct{} // has a value when posts grew
}

// whileAway are the faults of a page whose server cannot be reached: its stream fails,
// and so do its current requests.
var whileAway = []string{"request failed", "ERR_", "Failed to load", "htmx:sendError", "htmx:afterRequest"}

// reportViolations makes violations of the policy appear in the console.
const reportViolations = `document.addEventListener("securitypolicyviolation", e => console.error("violation of " + e.violatedDirective + " by " + e.blockedURI + " " + e.sample));`

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

// sent returns the paths of POST requests since the last call.
func (f *faults) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.posts
	f.posts = nil
	return list
}

// anySent waits until something was sent, and returns the paths.
func (f *faults) anySent() []string {
	limit := time.After(patience)
	for {
		if list := f.sent(); len(list) > 0 {
			return list
		}
		select {
		case <-f.posted:
		case <-limit:
			return nil
		}
	}
}

// unexpected returns the faults that were not expected.
func (f *faults) unexpected() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.list), func(s string) bool {
		return slices.ContainsFunc(f.expected, func(e string) bool { return strings.Contains(s, e) })
	})
}

// record records one event of the tab.
func (f *faults) record(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" || ev.Type == "assert" {
			f.add("console %s: %s", ev.Type, consoleText(ev.Args))
		}
	case *runtime.EventExceptionThrown:
		f.add("exception: %s", (&chromedp.ExceptionError{ExceptionDetails: ev.ExceptionDetails}).Error())
	case *log.EventEntryAdded:
		// Whether a font is used in time depends only on the machine.
		if e := ev.Entry; (e.Level == "error" || e.Level == "warning") &&
			!strings.Contains(e.Text, "was preloaded using link preload but not used within a few seconds") {
			f.add("log %s %s: %s %s", e.Source, e.Level, e.Text, e.URL)
		}
	case *page.EventJavascriptDialogOpening:
		f.add("dialog %s: %s", ev.Type, ev.Message)
	case *network.EventRequestWillBeSent:
		f.mu.Lock()
		f.urls[ev.RequestID] = ev.Request.URL
		if ev.Request.Method == "POST" {
			f.posts = append(f.posts, ev.Request.URL)
			select {
			case f.posted <- struct{}{}:
			default:
			}
		}
		f.mu.Unlock()
	case *network.EventLoadingFailed:
		f.mu.Lock()
		url := f.urls[ev.RequestID]
		f.mu.Unlock()
		// Leaving a page ends its stream and its current requests.
		if !ev.Canceled && ev.ErrorText != "net::ERR_ABORTED" {
			f.add("request failed: %s %s", ev.ErrorText, url)
		}
	case *network.EventResponseReceived:
		if ev.Response.Status >= 400 {
			f.add("status %d: %s", ev.Response.Status, ev.Response.URL)
		}
	}
}

func consoleText(args []*runtime.RemoteObject) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(string(a.Value) + a.Description + " ")
	}
	return b.String()
}
