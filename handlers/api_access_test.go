package handlers

import (
	"strings"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

func TestRequestsWithoutAValidTokenAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	unauthorized := func(t *testing.T, a answer) {
		t.Helper()
		a.problem(401, task.CodeUnauthorized)
		if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("got WWW-Authenticate %q", a.Header.Get("WWW-Authenticate"))
		}
	}
	both := func(t *testing.T, caller string, headers ...string) {
		t.Helper()
		unauthorized(t, s.do(caller, "GET", "/api/tasks", "", headers...))
		unauthorized(t, s.do(caller, "POST", "/api/tasks", fine, headers...))
	}
	t.Run("no token", func(t *testing.T) { both(t, "nobody") })
	t.Run("an unknown token", func(t *testing.T) { both(t, "nobody", "Authorization", "Bearer ty_unknown") })
	t.Run("an empty token", func(t *testing.T) { both(t, "nobody", "Authorization", "Bearer ") })
	t.Run("another scheme", func(t *testing.T) { both(t, "nobody", "Authorization", "Basic dTpw") })
	t.Run("a token with invalid bytes", func(t *testing.T) { both(t, "nobody", "Authorization", "Bearer ty_\xff\xfe") })
	t.Run("an expired token", func(t *testing.T) {
		s.host.Mint("short", service.NewToken{Scope: "read", Days: 1})
		s.do("short", "GET", "/api/tasks", "").want(200)
		s.Forward(25 * time.Hour)
		both(t, "short")
	})
	t.Run("a revoked token", func(t *testing.T) {
		id := s.host.Mint("gone", service.NewToken{Scope: "read"})
		s.do("gone", "GET", "/api/tasks", "").want(200)
		s.do("admin", "DELETE", "/api/tokens/"+id.String(), "").want(204)
		both(t, "gone")
	})
}

func TestInsufficientRolesAreRefusedAndLogged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	s.do("viewer", "POST", "/api/tasks", fine).problem(403, task.CodeForbidden)
	s.do("agent", "POST", "/api/tasks/1/reply", `{"content":"c"}`).problem(403, task.CodeForbidden)
	s.do("operator", "POST", "/api/runs/1/approve", "").problem(403, task.CodeForbidden)
	s.do("reviewer", "GET", "/api/users", "").problem(403, task.CodeForbidden)
	s.do("mute", "GET", "/api/tasks", "").problem(403, task.CodeForbidden)
	events := string(s.do("admin", "GET", "/api/events", "").want(200).Body)
	if !strings.Contains(events, task.EvRefused) || !strings.Contains(events, "POST /api/tasks") {
		t.Errorf("no refusal in the log: %s", events)
	}
}

func TestAgentsActOnlyAsThemselves(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	s.do("agent", "POST", "/api/agents/pull/signup", "").problem(403, task.CodeNotYourName)
	s.do("agent", "POST", "/api/tasks/1/move", `{"currentAgent":"pull","newAgent":"coder","comment":"c"}`).problem(403, task.CodeNotYourName)
	s.do("agent", "POST", "/api/agents/pull/reassign", `{"taskIds":[1],"newAgent":"coder","comment":"c"}`).problem(403, task.CodeNotYourName)
	s.do("agent", "POST", "/api/agents/pull/complete-and-signup", `{"taskId":1}`).problem(403, task.CodeNotYourName)
	s.do("agent", "POST", "/api/tasks/1/complete", "").problem(403, task.CodeForbidden)
	t.Run("a token with act-as may name any agent", func(t *testing.T) {
		s.host.Mint("bridge", service.NewToken{Scope: "operate act-as"})
		s.do("bridge", "POST", "/api/agents/pull/signup", "").want(200)
	})
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	post := func(caller, path, body, key string) answer {
		return s.do(caller, "POST", path, body, "Idempotency-Key", key)
	}
	first := post("operator", "/api/tasks", fine, "a").want(201)
	again := post("operator", "/api/tasks", fine, "a").want(201)
	t.Run("a repeated request gets the first response", func(t *testing.T) {
		if string(first.Body) != string(again.Body) || again.Header.Get("Location") != first.Header.Get("Location") ||
			again.Header.Get("ETag") != first.Header.Get("ETag") {
			t.Errorf("got\n%s\nthen\n%s", first.Body, again.Body)
		}
		if first.Header.Get("Idempotency-Replayed") != "" || again.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("got Idempotency-Replayed %q, then %q", first.Header.Get("Idempotency-Replayed"), again.Header.Get("Idempotency-Replayed"))
		}
		if n := len(decode[struct{ Tasks []any }](s.do("viewer", "GET", "/api/tasks", "")).Tasks); n != 1 {
			t.Errorf("got %d tasks", n)
		}
	})
	t.Run("another body is refused", func(t *testing.T) {
		post("operator", "/api/tasks", `{"title":"y","owner":"pull"}`, "a").problem(422, task.CodeIdempotencyReuse)
	})
	t.Run("another path is refused", func(t *testing.T) {
		post("operator", "/api/tasks/1/comments", `{"content":"c"}`, "a").problem(422, task.CodeIdempotencyReuse)
	})
	t.Run("the same key of another caller is independent", func(t *testing.T) {
		if a := post("agent", "/api/tasks", fine, "a").want(201); string(a.Body) == string(first.Body) {
			t.Error("the response is another caller's")
		}
	})
	t.Run("a repeated signup gets the same claim", func(t *testing.T) {
		one, two := post("pull", "/api/agents/pull/signup", "", "c").want(200), post("pull", "/api/agents/pull/signup", "", "c").want(200)
		if string(one.Body) != string(two.Body) {
			t.Errorf("got\n%s\nthen\n%s", one.Body, two.Body)
		}
	})
	t.Run("a refusal is not stored", func(t *testing.T) {
		post("operator", "/api/tasks", `{"title":"x","owner":"ghost"}`, "r").problem(422, task.CodeUnknownAgent)
		post("operator", "/api/tasks", fine, "r").want(201)
	})
	t.Run("after a day the key can be used again", func(t *testing.T) {
		s.Forward(24*time.Hour + time.Second)
		if a := post("operator", "/api/tasks", fine, "a").want(201); a.Header.Get("Idempotency-Replayed") != "" {
			t.Error("the response was replayed")
		}
	})
	t.Run("an overlong key is refused", func(t *testing.T) {
		post("operator", "/api/tasks", fine, strings.Repeat("k", 201)).field(task.CodeInvalidField, "Idempotency-Key")
	})
}

func TestASessionCookieIsBoundToItsSite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie := s.maya().session()
	s.do("nobody", "GET", "/api/tasks", "", "Cookie", cookie).want(200)
	s.do("nobody", "POST", "/api/tasks", fine, "Cookie", cookie, "Sec-Fetch-Site", "same-origin").want(201)
	s.do("nobody", "POST", "/api/tasks", fine, "Cookie", cookie, "Sec-Fetch-Site", "cross-site").problem(403, task.CodeCrossSite)
	s.do("nobody", "POST", "/api/tasks", fine, "Cookie", cookie, "Origin", "https://evil.example").problem(403, task.CodeCrossSite)
	s.do("nobody", "POST", "/api/tasks", fine, "Cookie", cookie).problem(403, task.CodeCrossSite)
	s.do("nobody", "POST", "/api/tasks", fine, "Cookie", "taskyard=forged", "Sec-Fetch-Site",
		"same-origin").problem(401, task.CodeUnauthorized)
}
