package browser

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// perChange is how many bytes of a response a change may cost a browser that watches a
// board of 50 agents, on the wire, without headers.
const perChange = 5_000

// onBoard is the number of queues that change: a page of the board shows 24.
const onBoard = 20

// TestStory20ManyWatchABusyBoard is story 20: browsers watch a board of 10,000 tasks of
// 50 agents over a slow connection while changes arrive. Each is current after each
// change, and loads only what changed. One of them is Chromium; the others make the
// same requests as live.js. The short forms have fewer of everything.
func TestStory20ManyWatchABusyBoard(t *testing.T) {
	t.Parallel()
	agents, tasks := testkit.ByForm(20, 50, 50), testkit.ByForm(600, 2000, 10_000)
	watchers, changes := testkit.ByForm(10, 20, 199), testkit.ByForm(6, 12, 60)
	files := map[string]string{}
	for i := range agents {
		files[fmt.Sprintf("agent-%02d", i)] = "---\ndescription: Works.\ntools: read\nrunner: none\n---\nWork.\n"
	}
	inst := newInstanceWith(t, files)
	first := make([]task.ID, agents)
	for i := range tasks {
		tk := inst.create(task.New{Title: fmt.Sprintf("Task %d", i), Owner: fmt.Sprintf("agent-%02d", i%agents)})
		if i < agents {
			first[i] = tk.ID
		}
	}
	b := inst.tab()
	b.open("/queues")
	b.live()
	live := newLiveBytes(b)
	slow(b)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	crowd := newCrowd(inst, b)
	for range watchers {
		crowd.watch(ctx, t)
	}
	crowd.ready.Wait()
	before := mainThread(b)
	var took []time.Duration
	for n := range changes {
		title := fmt.Sprintf("Changed for the %dth time", n+1)
		begin := time.Now()
		must(inst.svc.UpdateTask(ctx, inst.maya, first[n%onBoard], task.Patch{Title: &title}))
		b.wait(`document.getElementById("t-` + first[n%onBoard].String() + `")?.querySelector(".title").textContent === ` + quote(title))
		took = append(took, time.Since(begin))
		crowd.until(t, title)
	}
	after := mainThread(b)
	stop()
	crowd.gone.Wait()
	slices.Sort(took)
	bytes := live.bytes()
	t.Logf("%d agents, %d tasks, %d changes: Chromium was current after %v (median), %v at most; %.0f ms of its main thread and %d bytes with headers for each; others: %d bytes at most",
		agents, tasks, changes, took[len(took)/2], took[len(took)-1], (after-before)/float64(changes), bytes/changes, crowd.largest)
	if n := bytes / changes; n > perChange+1_500 {
		t.Errorf("got %d bytes with headers for a change, want at most %d", n, perChange+1_500)
	}
	if crowd.largest > perChange {
		t.Errorf("got %d bytes for a change, want at most %d", crowd.largest, perChange)
	}
	if testkit.Thorough() && took[len(took)-1] > time.Second {
		t.Errorf("got a browser that was current after %v, want at most 1 s", took[len(took)-1])
	}
}

// slowLine has the parameters of network.EmulateNetworkConditionsByRuleParams and says
// that the browser is not offline, which Chromium 148 requires.
type slowLine struct {
	Offline bool `json:"offline"`
	network.EmulateNetworkConditionsByRuleParams
}

// slow gives a tab a connection of 400 kbit/s with a round trip of 200 ms.
func slow(b *tab) {
	b.t.Helper()
	const bytesPerSecond = 50_000
	emulate := cdp.Command[slowLine, cdp.Empty]{Method: network.CommandEmulateNetworkConditionsByRule}
	_, err := chromedp.Call(b.ctx, emulate, slowLine{
		EmulateNetworkConditionsByRuleParams: network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{{Latency: 200, DownloadThroughput: bytesPerSecond, UploadThroughput: bytesPerSecond}},
		},
	})
	ok(b.t, err)
}

// mainThread returns how long the tab's main thread has been busy, in ms.
func mainThread(b *tab) float64 {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{})
	ok(b.t, err)
	r, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	ok(b.t, err)
	for _, m := range r.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value * 1000
		}
	}
	b.t.Fatal("there is no TaskDuration")
	return 0
}

// liveBytes counts the bytes that the live parts of a tab load.
type liveBytes struct {
	mu   sync.Mutex
	live map[network.RequestID]bool
	n    float64
}

func newLiveBytes(b *tab) *liveBytes {
	b.t.Helper()
	l := &liveBytes{live: map[network.RequestID]bool{}}
	ok(b.t, chromedp.Listen(b.ctx, func(ev any) {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if ev.Request.Headers["Taskyard-Held"] != nil {
				l.live[ev.RequestID] = true
			}
		case *network.EventLoadingFinished:
			if l.live[ev.RequestID] {
				l.n += ev.EncodedDataLength
			}
		}
	}))
	return l
}

func (l *liveBytes) bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.n)
}

// crowd watches the board as many browsers would.
type crowd struct {
	y           *instance
	cookie      string
	ready, gone sync.WaitGroup

	mu      sync.Mutex
	cond    *sync.Cond
	seen    []string // the last response that each read
	largest int      // bytes of the largest response
}

func newCrowd(inst *instance, b *tab) *crowd {
	b.t.Helper()
	c := &crowd{y: inst}
	c.cond = sync.NewCond(&c.mu)
	r, err := chromedp.Call(b.ctx, network.GetCookies, network.GetCookiesParams{})
	ok(b.t, err)
	for _, k := range r.Cookies {
		c.cookie += k.Name + "=" + k.Value + "; "
	}
	return c
}

// until waits until every watcher has read a text.
func (c *crowd) until(t testing.TB, text string) {
	t.Helper()
	late := time.AfterFunc(patience, c.cond.Broadcast)
	defer late.Stop()
	begin := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for slices.ContainsFunc(c.seen, func(s string) bool { return !strings.Contains(s, text) }) {
		if time.Since(begin) > patience {
			t.Fatalf("not all watchers got %q", text)
		}
		c.cond.Wait()
	}
}

func (c *crowd) get(ctx context.Context, path, held string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.y.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Cookie", c.cookie)
	req.Header.Set("Accept-Encoding", "gzip")
	if held != "" {
		req.Header.Set("Taskyard-Held", held)
	}
	return http.DefaultClient.Do(req)
}

var (
	partID      = regexp.MustCompile(`id="([^"]*)" data-(?:part="([^"]*)"|same)`)
	streamNamed = "data: ["
)

// watch opens the board and its stream, and requests it again when something changed.
func (c *crowd) watch(ctx context.Context, t testing.TB) {
	c.mu.Lock()
	me := len(c.seen)
	c.seen = append(c.seen, "")
	c.mu.Unlock()
	c.ready.Add(1)
	c.gone.Go(func() {
		versions := map[string]string{}
		read := func(held string) (wire int) {
			res, err := c.get(ctx, "/queues", held)
			if err != nil {
				return 0
			}
			defer res.Body.Close()
			counted := &countedReader{r: res.Body}
			z, err := gzip.NewReader(counted)
			if err != nil {
				return 0
			}
			page, err := io.ReadAll(z)
			if err != nil {
				return 0
			}
			for _, m := range partID.FindAllStringSubmatch(string(page), -1) {
				if m[2] != "" {
					versions[m[1]] = m[2]
				}
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.seen[me] += string(page)
			c.cond.Broadcast()
			return counted.n
		}
		read("")
		res, err := c.get(ctx, "/live?topics=queues,views,instance,inbox", "")
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("got no stream: %v", err)
			c.ready.Done()
			return
		}
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "event: hello"):
				c.ready.Done()
			case strings.HasPrefix(line, streamNamed):
				n := read(strings.Join(slices.Collect(maps.Values(versions)), " "))
				c.mu.Lock()
				c.largest = max(c.largest, n)
				c.mu.Unlock()
			}
		}
	})
}

type countedReader struct {
	r io.Reader
	n int
}

func (c *countedReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}
