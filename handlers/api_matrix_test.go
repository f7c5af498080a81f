package handlers

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// serve makes a request without a network.
func (s *site) serve(caller, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.serveWith(caller, method, path, body, func(r *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
	})
}

func (s *site) serveWith(caller, method, path, body string, with func(*http.Request)) *httptest.ResponseRecorder {
	s.t.Helper()
	req := httptest.NewRequest(method, "http://127.0.0.1/", strings.NewReader(body))
	s.ok(setPath(req, path))
	req.RemoteAddr = "127.0.0.1:1"
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := s.host.Token(caller); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	with(req)
	rec := httptest.NewRecorder()
	s.srv.ServeHTTP(rec, req)
	return rec
}

func setPath(req *http.Request, path string) error {
	u, err := req.URL.Parse(path)
	if err == nil {
		req.URL, req.RequestURI = u, path
	}
	return err
}

// routes returns "METHOD /path" of everything that is served, sorted.
func (s *site) routes() []string {
	var list []string
	for route := range s.srv.perms {
		list = append(list, route)
	}
	slices.Sort(list)
	return list
}

// filled puts values for the parameters of a route.
func filled(path, id, index string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		switch {
		case p == ":index":
			parts[i] = index
		case strings.HasPrefix(p, ":"), p == "*":
			parts[i] = id
		}
	}
	return strings.Join(parts, "/")
}

// TestEveryRouteIsDecidedForEveryRole asks every route as every role and
// compares who gets past the one table with what was decided. A new route
// must be added there (go test ./handlers -run Decided -update) and looked at.
func TestEveryRouteIsDecidedForEveryRole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var table bytes.Buffer
	for _, route := range s.routes() {
		method, path, _ := strings.Cut(route, " ")
		may := []string{}
		for _, role := range siteRoles {
			rec := s.serve(role, method, filled(path, "999999", "0"), "", "Sec-Fetch-Site", "same-origin", "HX-Request", "true")
			if !refused(rec) {
				may = append(may, role)
			}
		}
		fmt.Fprintf(&table, "%s (%s): %s\n", route, s.srv.perms[route], strings.Join(may, " "))
	}
	want := testkit.GoldenFile(t, "permissions.txt", table.String())
	got, decided := matrixLines(table.String()), matrixLines(want)
	for _, l := range got {
		if !slices.Contains(decided, l) {
			t.Errorf("not decided: %s", l)
		}
	}
	for _, l := range decided {
		if !slices.Contains(got, l) {
			t.Errorf("decided, but not so: %s", l)
		}
	}
}

func matrixLines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

// refused reports whether the one table turned the caller away.
func refused(rec *httptest.ResponseRecorder) bool {
	switch rec.Code {
	case http.StatusUnauthorized:
		return rec.Header().Get("HX-Redirect") != "" || strings.Contains(rec.Body.String(), errSignIn.Message)
	case http.StatusForbidden:
		return strings.Contains(rec.Body.String(), "it requires the role")
	}
	return false
}

func TestEveryRouteStandsInTheOneTable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, r := range s.srv.echo.Routes() {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // needs the same
		}
		need, known := s.srv.perms[method+" "+r.Path]
		if !known || !slices.Contains(task.Perms, need) {
			t.Errorf("%s %s needs nothing that is known", r.Method, r.Path)
		}
	}
}

// TestTheGrantsAreThoseOfTheProduct states the table of the product page a
// second time, so that a slip in either is seen.
func TestTheGrantsAreThoseOfTheProduct(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		perm task.Perm
		may  string
	}{
		{task.Everyone, "nobody agent viewer operator reviewer admin worker"},
		{task.SignedIn, "agent viewer operator reviewer admin worker"},
		{task.Read, "agent viewer operator reviewer admin"},
		{task.Write, "agent operator reviewer admin"},
		{task.Claiming, "agent operator reviewer admin"},
		{task.Account, "viewer operator reviewer admin"},
		{task.Person, "operator reviewer admin"},
		{task.Decide, "reviewer admin"},
		{task.Admin, "admin"},
		{task.Execute, "worker"},
		{"unheard of", ""},
	} {
		may := []string{}
		for _, role := range siteRoles {
			r := task.Role(role)
			if role == "nobody" {
				r = task.RoleNone
			}
			if r.May(c.perm) {
				may = append(may, role)
			}
		}
		if got := strings.Join(may, " "); got != c.may {
			t.Errorf("%s: %s, want %s", c.perm, got, c.may)
		}
	}
}
