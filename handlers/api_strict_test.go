package handlers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/task"
)

const fine = `{"title":"x","owner":"pull"}`

func TestInvalidJSONIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, body := range map[string]string{
		"a duplicate name":          `{"title":"x","title":"y","owner":"pull"}`,
		"names that differ in case": `{"title":"x","Title":"y","owner":"pull"}`,
		"nested names by case":      `{"title":"x","owner":"pull","steps":[{"title":"a","TITLE":"b"}]}`,
		"an escaped NUL":            `{"title":"a\u0000b","owner":"pull"}`,
		"a raw NUL":                 "{\"title\":\"a\x00b\",\"owner\":\"pull\"}",
		"invalid UTF-8":             "{\"title\":\"a\xffb\",\"owner\":\"pull\"}",
		"half a surrogate":          `{"title":"a\ud800b","owner":"pull"}`,
		"a value after the object":  fine + `{}`,
		"a comma after the object":  fine + `,`,
		"33 levels":                 `{"title":"x","owner":"pull","steps":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`,
		"100,000 levels":            strings.Repeat("[", 100_000),
		"a list":                    `[` + fine + `]`,
		"a string":                  `"x"`,
		"null":                      `null`,
		"a number":                  `7`,
		"an open object":            `{"title":"x"`,
		"only spaces":               `   `,
		"a comment":                 `{"title":"x",/* */"owner":"pull"}`,
		"a name without quotes":     `{title:"x"}`,
		"a byte order mark":         "\ufeff" + fine,
		"NaN":                       `{"title":"x","owner":"pull","priority":NaN}`,
		"a trailing comma":          `{"title":"x","owner":"pull",}`,
	} {
		t.Run(name, func(t *testing.T) {
			s.do("operator", "POST", "/api/tasks", body).problem(http.StatusBadRequest, task.CodeInvalidJSON)
		})
	}
	t.Run("a missing body", func(t *testing.T) {
		s.do("operator", "POST", "/api/tasks", "").problem(http.StatusBadRequest, task.CodeInvalidJSON)
	})
	t.Run("32 levels are not a syntax error", func(t *testing.T) {
		body := `{"title":"x","owner":"pull","steps":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`
		s.do("operator", "POST", "/api/tasks", body).problem(422, task.CodeInvalidField)
	})
	t.Run("an escaped backslash before u0000 is not a NUL", func(t *testing.T) {
		s.do("operator", "POST", "/api/tasks", `{"title":"a\\u0000b","owner":"pull"}`).want(201)
	})
	t.Run("braces in text are not levels", func(t *testing.T) {
		s.do("operator", "POST", "/api/tasks", `{"title":"`+strings.Repeat("{", 60)+`","owner":"pull"}`).want(201)
	})
	if n := len(decode[struct{ Tasks []any }](s.do("viewer", "GET", "/api/tasks", "")).Tasks); n != 2 {
		t.Errorf("got %d tasks", n)
	}
}

func TestErrorsNameInvalidFields(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	for _, c := range []struct {
		name, method, path, body, field string
		code                            task.Code
	}{
		{"an unknown field", "POST", "/api/tasks", `{"title":"x","owner":"pull","color":"red"}`, "color", task.CodeInvalidField},
		{
			"an unknown nested field", "POST", "/api/tasks", `{"title":"x","owner":"pull","steps":[{"title":"a","why":1}]}`,
			"steps[0].why", task.CodeInvalidField,
		},
		{"a field in another case", "POST", "/api/tasks", `{"Title":"x","owner":"pull"}`, "Title", task.CodeInvalidField},
		{"a missing title", "POST", "/api/tasks", `{"owner":"pull"}`, "title", task.CodeInvalidField},
		{"a step without a title", "POST", "/api/tasks", `{"title":"x","owner":"pull","steps":[{}]}`, "steps[0].title", task.CodeInvalidField},
		{"a word for a number", "POST", "/api/tasks", `{"title":"x","owner":"pull","priority":"high"}`, "priority", task.CodeInvalidField},
		{"a fraction", "POST", "/api/tasks", `{"title":"x","owner":"pull","priority":1.5}`, "priority", task.CodeInvalidField},
		{"a huge number", "POST", "/api/tasks", `{"title":"x","owner":"pull","priority":1e300}`, "priority", task.CodeInvalidField},
		{
			"a number over 64 bits", "POST", "/api/tasks", `{"title":"x","owner":"pull","priority":99999999999999999999}`,
			"priority", task.CodeInvalidField,
		},
		{"a status", "POST", "/api/tasks", `{"title":"x","owner":"pull","status":"done"}`, "status", task.CodeInvalidField},
		{"null for a required field", "POST", "/api/tasks", `{"title":null,"owner":"pull"}`, "title", task.CodeInvalidField},
		{"null for a list", "PUT", "/api/tasks/1/steps", `{"steps":null}`, "steps", task.CodeInvalidField},
		{"an unknown owner", "POST", "/api/tasks", `{"title":"x","owner":"ghost"}`, "owner", task.CodeUnknownAgent},
		{"an invalid owner", "POST", "/api/tasks", `{"title":"x","owner":"bad"}`, "owner", task.CodeInvalidAgent},
		{"createdBy on create", "POST", "/api/tasks", `{"title":"x","owner":"pull","createdBy":"me"}`, "createdBy", task.CodeImmutableField},
		{"createdBy", "PATCH", "/api/tasks/1", `{"createdBy":"me"}`, "createdBy", task.CodeImmutableField},
		{"createdAt", "PATCH", "/api/tasks/1", `{"createdAt":"2026-01-01T00:00:00Z"}`, "createdAt", task.CodeImmutableField},
		{"id", "PATCH", "/api/tasks/1", `{"id":"2","title":"y"}`, "id", task.CodeImmutableField},
		{"threadId", "PATCH", "/api/tasks/1", `{"threadId":"2"}`, "threadId", task.CodeImmutableField},
		{
			"an invalid ID in a list", "POST", "/api/agents/pull/reassign", `{"taskIds":["5a"],"newAgent":"coder","comment":"c"}`,
			"taskIds[0]", task.CodeInvalidField,
		},
		{
			"an ID over 64 bits", "POST", "/api/agents/pull/reassign",
			`{"taskIds":["99999999999999999999"],"newAgent":"coder","comment":"c"}`, "taskIds.0", task.CodeInvalidField,
		},
		{"a negative ID", "POST", "/api/agents/pull/complete-and-signup", `{"taskId":-1}`, "taskId", task.CodeInvalidField},
		{"a fractional ID", "POST", "/api/agents/pull/complete-and-signup", `{"taskId":7.5}`, "taskId", task.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.do("operator", c.method, c.path, c.body).field(c.code, c.field)
		})
	}
	t.Run("all errors at once", func(t *testing.T) {
		p := s.do("operator", "POST", "/api/tasks", `{"priority":"high","steps":3,"color":1}`).problem(422, task.CodeInvalidField)
		if len(p.Errors) != 5 {
			t.Errorf("got %+v", p.Errors)
		}
	})
	t.Run("IDs are accepted as numbers and as strings", func(t *testing.T) {
		for _, id := range []string{`"1"`, `1`} {
			s.do("operator", "POST", "/api/agents/pull/reassign", `{"taskIds":[`+id+`],"newAgent":"pull","comment":"c"}`).want(200)
		}
	})
}

func TestErrorsNameInvalidIDsInThePath(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, id := range []string{"7a", "0", "-1", "7.5", "007", "+7", "%20", "99999999999999999999", "%ff", "7%00"} {
		for _, path := range []string{"/api/tasks/", "/api/runs/"} {
			s.do("viewer", "GET", path+id, "").field(task.CodeInvalidField, "id")
		}
		s.do("operator", "POST", "/api/tasks/"+id+"/complete", "").field(task.CodeInvalidField, "id")
	}
	s.do("viewer", "GET", "/api/tasks/77", "").problem(404, task.CodeTaskNotFound)
	s.do("viewer", "GET", "/api/runs/77", "").problem(404, task.CodeRunNotFound)
	s.do("viewer", "GET", "/api/agents/ghost", "").problem(404, task.CodeAgentNotFound)
	s.do("viewer", "GET", "/api/agents/ghost/queue", "").problem(404, task.CodeAgentNotFound)
	for path, body := range map[string]string{
		"signup": "{}", "complete-and-signup": `{"taskId":"1"}`, "todo": `{"operation":"count"}`,
		"reassign": `{"taskIds":["1"],"newAgent":"coder","comment":"x"}`,
	} {
		s.do("operator", "POST", "/api/agents/ghost/"+path, body).problem(404, task.CodeAgentNotFound)
	}
	s.do("admin", "DELETE", "/api/tokens/77", "").problem(404, task.CodeNotFound)
}

func TestNoErrorIsLoggedForADisconnectedCaller(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, path := range []string{"/nothing", "/tasks/77", "/tasks", "/api/tasks/77", "/api/tasks"} {
		s.serveWith("viewer", "GET", path, "", func(r *http.Request) { *r = *r.WithContext(gone) })
	}
	if log := s.log.String(); strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}

func TestAPatchThatChangesNothingIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("coder", "")
	for _, body := range []string{"{}", `{"version":1}`, `{"title":null}`} {
		p := s.do("operator", "PATCH", "/api/tasks/1", body).problem(422, task.CodeInvalidField)
		if !strings.Contains(p.Detail, "title, description") {
			t.Errorf("%s: %s", body, p.Detail)
		}
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	large := `{"title":"` + strings.Repeat("x", 10<<20) + `"}`
	for _, key := range []string{"", "k"} {
		s.do("operator", "POST", "/api/tasks", large, "Idempotency-Key", key).problem(413, task.CodeBodyTooLarge)
		req := s.request("operator", "POST", "/api/tasks", "", "Content-Type", "application/json", "Idempotency-Key", key)
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(large)), -1
		s.send(req).problem(413, task.CodeBodyTooLarge)
	}
	just := `{"title":"x","owner":"pull","description":"` + strings.Repeat("x", 1<<20) + `"}`
	s.do("operator", "POST", "/api/tasks", just[:1<<20]).problem(400, task.CodeInvalidJSON) // cut off, but within the limit
}

func TestOtherContentTypesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, ct := range []string{
		"text/plain", "application/x-www-form-urlencoded",
		"multipart/form-data; boundary=x", "application/xml", "json", "x",
	} {
		s.do("operator", "POST", "/api/tasks", fine, "Content-Type", ct).problem(415, task.CodeUnsupportedMedia)
	}
	req := s.request("operator", "POST", "/api/tasks", fine)
	req.Header.Del("Content-Type")
	s.send(req).problem(415, task.CodeUnsupportedMedia)
	for _, ct := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"} {
		s.do("operator", "POST", "/api/tasks", fine, "Content-Type", ct).want(201)
	}
}

// An agent that guesses field names gets the known ones.
func TestErrorsForUnknownFieldsListTheKnownOnes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/tasks/1/complete", `{"note":"x"}`, `"detail":"note: is not a known field; known are claim, summary"`},
		{"PUT", "/api/tasks/1/steps", `{"steps":[{"title":"a"},{"why":1}]}`, `steps[1].why: is not a known field; known are `},
		{"POST", "/api/tasks", `{"title":"x","owner":"pull","steps":[{"title":"a","why":1}]}`, `steps[0].why: is not a known field; known are `},
		{"POST", "/api/tasks", `{"title":"x","owner":"pull","steps.0.why":[1]}`, `steps.0.why: is not a known field"`},
		{"PATCH", "/api/tasks/1", `{"name":"x"}`, `title`},
	} {
		a := s.do("operator", c.method, c.path, c.body)
		a.problem(422, task.CodeInvalidField)
		if !strings.Contains(string(a.Body), c.want) {
			t.Errorf("%s %s: got %s, want %q", c.method, c.path, string(a.Body), c.want)
		}
	}
	a := s.do("operator", "POST", "/api/tasks/1/complete", `{"one":1,"two":2}`)
	if strings.Count(string(a.Body), "known are") != 2 { // in the detail and at the first field
		t.Errorf("two unknown fields: got %s", string(a.Body))
	}
}

func TestErrorDetailsNameTheFieldAndTheFix(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/tasks?after=x", "", 422, "after: is not a cursor of this list; use the value of next"},
		{"GET", "/api/tasks/history?before=x", "", 422, "before: is not a cursor of this list; use the value of next"},
		{"GET", "/api/tasks?label=A+b", "", 422, "label: must be 1 to 32 characters of a-z, 0-9 and -"},
		{"GET", "/api/tasks?limit=x", "", 422, "limit: must be a whole number"},
		{"GET", "/api/tasks/history?from=x", "", 422, "from: \"x\" is not a time: give RFC 3339 such as 2026-01-31T12:00:00Z"},
		{"PATCH", "/api/tasks/1/steps/x", `{"title":"a"}`, 422, "index: must be a whole number"},
		{"PATCH", "/api/tasks/1", `{"priority":1e30}`, 422, "priority: must be a whole number within its limits"},
		{"PATCH", "/api/tasks/1", `{"title":"a","version":1e30}`, 422, "version: must be a whole number within its limits"},
		{"POST", "/api/tasks", "", 400, "The body is missing: send a JSON object"},
		{"GET", "/api/nothing", "", 404, "No endpoint has this path; /api/docs lists all of them"},
	} {
		p := decode[Problem](s.do("operator", c.method, c.path, c.body).want(c.status))
		if p.Detail != c.want {
			t.Errorf("%s %s: got %q, want %q", c.method, c.path, p.Detail, c.want)
		}
	}
	p := s.do("operator", "POST", "/api/tasks", fine, "Idempotency-Key", strings.Repeat("k", 300)).problem(422, task.CodeInvalidField)
	if p.Detail != "Idempotency-Key: must be at most 200 bytes" {
		t.Errorf("long key: got %q", p.Detail)
	}
	p = s.do("operator", "PATCH", "/api/tasks/1", `{"title":"a"}`, "If-Match", "x").problem(422, task.CodeInvalidField)
	if p.Detail != "If-Match: must be an ETag that this task had" {
		t.Errorf("invalid tag: got %q", p.Detail)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, caller := range []string{"nobody", "viewer"} {
		for _, path := range []string{"/api", "/api/", "/api/nothing", "/api/tasks/1/nothing", "/api/tasks/", "/api/%ff", "/api/../api/x"} {
			s.do(caller, "GET", path, "").problem(404, task.CodeNotFound)
			s.do(caller, "POST", path, "{}").problem(404, task.CodeNotFound)
		}
	}
	a := s.do("viewer", "DELETE", "/api/tasks", "")
	a.problem(405, task.CodeMethodNotAllowed)
	allow := a.Header.Get("Allow")
	if !strings.Contains(allow, "GET") || !strings.Contains(allow, "POST") {
		t.Errorf("got Allow %q", allow)
	}
	if !strings.Contains(string(a.Body), "not with this method; it has "+allow) {
		t.Errorf("got %s", string(a.Body))
	}
	s.do("viewer", "BREW", "/api/tasks/1", "").problem(405, task.CodeMethodNotAllowed)
}

func TestForeignHostNamesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "[::1", "[localhost"} {
		s.do("viewer", "GET", "/api/tasks", "", "Host", host).problem(421, task.CodeMisdirected)
	}
	for _, host := range []string{"localhost", "127.0.0.1:1", "[::1]:8080", "[::1]", "LOCALHOST"} {
		s.do("viewer", "GET", "/api/tasks", "", "Host", host).want(200)
	}
}

func TestAnEchoedByteStringDoesNotBreakTheResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.do("viewer", "GET", "/api/agents/%FF%FE%00x", "")
	a.problem(404, task.CodeAgentNotFound)
	if !bytes.Contains(a.Body, []byte("\ufffd")) {
		t.Errorf("got %s", a.Body)
	}
}

func TestATemporaryRefusalSaysWhenToRetry(t *testing.T) {
	t.Parallel()
	e := task.Errorf(task.TooMany, task.CodeQueueFull, "full")
	e.Retry = 7
	var h huma.HeadersError
	if err := withHeaders(problemFromTaskError(e)); !errors.As(err, &h) || h.GetHeaders().Get("Retry-After") != "7" {
		t.Errorf("got %v", err)
	}
}

func TestAnIndexedHistoryDoesNotMentionTheIndex(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if b := string(s.do("viewer", "GET", "/api/tasks/history", "").want(200).Body); strings.Contains(b, "indexing") {
		t.Error(b)
	}
	p := s.do("viewer", "GET", "/api/projects/No%00", "").field(task.CodeInvalidField, "key")
	if p.Detail != "key: must match ^[a-z0-9-]{1,32}$" {
		t.Error(p.Detail)
	}
}
