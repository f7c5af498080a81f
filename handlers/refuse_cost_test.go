package handlers

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"

	"golang.org/x/sys/unix"
)

// refuseBudget is the CPU time that refusing a test body may take: 50 ms for 1 MiB on
// a dedicated core, twice that if another process uses half of it. Under the race
// detector, an eighth of the body may take 20 times as long as an eighth.
var refuseBudget, refuseSize = func() (time.Duration, int) {
	if testkit.Race {
		return 2 * 50 * time.Millisecond * 20 / 8, maxBody / 8
	}
	return 2 * 50 * time.Millisecond, maxBody
}()

// filledTo repeats what part returns until the text has nearly n bytes.
func filledTo(n int, part func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n-100; i++ {
		b.WriteString(part(i))
	}
	return strings.TrimSuffix(b.String(), ",")
}

// wrongBodies returns bodies of nearly 1 MiB, each full of one kind of mistake.
func wrongBodies() map[string]string {
	n := refuseSize - 200
	same := func(s string) func(int) string { return func(int) string { return s } }
	names := filledTo(n, func(i int) string { return fmt.Sprintf(`"f%06d":1,`, i) })
	return map[string]string{
		"unknown fields":               `{` + names + `}`,
		"unknown fields of a step":     `{"title":"x","owner":"pull","steps":[{` + names + `}]}`,
		"unknown fields of many steps": `{"title":"x","owner":"pull","steps":[` + filledTo(n, same(`{"a":1,"b":2},`)) + `]}`,
		"fields that differ in case": `{` +
			filledTo(n, func(i int) string { return fmt.Sprintf(`"%s":1,`, nthCasing("abcdefghijklmnop", i)) }) + `}`,
		"one name again and again":      `{` + filledTo(n, same(`"title":"x",`)) + `}`,
		"empty steps":                   `{"title":"x","owner":"pull","steps":[` + filledTo(n, same(`{},`)) + `]}`,
		"labels":                        `{"title":"x","owner":"pull","labels":[` + filledTo(n, same(`"a",`)) + `]}`,
		"blockers":                      `{"title":"x","owner":"pull","blockedBy":[` + filledTo(n, same(`{},`)) + `]}`,
		"task ids":                      `{"taskIds":[` + filledTo(n, same(`"x",`)) + `],"newAgent":"pull","comment":"c"}`,
		"events":                        `{"from":1,"events":[` + filledTo(n, same(`{"type":"x"},`)) + `]}`,
		"data of an event":              `{"from":1,"events":[{"type":"text","data":[` + filledTo(n, same(`[],`)) + `]}]}`,
		"a list for a text":             `{"title":[` + filledTo(n, same(`[],`)) + `]}`,
		"brackets":                      strings.Repeat("[", n),
		"braces":                        `{"title":` + strings.Repeat(`{"a":`, n/5),
		"a long number":                 `{"priority":` + strings.Repeat("9", n) + `}`,
		"a long id":                     `{"taskId":"` + strings.Repeat("9", n) + `"}`,
		"a long name":                   `{"` + strings.Repeat("n", n) + `":1}`,
		"a broken long name":            `{"` + strings.Repeat("n", n) + `":}`,
		"a long title":                  `{"owner":"pull","title":"` + strings.Repeat("t", n) + `"}`,
		"a title of escapes":            `{"owner":"pull","title":"` + strings.Repeat(`\u0041`, n/6) + `"}`,
		"a title of backslashes":        `{"owner":"pull","title":"` + strings.Repeat(`\\`, n/2) + `\u0000"}`,
		"a text of line ends":           `{"text":"---\n` + strings.Repeat(`- a\n`, n/5) + `"}`,
		"a definition of list openings": `{"text":"---\na: ` + strings.Repeat(`[`, n) + `"}`,
		"a definition of headings":      `{"text":"` + strings.Repeat(`# a\n`, n/5) + `"}`,
		"spaces":                        strings.Repeat(" ", n),
		"steps":                         `{"steps":[` + filledTo(n, same(`{"title":"a","details":"b"},`)) + `]}`,
	}
}

// nthCasing returns the i-th upper and lower case spelling of a word.
func nthCasing(word string, i int) string {
	b := []byte(word)
	for at := range b {
		if i>>at&1 == 1 {
			b[at] -= 'a' - 'A'
		}
	}
	return string(b)
}

// cpuTime runs fn on its own thread and returns the CPU time that it took.
func cpuTime(fn func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var a, b unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &a)
	fn()
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &b)
	return time.Duration(b.Utime.Nano() - a.Utime.Nano() + b.Stime.Nano() - a.Stime.Nano())
}

func TestABodyFullOfMistakesIsRefusedCheaply(t *testing.T) {
	s := newSite(t)
	s.create("coder", "")
	routes := []string{
		"POST /api/tasks", "PATCH /api/tasks/:id", "PUT /api/tasks/:id/steps", "POST /api/agents/:id/reassign",
		"POST /api/worker/runs/:id/events", "PUT /api/agents/:id", "POST /api/tasks/:id/complete",
	}
	routes = testkit.Sample(2, routes)
	if testkit.Thorough() {
		routes = s.routes()
	}
	bodiless := []string{"DELETE /api/tokens/:id", "POST /api/runners/probe"} // they do not read a body
	bodies := wrongBodies()
	var worst time.Duration
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		if method == http.MethodGet || !isAPI(path) || slices.Contains(bodiless, route) {
			continue
		}
		for name, body := range bodies {
			took, status, size := time.Hour, 0, 0
			for try := 0; try < 3 && took > refuseBudget; try++ { // another process may have used the cache
				took = min(took, cpuTime(func() {
					rec := s.serve("admin", method, fillPath(path, "1", "0"), body)
					status, size = rec.Code, rec.Body.Len()
				}))
			}
			worst = max(worst, took)
			if took > refuseBudget {
				t.Errorf("%s with %s: got %v of CPU time for %d bytes, status %d; want at most %v", route, name, took, len(body), status, refuseBudget)
			}
			if status < 400 || status >= 500 || size > 64<<10 {
				t.Errorf("%s with %s: got status %d, %d bytes", route, name, status, size)
			}
		}
	}
	t.Logf("at most %v of CPU time", worst)
}

func TestARefusalListsTwentyMistakes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, n := range []int{20, 21, 500, 80_000} {
		fields := strings.TrimSuffix(strings.Join(func() (l []string) {
			for i := range n {
				l = append(l, fmt.Sprintf(`"f%d":1`, i))
			}
			return l
		}(), ","), ",")
		p := s.do("operator", "POST", "/api/tasks", `{"title":"x","owner":"pull",`+fields+`}`).problem(422, "invalid_field")
		if len(p.Errors) != 20 || p.More != n-20 {
			t.Errorf("%d unknown fields: got %d listed, %d more", n, len(p.Errors), p.More)
		}
		if n == 80_000 && !strings.HasSuffix(p.Detail, "; and 79,980 more") {
			t.Errorf("got detail that ends with %q", p.Detail[max(0, len(p.Detail)-60):])
		}
	}
}
