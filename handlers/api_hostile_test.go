package handlers

import (
	"net/http"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// hostileIDs replace every parameter of a path.
var hostileIDs = []string{
	"1", "2", "0", "-1", "7a", "7.5", "9223372036854775807", "9223372036854775808", "%00",
	"%FF%FE", "%2e%2e%2f", "coder", "bad", "a%20b", "%F0%9F%92%A9", "%7B%7D", "';--",
}

var hostileQueries = []string{
	"?limit=-1", "?limit=9999999999999999999999", "?limit=%00", "?after=%FF",
	"?after=9223372036854775807.9223372036854775807", "?after=-1", "?after=1.1",
	"?before=9223372036854775807", "?before=1.1", "?q=%00", "?q=%22%22%22", "?q=%2A%20OR%20NEAR", "?q=%FF%FE",
	"?q=a%20AND%20(", "?owner=%00", "?status=%FF", "?from=0000-01-01T00:00:00Z",
	"?from=9999-12-31T23:59:59Z&to=0001-01-01T00:00:00Z", "?since=0001-01-01T00:00:00Z&by=day", "?by=week",
	"?task=9223372036854775807", "?label=%00", "?label=a%20b", "?label=%25", "?full=%FF", "?a=%zz", "?;;=&&",
	"?q=" + strings.Repeat("a%20", 500),
}

// hostileBodies are sent to every route that accepts a body. Each known field has
// values that must be refused and values that may be accepted.
func hostileBodies() []string {
	list := []string{
		"", "{}", "[]", "null", "true", "7", `"x"`, "{", "}", "\x00", "\xff\xfe", `{"a":1}`, `{"":""}`,
		`{"title":"a\u0000"}`, `{"title":"x","Title":"y"}`, `{"a":1,"a":2}`,
		strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), `{"title":"` + strings.Repeat("x", 70<<10) + `","owner":"coder"}`,
		`{"title":"x","owner":"coder"}`, `{"title":"x","owner":"bad"}`, `{"title":"\u202e\u0007","owner":"pull","status":"draft"}`,
		`{"title":"x","owner":"coder","steps":[null]}`,
		`{"title":"x","owner":"coder","resources":[{"type":"url","value":"http://[::1"}]}`,
		`{"steps":[{"title":"a"}]}`, `{"done":true}`, `{"type":"file","value":"/etc/passwd"}`,
		`{"content":"c"}`, `{"message":"m","needsReply":true}`, `{"reason":"r"}`,
		`{"text":"# x","force":true}`, `{"text":"\ud83d\ude00","force":true}`,
		`{"currentAgent":"coder","newAgent":"pull","comment":"c","claim":9223372036854775807}`,
		`{"taskIds":[1,"2"],"newAgent":"pull","comment":"c"}`, `{"taskId":"1"}`, `{"count":50}`,
		`{"scope":"task","limits":{"timeoutSeconds":-1},"version":"x"}`,
		`{"limits":{"maxCostUsd":1e308,"maxTokens":2147483648}}`, `{"name":"n","scope":"read","days":3651}`,
		`{"role":"admin","disabled":true,"password":"x"}`, `{"name":"é:/","password":"short","role":"king"}`,
		`{"operation":"rpush","item":"\u202e\n\ud83d\ude00"}`, `{"operation":"list","after":"-9223372036854775808","limit":1}`,
		`{"operation":"list","after":"9223372036854775807"}`, `{"operation":"rpop"}`,
		`{"waitSeconds":51}`, `{"waitSeconds":-9223372036854775808}`, `{"maxConcurrent":50}`, `{"maxConcurrent":1,"count":1}`,
		`{"taskIds":[1]}`, `{"taskIds":[2,"2",9223372036854775807]}`, `{"labels":["a","a","A"]}`,
		`{"labels":["a"]}`, `{"title":"x","owner":"coder","blockedBy":["1",3]}`,
		`{"task":"x","agentType":"coder","taskId":"1","stepIndex":2147483648,"resources":[-1,0,9999999],"tools":["task","\u202e"],"limits":{"maxTokens":1}}`,
		`{"task":"x","agentType":"coder","taskId":9223372036854775807,"model":"\u0007","estimatedComplexity":"low"}`,
		`{"task":"x","agentType":"list","waitSeconds":50}`,
		`{"status":"working"}`, `{"status":"idle"}`, `{"status":"complete"}`, `{"status":"draft"}`, `{"version":-1}`, `{"priority":1000001}`,
	}
	for _, field := range []string{
		"title", "owner", "description", "status", "priority", "steps", "resources", "labels",
		"blockedBy", "channel", "start", "version", "claim", "summary", "reason", "currentAgent", "taskIds", "taskId",
		"count", "limits", "text", "name", "days", "task", "agentType", "model", "estimatedComplexity", "stepIndex",
		"tools", "waitSeconds", "operation", "item", "after", "limit", "maxConcurrent",
	} {
		for _, v := range []string{"null", `""`, "-1", "1e400", "1e300", "{}", "[[]]", `"\ud800"`, `"\\u0000"`} {
			list = append(list, `{"`+field+`":`+v+`}`)
		}
	}
	return list
}

func TestNoInputCausesAnInternalError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("coder", `"steps":[{"title":"a"}],"resources":[{"type":"url","value":"https://example.org"}]`)
	s.create("reviewer", "")
	s.do("operator", "POST", "/api/tasks/2/run", "").want(202)
	bodies := hostileBodies()
	n, codes := 0, map[string]bool{}
	for _, c := range task.Codes {
		codes[string(c.Code)] = true
	}
	some := 6 // in the short form, each route gets a different sixth of the inputs
	if testkit.Whole() {
		some = 1
	}
	check := func(role, method, path, body string, headers ...string) {
		t.Helper()
		n++
		rec := s.serve(role, method, path, body, append(headers, "Sec-Fetch-Site", "same-origin")...)
		if rec.Code >= 500 || rec.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s %s %s %.200q: %d %s", role, method, path, body, rec.Code, rec.Body)
		}
		if rec.Code >= 400 && rec.Header().Get("Content-Type") == "application/problem+json" {
			if p := decode[Problem](answer{t: t, Body: rec.Body.Bytes()}); !codes[p.Code] || p.RequestID == "" || p.Detail == "" {
				t.Errorf("%s %s %.200q: %s", method, path, body, rec.Body)
			}
		}
	}
	for at, route := range s.routes() {
		method, path, _ := strings.Cut(route, " ")
		if !isAPI(path) && method != http.MethodGet {
			continue // forms have their own tests
		}
		var allowed []string
		for _, role := range siteRoles {
			if s.may(role, route) {
				allowed = append(allowed, role)
				continue
			}
			for _, id := range hostileIDs[:4] { // refused before anything is read
				check(role, method, fillPath(path, id, id), "{}")
			}
		}
		for r, role := range allowed {
			turn := func(i int) bool { // each input once, with alternating roles
				return testkit.Thorough() || i%some == at%some && i/some%len(allowed) == r
			}
			for i, id := range hostileIDs {
				if turn(i) {
					check(role, method, fillPath(path, id, id), "")
				}
			}
			if method == http.MethodGet {
				for i, q := range hostileQueries {
					if turn(i) {
						check(role, method, fillPath(path, "1", "0")+q, "")
					}
				}
				continue
			}
			for i, id := range hostileIDs {
				if turn(i) {
					check(role, method, fillPath(path, id, "0"), "{}")
				}
			}
			for i, b := range bodies {
				if turn(i) {
					check(role, method, fillPath(path, "1", "0"), b)
				}
			}
			check(role, method, fillPath(path, "1", "0"), "{}", "Idempotency-Key", "\xff\xfe", "If-Match", "\xff")
		}
	}
	if out := s.log.String(); strings.Contains(out, "internal error") {
		t.Error(out)
	}
	t.Logf("%d requests", n)
}

// may reports whether the permission table allows a role to use a route.
func (s *site) may(role, route string) bool {
	r := task.Role(role)
	if role == "nobody" {
		r = task.RoleNone
	}
	return r.May(s.srv.perms[route])
}
