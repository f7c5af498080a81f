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

// likeRole says which caller of the matrix each further kind of caller is
// like, at every route. What the relation to one task decides has its own
// tests.
var likeRole = []struct{ caller, like string }{
	{"a forged token", "nobody"},
	{"a revoked token", "nobody"},
	{"an expired token", "nobody"},
	{"a disabled person", "nobody"},
	{"a session that was signed out", "nobody"},
	{"the token of a run", "agent"},
	{"another agent", "agent"},
	{"an agent with its own tasks alone", "agent"},
	{"a token that acts as agents", "operator"},
	{"an admin's token that acts as agents", "admin"},
	{"a person's own token", "reviewer"},
	{"a viewer who is signed in", "viewer"},
	{"an operator who is signed in", "operator"},
	{"a reviewer who is signed in", "reviewer"},
	{"an admin who is signed in", "admin"},
}

// muteMay are the permissions of the routes that an agent without capabilities
// may use: those without sign-in, and those about itself.
var muteMay = []task.Perm{task.Everyone, task.SignedIn}

// TestEveryRouteForEveryKindOfCaller asks every route of the router as every
// kind of caller. The matrix of roles decides; this holds every other kind of
// caller to the role that it has, so that a new route is in it by itself.
func TestEveryRouteForEveryKindOfCaller(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	credentials := s.credentials()
	n := 0
	for _, route := range s.routes() {
		method, path, _ := strings.Cut(route, " ")
		for _, c := range likeRole {
			n++
			rec := s.serveWith("nobody", method, filled(path, "999999", "0"), "", func(r *http.Request) {
				r.Header.Set("Sec-Fetch-Site", "same-origin")
				r.Header.Set("HX-Request", "true")
				credentials[c.caller](r)
			})
			may, like := !refused(rec) && (rec.Code != http.StatusUnauthorized || path == "/login"), s.may(c.like, route)
			if like && c.like == "nobody" {
				may = true // bad credentials may be worse than none
			}
			if rec.Code >= 500 && rec.Code != http.StatusServiceUnavailable { // there is no scheduler here
				t.Errorf("%s for %s: %d %s", route, c.caller, rec.Code, rec.Body)
			}
			if strings.HasSuffix(c.caller, "is signed in") && strings.HasPrefix(path, "/mcp") {
				like = false // it takes tokens alone
			}
			if may != like {
				t.Errorf("%s for %s, as %s: %v, want %v (%d %.200s)", route, c.caller, c.like, may, like, rec.Code, rec.Body)
			}
		}
		n++
		rec := s.serve("mute", method, filled(path, "999999", "0"), "{}", "Sec-Fetch-Site", "same-origin", "HX-Request", "true")
		may := !refused(rec) && rec.Code != http.StatusForbidden
		if want := slices.Contains(muteMay, s.srv.perms[route]); rec.Code < 300 && !want || may && !want && !harmless(rec) {
			t.Errorf("%s (%s) for an agent without capabilities: %d %.200s", route, s.srv.perms[route], rec.Code, rec.Body)
		}
	}
	t.Logf("%d routes, %d cases", len(s.routes()), n)
	for _, c := range likeRole {
		if credentials[c.caller] == nil {
			t.Errorf("%s has no credentials", c.caller)
		}
	}
}

// harmless reports whether the request itself was rejected before the caller
// was checked: nothing is revealed and nothing is done.
func harmless(rec *httptest.ResponseRecorder) bool {
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
	s.keeper()
	all["an agent with its own tasks alone"] = bearer(s.host.Token("own"))
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
	_, all["a viewer who is signed in"] = person("vera", task.RoleViewer)
	_, all["an operator who is signed in"] = person("oleg", task.RoleOperator)
	rita, reviewer := person("rita", task.RoleReviewer)
	all["a reviewer who is signed in"] = reviewer
	_, all["an admin who is signed in"] = person("anna", task.RoleAdmin)
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
	s.Forward(25 * 60 * 60 * 1e9) // the token of one day is over
	return all
}

// addSession gives a request a new session: some routes end the one they get.
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
		s.t.Fatalf("%s does not sign in: %d %.300s", name, rec.Code, rec.Body)
	}
	for _, c := range res.Cookies() {
		r.AddCookie(c)
	}
}
