//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// Limits for one request, and for all of them together.
const (
	mostCPU     = 400 * time.Millisecond
	maxHostile  = 64 << 10 // KiB of memory
	mostAnswers = 30 * time.Second
)

// assault sends requests that no client would, as every kind of caller, to every
// route and tool. Request i depends only on the seed and i.
type assault struct {
	*server
	t       *testing.T
	seed    uint64
	routes  []string // "METHOD /path", as in the authorization table
	fields  []string // of all documented bodies and forms
	tools   []string
	mu      sync.Mutex
	callers map[string]string // name → token; "" without a caller
	cookies []*http.Cookie    // of a signed-in admin
	client  *http.Client
	codes   [6]atomic.Int64 // responses by the first digit of their status; 0: none
}

var (
	hostileScopes = map[string][]string{
		"read": {"--scope", "read"}, "operate": {"--scope", "operate"}, "review": {"--scope", "review"}, "admin": {"--scope", "admin"},
		"act-as": {"--scope", "operate act-as"}, "worker": {"--scope", "worker"}, "agent": {"--agent", "ada"},
	}
	hostileNames = []string{"nobody", "session", "forged", "read", "operate", "review", "admin", "admin", "act-as", "worker", "agent", "agent"}
	hostileTexts = []string{
		"", " ", "x", "ada", "system", "user:maya", "\x00", "\xff\xfe", "a\u0000b", "\u202e\u2066x\u200b",
		"<script>alert(1)</script>", "' OR 1=1 --", `"*" NEAR(a b, 9)`, "AND OR NOT (", "../../etc/passwd",
		"%00%ff", "{{7*7}}", "{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}", "(a+)+$",
		"9223372036854775807", "9223372036854775808", "-1", "0", "1e999", "NaN", "null", "true",
		"2026-01-01T00:00:00Z", "0000-00-00", "9999-12-31T23:59:59.999999999+23:59",
		"* * * * *", "*/0 * * * *", "---\ntools: [\n", "---\nname: &a [*a]\n---\n", "http://[::1", "javascript:alert(1)",
		"data:text/html,x", "file:///etc/passwd", "http://127.0.0.1:1/", "ty_x", "Bearer", "\r\nX-Evil: 1", "a\u0085b\u2028c",
		"👩‍👩‍👧‍👦", "Z̵̧a̴̢l̶", "done", "active", "draft", "coder,ada", "1,2,3", "[]", "{}",
	}
	hostileKeys = []string{
		"title", "owner", "description", "steps", "labels", "comment", "content", "text", "name",
		"role", "password", "scope", "days", "limit", "after", "before", "q", "status", "sort", "view", "agent",
		"act", "id", "back", "next", "all", "from", "to", "by", "range", "key", "value", "version", "priority",
		"reason", "operation", "item", "zone", "theme", "token", "waitSeconds", "topics",
	}
	hostileHeaders = []string{
		"If-Match", "If-None-Match", "Idempotency-Key", "Last-Event-ID", "Accept", "HX-Request",
		"HX-Target", "HX-Current-URL", "Content-Encoding", "Range", "Origin", "Referer", "Sec-Fetch-Site",
		"X-Forwarded-For", "X-Forwarded-Proto", "X-Request-Id", "X-HTTP-Method-Override", "Mcp-Session-Id",
		"Mcp-Protocol-Version", "Accept-Language", "Accept-Encoding", "User-Agent",
	}
	hostileTypes = []string{
		"application/json", "application/json", "application/json", "application/x-www-form-urlencoded",
		"text/plain", "multipart/form-data; boundary=x", "application/json; charset=utf-7", "", "application/xml",
	}
)

const adaFile = "---\nname: ada\ndescription: Claims its work itself.\ntools: read, task\n---\nWork.\n"

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// text returns one of the hostile texts, sometimes a long one.
func (a *assault) text(r *rand.Rand) string {
	s := pick(r, hostileTexts)
	switch r.IntN(40) {
	case 0:
		return strings.Repeat(s+"x", 1+r.IntN(70_000)/(len(s)+1))
	case 1:
		return strconv.FormatInt(r.Int64(), 10)
	case 2:
		return string([]byte{byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256))})
	}
	return s
}

// value returns a JSON value of any kind, as text that need not be valid.
func (a *assault) value(r *rand.Rand, depth int) string {
	switch n := r.IntN(14); {
	case n == 0:
		return pick(r, []string{
			"null", "true", "false", "-0", "1e400", "1e-400", "0.1", "-1",
			"9223372036854775808", `"\ud800"`, "01", "NaN", "'x'", `"`,
		})
	case n < 4:
		return strconv.Itoa(r.IntN(30) - 2)
	case n < 6 && depth > 0:
		if r.IntN(60) == 0 {
			return "[" + strings.Repeat(a.value(r, 0)+",", 3000) + "1]"
		}
		return "[" + list(r.IntN(4), func() string { return a.value(r, depth-1) }) + "]"
	case n < 8 && depth > 0:
		return a.object(r, depth-1)
	}
	b, _ := json.Marshal(a.text(r))
	return string(b)
}

func list(n int, next func() string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = next()
	}
	return strings.Join(parts, ",")
}

func (a *assault) object(r *rand.Rand, depth int) string {
	return "{" + list(1+r.IntN(5), func() string {
		k, _ := json.Marshal(pick(r, a.fields))
		return string(k) + ":" + a.value(r, depth)
	}) + "}"
}

// body returns a request body: mostly an object of known fields, sometimes broken,
// nested, or as large as a body may be or larger.
func (a *assault) body(r *rand.Rand) string {
	switch r.IntN(60) {
	case 0:
		return strings.Repeat(pick(r, []string{"[", `{"a":`, `{"title":[`}), 1+r.IntN(100_000))
	case 1:
		return `{"title":"` + strings.Repeat("x", 1+r.IntN(1_100_000)) + `","owner":"ada"}`
	case 2:
		n := r.IntN(60_000)
		var b strings.Builder
		b.WriteString("{")
		for i := range n {
			fmt.Fprintf(&b, `"f%d":1,`, i)
		}
		return b.String() + `"z":1}`
	case 3:
		v := a.value(r, 0) + ","
		return `{"` + pick(r, a.fields) + `":[` + strings.Repeat(v, min(1+r.IntN(3000), 1_200_000/len(v))) + "1]}"
	case 4:
		return a.text(r)
	}
	s := a.object(r, 3)
	s = s[:min(len(s), 1_200_000)]
	if r.IntN(12) == 0 { // one byte is wrong, or the rest is missing
		b := []byte(s)
		i := r.IntN(len(b))
		if b[i] ^= byte(1 + r.IntN(255)); r.IntN(2) == 0 {
			b = b[:i]
		}
		s = string(b)
	}
	return s
}

func (a *assault) form(r *rand.Rand) string {
	v := url.Values{}
	for range 1 + r.IntN(6) {
		v.Add(pick(r, a.fields), a.text(r))
	}
	return v.Encode()
}

func (a *assault) path(r *rand.Rand, path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if !strings.HasPrefix(p, ":") && p != "*" {
			continue
		}
		if parts[i] = strconv.Itoa(r.IntN(12)); r.IntN(3) == 0 {
			parts[i] = url.PathEscape(a.text(r))
		} else if r.IntN(4) == 0 {
			parts[i] = pick(r, []string{"ada", "general-purpose", "%00", "%2e%2e%2f", "%FF"})
		}
		parts[i] = parts[i][:min(len(parts[i]), 4000)]
	}
	path = strings.Join(parts, "/")
	if r.IntN(2) == 0 {
		q := url.Values{}
		for range 1 + r.IntN(3) {
			q.Add(pick(r, hostileKeys), a.text(r))
		}
		s := q.Encode()
		path += "?" + s[:min(len(s), 8000)]
	}
	return path
}

// request returns request i and its caller.
func (a *assault) request(ctx context.Context, i int) (req *http.Request, caller string, err error) {
	r := rand.New(rand.NewPCG(a.seed, uint64(i)))
	caller = pick(r, hostileNames)
	method, path, _ := strings.Cut(pick(r, a.routes), " ")
	body, kind := "", ""
	switch {
	case r.IntN(6) == 0: // a tool
		method, path, kind = "POST", pick(r, []string{"/mcp", "/mcp/core", "/mcp"}), "application/json"
		args := a.object(r, 2)
		if len(args) > 1_200_000 {
			args = "{}"
		}
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i, pick(r, a.tools), args)
	case method == "GET":
		path = a.path(r, path)
	default:
		path, kind = a.path(r, path), pick(r, hostileTypes)
		if body = a.body(r); !strings.HasPrefix(path, "/api/") && r.IntN(4) > 0 {
			body, kind = a.form(r), "application/x-www-form-urlencoded"
		}
	}
	if r.IntN(50) == 0 {
		method = pick(r, []string{"PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW"})
	}
	req, err = http.NewRequestWithContext(ctx, method, a.url(), strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	if req.URL, err = url.Parse(a.url() + path); err != nil {
		req.URL = &url.URL{Scheme: "http", Host: a.address, Opaque: path}
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if strings.HasPrefix(path, "/mcp") {
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	for range r.IntN(3) {
		if v := a.text(r); !strings.ContainsAny(v, "\x00\r\n\x7f") && !strings.ContainsFunc(v, func(c rune) bool { return c < ' ' }) {
			req.Header.Set(pick(r, hostileHeaders), v[:min(len(v), 4000)])
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch caller {
	case "nobody":
	case "forged":
		req.Header.Set("Authorization", "Bearer ty_"+strconv.FormatUint(r.Uint64(), 36))
	case "session":
		for _, c := range a.cookies {
			req.AddCookie(c)
		}
	default:
		req.Header.Set("Authorization", "Bearer "+a.callers[caller])
	}
	return req, caller, nil
}

var waiting = regexp.MustCompile(`(?i)wait_?seconds|/live|/wait`)

// send makes request i and checks the response.
func (a *assault) send(i int) {
	ctx, cancel := context.WithTimeout(a.t.Context(), mostAnswers)
	defer cancel()
	req, caller, err := a.request(ctx, i)
	if err != nil {
		return // it cannot be sent as a request
	}
	sent, _ := req.GetBody()
	var text []byte
	if sent != nil {
		text, _ = io.ReadAll(sent)
	}
	mayWait := waiting.MatchString(req.URL.String()) || waiting.Match(text) || strings.Contains(req.Header.Get("Accept"), "event-stream")
	if mayWait { // it delays its response as requested, or is a stream
		time.AfterFunc(250*time.Millisecond, cancel)
	}
	said := func() string {
		return fmt.Sprintf("seed %d, request %d: %s: %s %.300s %v %.300q", a.seed, i, caller, req.Method, req.URL, req.Header, text)
	}
	res, err := a.client.Do(req)
	if err != nil {
		a.codes[0].Add(1)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) && !mayWait {
			a.t.Errorf("%s: got no response: %v", said(), err)
		}
		return
	}
	defer res.Body.Close()
	a.codes[res.StatusCode/100].Add(1)
	got, _ := io.ReadAll(io.LimitReader(res.Body, 2<<20))
	if res.StatusCode >= 500 && !strings.HasPrefix(req.URL.Path, "/readyz") ||
		strings.Contains(strings.ToLower(string(got[:min(len(got), 4000)])), "internal error") && req.Method != "GET" {
		a.t.Errorf("%s: %d %.500s", said(), res.StatusCode, got)
	}
	if res.StatusCode == http.StatusUnauthorized && hostileScopes[caller] != nil {
		a.renew(caller)
	}
}

// renew creates a new token for a caller whose token an admin has revoked.
func (a *assault) renew(caller string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.file("agents/ada.md", adaFile) // an admin may have deleted it
	a.callers[caller] = a.token(append(slices.Clone(hostileScopes[caller]), "--name", fmt.Sprintf("%s-%d", caller, rand.Uint32()))...)
}

// cpu returns the CPU time that the server has used.
func (a *assault) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// newAssault starts a server with some of everything and collects the targets.
func newAssault(t *testing.T) *assault {
	t.Helper()
	a := &assault{server: newServer(t, "serve"), t: t, seed: rand.Uint64(), callers: map[string]string{}, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 16},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	a.env = append(a.env, testkit.DefaultGC)
	t.Cleanup(a.client.CloseIdleConnections)
	if v := os.Getenv("HOSTILE_SEED"); v != "" {
		var err error
		if a.seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	a.file("taskyard.toml", "[runners.script]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", \"cat "+
		">/dev/null; echo '{\\\"summary\\\":\\\"x\\\",\\\"success\\\":true}'\"]\n")
	a.file("agents/ada.md", adaFile)
	a.file("agents/bob.md", "---\nname: bob\ndescription: Is started.\ntools: read, bash\nrunner: script\napproval: always\n---\nWork.\n")
	a.start()
	for name := range hostileScopes {
		a.renew(name)
	}
	admin := a.api(a.callers["admin"])
	for i := range 6 {
		tk := call[task.Task](t, admin, "POST", "/api/tasks", map[string]any{
			"title": fmt.Sprintf("Task %d", i),
			"owner": []string{"ada", "bob"}[i%2], "steps": []any{map[string]any{"title": "One"}},
		})
		call[map[string]any](t, admin, "POST", "/api/tasks/"+tk.ID.String()+"/comments", map[string]any{"content": "A comment."})
	}
	b := a.signedIn()
	at, _ := url.Parse(a.url())
	a.cookies = b.c.Jar.Cookies(at)
	table := read(t, "handlers/testdata/permissions.txt") // a test compares it with the router
	for line := range strings.Lines(table) {
		route, _, _ := strings.Cut(line, " (")
		a.routes = append(a.routes, route)
	}
	a.learn(admin.Token)
	t.Logf("seed %d: %d routes, %d tools, %d fields", a.seed, len(a.routes), len(a.tools), len(a.fields))
	return a
}

var property = regexp.MustCompile(`"([A-Za-z_]{1,40})":\{"?(?:type|\$ref|description|anyOf|items|format|enum)`)

// learn reads the names of fields and tools from the documentation of the server.
func (a *assault) learn(token string) {
	a.t.Helper()
	ask := func(method, path, body string) string {
		r := answerTo(a.t, a.client, newRequest(a.t.Context(), method, a.url()+path, token, body))
		if r.status != http.StatusOK {
			a.t.Fatalf("%s: %d %.300s", path, r.status, r.body)
		}
		return strings.ReplaceAll(strings.ReplaceAll(r.body, "\n", ""), " ", "")
	}
	tools := ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	for _, m := range regexp.MustCompile(`"name":"([a-z_]+)"`).FindAllStringSubmatch(tools, -1) {
		a.tools = append(a.tools, m[1])
	}
	a.fields = append(a.fields, hostileKeys...)
	for _, m := range property.FindAllStringSubmatch(ask("GET", "/api/openapi.json", "")+tools, -1) {
		a.fields = append(a.fields, m[1])
	}
	slices.Sort(a.fields)
	a.fields = slices.Compact(a.fields)
	slices.Sort(a.tools)
	if a.tools = slices.Compact(a.tools); len(a.tools) < 15 || len(a.fields) < 100 || len(a.routes) < 150 {
		a.t.Fatalf("got only %d tools, %d fields and %d routes", len(a.tools), len(a.fields), len(a.routes))
	}
}

// TestHostileRequestsCostLittleAndBreakNothing is not parallel, because it measures.
// The first half of the requests is sent one after the other, so that the CPU time
// of each is known; the second half by eight callers at the same time. To repeat a
// run, set HOSTILE_SEED.
func TestHostileRequestsCostLittleAndBreakNothing(t *testing.T) {
	n := testkit.ByForm(300, 700, testkit.Trials())
	a := newAssault(t)
	warm := min(100, n/4)
	for i := range warm {
		a.send(i)
	}
	before, used, costliest := memoryKiB(t, a.cmd.Process.Pid, "VmRSS:"), a.cpu(), time.Duration(0)
	for i := warm; i < n/2; i++ {
		a.send(i)
		now := a.cpu()
		if cost := now - used; cost > mostCPU {
			req, caller, _ := a.request(t.Context(), i)
			t.Errorf("seed %d, request %d: %s: %s %.300s took %v of CPU, %d bytes of body",
				a.seed, i, caller, req.Method, req.URL, cost, req.ContentLength)
		}
		used, costliest = now, max(costliest, now-used)
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range next {
				a.send(i)
			}
		})
	}
	for i := n / 2; i < n; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
	peak := memoryKiB(t, a.cmd.Process.Pid, "VmHWM:")
	t.Logf("%d requests: %d without a response, %d 2xx, %d 3xx, %d 4xx, %d 5xx; the "+
		"costliest took %v of CPU; memory %d MiB before, %d MiB at most",
		n, a.codes[0].Load(), a.codes[2].Load(), a.codes[3].Load(), a.codes[4].Load(), a.codes[5].Load(), costliest, before>>10, peak>>10)
	if peak-before > maxHostile {
		t.Errorf("memory grew by %d MiB, want at most %d", (peak-before)>>10, maxHostile>>10)
	}
	for line := range strings.Lines(a.log.String()) {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, "panic") {
			t.Errorf("got in the log: %.500s", line)
		}
	}
	if a.codes[2].Load() < int64(n/20) {
		t.Error("almost no request was accepted: the others prove little")
	}
	if status := requestStatus(t, a.url()+"/healthz", ""); status != http.StatusOK {
		t.Errorf("got status %d from /healthz", status)
	}
	if code := a.term(); code != exitOK {
		t.Errorf("got exit code %d", code)
	}
	if out, errs, code := a.command("", "check"); code != exitOK {
		t.Errorf("check: exit code %d: %s %s", code, out, errs)
	}
}
