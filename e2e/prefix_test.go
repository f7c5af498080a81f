package e2e

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// crawler reads all pages of a server below a prefix, as a signed-in person, and
// reports each address outside of the prefix.
type crawler struct {
	t      *testing.T
	base   *url.URL // with the prefix
	client *http.Client
	seen   map[string]bool
	queue  []string
}

// newCrawler signs in with the link that a demo prints.
func newCrawler(t *testing.T, s *server, base string, transport http.RoundTripper) *crawler {
	t.Helper()
	u, err := url.Parse(base)
	testkit.NoError(t, err)
	b := newBrowser(t)
	b.c.Transport = transport
	if !strings.HasPrefix(s.first, base+"/") {
		t.Fatalf("got the first line %q, want a link below %s", s.first, base)
	}
	if status, to := b.send(s.first, base+"/login/link", nil); status != http.StatusSeeOther || to != u.Path+"/" {
		t.Fatalf("for the sign-in, got status %d and location %q", status, to)
	}
	b.c.CheckRedirect = nil
	return &crawler{t: t, base: u, client: b.c, seen: map[string]bool{}}
}

func (c *crawler) get(address string) (body string, status int) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, address, nil)
	testkit.NoError(c.t, err)
	res, err := c.client.Do(req)
	testkit.NoError(c.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	testkit.NoError(c.t, err)
	if !strings.HasPrefix(res.Request.URL.Path, c.base.Path+"/") {
		c.t.Errorf("%s redirects out of the prefix, to %s", address, res.Request.URL)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		c.links(address, string(b))
	}
	return string(b), res.StatusCode
}

// inServer matches attributes whose value is a path within the server, which forms
// send back to it.
var inServer = []string{"value", "content", "data-path", "placeholder", "data-keys"}

// links collects the addresses in a page.
func (c *crawler) links(page, text string) {
	root, err := html.Parse(strings.NewReader(text))
	testkit.NoError(c.t, err)
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if !strings.HasPrefix(a.Val, "/") || slices.Contains(inServer, a.Key) {
				continue
			}
			if !strings.HasPrefix(a.Val, c.base.Path+"/") && a.Val != c.base.Path {
				if what := n.Data + " " + a.Key; !c.seen[what] {
					c.seen[what] = true
					c.t.Errorf("%s: <%s %s=%q> is outside of %s", page, n.Data, a.Key, a.Val, c.base.Path)
				}
				continue
			}
			if n.Data == "a" && a.Key == "href" || a.Key == "src" || n.Data == "link" {
				c.add(page, a.Val)
			}
		}
	}
}

func (c *crawler) add(page, href string) {
	u, err := c.base.Parse(href)
	if err != nil {
		c.t.Errorf("%s: %v", page, err)
		return
	}
	u.Fragment = ""
	shape := digits.ReplaceAllString(u.Path, "N")
	for k := range u.Query() {
		shape += "?" + k
	}
	if !c.seen[shape] {
		c.seen[shape] = true
		c.queue = append(c.queue, u.String())
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// all follows links until there are no new ones.
func (c *crawler) all() (pages int) {
	c.t.Helper()
	for ; len(c.queue) > 0 && pages < 400; pages++ {
		address := c.queue[0]
		c.queue = c.queue[1:]
		if _, status := c.get(address); status >= 400 {
			c.t.Errorf("%s returned %d", address, status)
		}
	}
	return pages
}

func TestEveryLinkStaysBelowThePrefix(t *testing.T) {
	t.Parallel()
	s := newServer(t, "demo")
	base := "http://" + s.address + "/team/tasks"
	s.env = []string{"TASKYARD_PUBLIC_URL=" + base}
	s.start()
	c := newCrawler(t, s, base, nil)
	c.queue = append(c.queue, base+"/")
	n := c.all()
	for _, want := range []string{"/queues", "/tasks/N", "/agents", "/scheduler", "/settings", "/history"} {
		if !c.seen[c.base.Path+want] {
			t.Errorf("the crawl did not reach %s", want)
		}
	}
	t.Logf("%d pages and files", n)
	if n < 40 {
		t.Errorf("got only %d pages", n)
	}
	sheet := regexp.MustCompile(`href="([^"]*\.css[^"]*)"`)
	body, _ := c.get(base + "/queues")
	if m := sheet.FindStringSubmatch(body); m != nil {
		css, _ := c.get("http://" + s.address + m[1])
		if strings.Contains(css, "url(/") {
			t.Error("the style sheet has addresses relative to the root of the host")
		}
	}
	for _, k := range c.client.Jar.Cookies(c.base) {
		if strings.HasPrefix(k.Name, "__Host-") {
			t.Errorf("the path of cookie %s is the whole host", k.Name)
		}
	}
	root := *c.base
	root.Path = "/"
	if k := c.client.Jar.Cookies(&root); len(k) > 0 {
		t.Errorf("the cookies %v are sent to other paths of the host", k)
	}
}

func TestTheServerAnswersOnlyBelowItsPrefix(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	root := "http://" + s.address
	s.env = []string{"TASKYARD_PUBLIC_URL=" + root + "/p"}
	s.start()
	secret := s.token("--scope", "operate")
	for path, want := range map[string]int{
		"/p/api/tasks": 200, "/p/api/openapi.json": 200, "/p/healthz": 200,
		"/healthz": 200, "/readyz": 200, "/api/tasks": 404, "/pp/api/tasks": 404, "/pathetic": 404, "/p/../api/tasks": 404,
	} {
		if got := requestStatus(t, root+path, secret); got != want {
			t.Errorf("%s returned %d, want %d", path, got, want)
		}
	}
	api := s.api(secret)
	api.URL = root + "/p"
	made := call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": "Below", "owner": "general-purpose"})
	if made.ID == 0 {
		t.Error("no task was created")
	}
	doc := call[struct{ Servers []struct{ URL string } }](t, api, "GET", "/api/openapi.json", nil)
	if len(doc.Servers) != 1 || doc.Servers[0].URL != root+"/p" {
		t.Errorf("got the servers %v in the API document", doc.Servers)
	}
	// Commands, with the prefix in their address.
	cmd := exec.CommandContext(t.Context(), binary(t), "task", "list")
	cmd.Env = append(os.Environ(), "TASKYARD_URL="+root+"/p", "TASKYARD_TOKEN="+secret)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Below") {
		t.Errorf("task list: got %v, %s", err, out)
	}
}
