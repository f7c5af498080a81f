package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// likeRole maps further kinds of callers to the role that decides for them at every
// route. Rules that depend on the relation to a task have their own tests.
var likeRole = []struct{ caller, like string }{
	{"a forged token", "nobody"},
	{"a revoked token", "nobody"},
	{"an expired token", "nobody"},
	{"a disabled person", "nobody"},
	{"a session that was signed out", "nobody"},
	{"the token of a run", "agent"},
	{"another agent", "agent"},
	{"an agent restricted to its own tasks", "agent"},
	{"a token that acts as agents", "operator"},
	{"an admin's token that acts as agents", "admin"},
	{"a person's own token", "reviewer"},
	{"a signed-in viewer", "viewer"},
	{"a signed-in operator", "operator"},
	{"a signed-in reviewer", "reviewer"},
	{"a signed-in admin", "admin"},
}

// muteMay lists the permissions of routes that an agent without capabilities may use:
// those without sign-in, and those about itself.
var muteMay = []task.Perm{task.Everyone, task.SignedIn}

// TestEveryRouteForEveryKindOfCaller requests every route as every kind of caller. The
// matrix of roles decides; every other kind of caller must be treated like its role,
// so that new routes are covered automatically.
func TestEveryRouteForEveryKindOfCaller(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	credentials := s.credentials()
	n := 0
	for _, route := range s.routes() {
		method, path, _ := strings.Cut(route, " ")
		for _, c := range likeRole {
			n++
			rec := s.serveWith("nobody", method, fillPath(path, "999999", "0"), "", func(r *http.Request) {
				r.Header.Set("Sec-Fetch-Site", "same-origin")
				r.Header.Set("HX-Request", "true")
				credentials[c.caller](r)
			})
			may, like := !refused(rec) && (rec.Code != http.StatusUnauthorized || path == "/login"), s.may(c.like, route)
			if like && c.like == "nobody" {
				may = true // invalid credentials may be refused where none are needed
			}
			if rec.Code >= 500 && rec.Code != http.StatusServiceUnavailable { // these sites have no scheduler
				t.Errorf("%s for %s: got %d %s", route, c.caller, rec.Code, rec.Body)
			}
			if strings.Contains(c.caller, "signed-in") && strings.HasPrefix(path, "/mcp") {
				like = false // it accepts only tokens
			}
			if may != like {
				t.Errorf("%s for %s, like %s: got allowed %v, want %v (%d %.200s)", route, c.caller, c.like, may, like, rec.Code, rec.Body)
			}
		}
		n++
		rec := s.serve("mute", method, fillPath(path, "999999", "0"), "{}", "Sec-Fetch-Site", "same-origin", "HX-Request", "true")
		may := !refused(rec) && rec.Code != http.StatusForbidden
		if want := slices.Contains(muteMay, s.srv.perms[route]); rec.Code < 300 && !want || may && !want && !rejectedEarly(rec) {
			t.Errorf("%s (%s) for an agent without capabilities: got %d %.200s", route, s.srv.perms[route], rec.Code, rec.Body)
		}
	}
	t.Logf("%d routes, %d cases", len(s.routes()), n)
	for _, c := range likeRole {
		if credentials[c.caller] == nil {
			t.Errorf("%s has no credentials", c.caller)
		}
	}
}

// rejectedEarly reports whether the request was rejected before the caller was checked,
// so that nothing was revealed or done.
func rejectedEarly(rec *httptest.ResponseRecorder) bool {
	return rec.Code >= 400 && rec.Code < 500
}

// credentials returns functions that authenticate a request as each kind of
// caller.
func (s *site) credentials() map[string]func(*http.Request) {
	t, ctx := s.t, context.Background()
	t.Helper()
	ok := func(err error) {
		t.Helper()
		s.ok(err)
	}
	bearer := func(secret string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }
	}
	token := func(name string, n service.NewToken) func(*http.Request) {
		s.host.Mint(name, n)
		return bearer(s.host.Token(name))
	}
	all := map[string]func(*http.Request){
		"a forged token":                       bearer("ty_" + strings.Repeat("a", 40)),
		"another agent":                        token("another", service.NewToken{Agent: "reviewer"}),
		"a token that acts as agents":          token("actor", service.NewToken{Scope: "operate act-as"}),
		"an admin's token that acts as agents": token("chief", service.NewToken{Scope: "admin act-as"}),
	}
	s.defineOwnAgent()
	all["an agent restricted to its own tasks"] = bearer(s.host.Token("own"))
	gone := s.host.Mint("gone", service.NewToken{Scope: "admin"})
	all["a revoked token"] = bearer(s.host.Token("gone"))
	ok(s.svc.RevokeToken(ctx, task.SystemActor, gone))
	all["an expired token"] = token("old", service.NewToken{Scope: "admin", Days: 1})

	all["the token of a run"] = bearer(s.runNew().Token)

	person := func(name string, role task.Role) (task.User, func(*http.Request)) {
		u, err := s.svc.AddUser(ctx, task.SystemActor, name, pagePassword, role)
		ok(err)
		return u, func(r *http.Request) { s.addSession(name, r) }
	}
	_, all["a signed-in viewer"] = person("vera", task.RoleViewer)
	_, all["a signed-in operator"] = person("oleg", task.RoleOperator)
	rita, reviewer := person("rita", task.RoleReviewer)
	all["a signed-in reviewer"] = reviewer
	_, all["a signed-in admin"] = person("anna", task.RoleAdmin)
	made, err := s.svc.CreateToken(ctx, task.Actor{Name: "user:rita", Role: task.RoleAdmin, UserID: rita.ID},
		service.NewToken{Name: "rita's own", Scope: "review", Own: true})
	ok(err)
	all["a person's own token"] = bearer(made.Secret)

	dora, signIn := person("dora", task.RoleAdmin)
	asDora := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", http.NoBody)
	signIn(asDora)
	off := true
	_, err = s.svc.UpdateUser(ctx, task.SystemActor, dora.ID, service.UserChange{Disabled: &off})
	ok(err)
	all["a disabled person"] = func(r *http.Request) { r.Header["Cookie"] = asDora.Header["Cookie"] }
	person("otto", task.RoleAdmin)
	asOtto := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", http.NoBody)
	s.addSession("otto", asOtto)
	s.serveWith("nobody", "POST", "/logout", "", func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header["Cookie"] = asOtto.Header["Cookie"]
	})
	all["a session that was signed out"] = func(r *http.Request) { r.Header["Cookie"] = asOtto.Header["Cookie"] }
	s.Forward(25 * 60 * 60 * 1e9) // the one-day token has expired
	return all
}

// addSession gives a request a new session, because some routes end it.
func (s *site) addSession(name string, r *http.Request) {
	s.t.Helper()
	rec := s.serveWith("nobody", "POST", "/login", fmt.Sprintf("name=%s&password=%s", name,
		strings.ReplaceAll(pagePassword, " ", "+")), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	})
	res := rec.Result()
	defer res.Body.Close()
	if len(res.Cookies()) == 0 {
		s.t.Fatalf("%s could not sign in: %d %.300s", name, rec.Code, rec.Body)
	}
	for _, c := range res.Cookies() {
		r.AddCookie(c)
	}
}
