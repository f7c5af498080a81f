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

// serve serves a request without a network.
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

// routes returns the "METHOD /path" of every route, sorted.
func (s *site) routes() []string {
	var list []string
	for route := range s.srv.perms {
		list = append(list, route)
	}
	slices.Sort(list)
	return list
}

// fillPath replaces the parameters of a route.
func fillPath(path, id, index string) string {
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

// TestEveryRouteIsDecidedForEveryRole requests every route as every role and compares
// who is allowed with the golden file. A new route must be added to it
// (go test ./handlers -run Decided -update) and reviewed.
func TestEveryRouteIsDecidedForEveryRole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var table bytes.Buffer
	for _, route := range s.routes() {
		method, path, _ := strings.Cut(route, " ")
		may := []string{}
		for _, role := range siteRoles {
			rec := s.serve(role, method, fillPath(path, "999999", "0"), "", "Sec-Fetch-Site", "same-origin", "HX-Request", "true")
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
			t.Errorf("not in the golden file: %s", l)
		}
	}
	for _, l := range decided {
		if !slices.Contains(got, l) {
			t.Errorf("in the golden file, but not allowed so: %s", l)
		}
	}
}

func matrixLines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

// refused reports whether the permission table refused the caller.
func refused(rec *httptest.ResponseRecorder) bool {
	switch rec.Code {
	case http.StatusUnauthorized:
		return rec.Header().Get("HX-Redirect") != "" || strings.Contains(rec.Body.String(), errSignIn.Message)
	case http.StatusForbidden:
		return strings.Contains(rec.Body.String(), "it requires the role")
	}
	return false
}

func TestEveryRouteIsInThePermissionTable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, r := range s.srv.echo.Routes() {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // needs the same permission
		}
		need, known := s.srv.perms[method+" "+r.Path]
		if !known || !slices.Contains(task.Perms, need) {
			t.Errorf("%s %s needs no known permission", r.Method, r.Path)
		}
	}
}

// TestPermissionsMatchTheDocumentedTable repeats the documented table, so that a mistake in
// either is noticed.
func TestPermissionsMatchTheDocumentedTable(t *testing.T) {
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
		{"unknown", ""},
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
			t.Errorf("%s: got %s, want %s", c.perm, got, c.may)
		}
	}
}
