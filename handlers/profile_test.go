package handlers

import "testing"

func TestProfilesAreForAdmins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"heap", "goroutine", "profile?seconds=1"} {
		a := s.do("admin", "GET", "/debug/pprof/"+name, "", "Accept-Encoding", "identity").want(200)
		if b := a.Body; len(b) < 2 || b[0] != 0x1f || b[1] != 0x8b { // a profile is a gzip file
			t.Errorf("%s: got %.80q", name, b)
		}
		s.do("viewer", "GET", "/debug/pprof/"+name, "").want(403)
		s.do("agent", "GET", "/debug/pprof/"+name, "").want(403)
	}
	s.do("nobody", "GET", "/debug/pprof/heap", "").want(303)
	s.do("admin", "GET", "/debug/pprof/cmdline", "").want(404)
	for _, bad := range []string{"0", "-1", "61", "x", "1e9"} {
		s.do("admin", "GET", "/debug/pprof/profile?seconds="+bad, "").want(422)
	}
	s.srv.profiling.Lock()
	if a := s.do("admin", "GET", "/debug/pprof/profile", "").want(429); a.Header.Get("Retry-After") != "60" {
		t.Errorf("got Retry-After %q", a.Header.Get("Retry-After"))
	}
	s.srv.profiling.Unlock()
}
