package handlers

import (
	"testing"

	"taskyard/service"
)

func TestMeDescribesTheCaller(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Mint("act-as", service.NewToken{Scope: "operate act-as"})
	for _, c := range []struct{ caller, want string }{
		{"agent", `{"name":"coder","role":"agent","scope":"agent:coder","agent":"coder"}`},
		{"viewer", `{"name":"user:viewer","role":"viewer","scope":"read"}`},
		{"reviewer", `{"name":"user:reviewer","role":"reviewer","scope":"review"}`},
		{"admin", `{"name":"user:admin","role":"admin","scope":"admin"}`},
		{"act-as", `{"name":"user:act-as","role":"operator","scope":"operate act-as"}`},
	} {
		t.Run(c.caller, func(t *testing.T) {
			if got := string(s.do(c.caller, "GET", "/api/me", "").want(200).Body); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("a caller without a token is refused", func(t *testing.T) { s.do("", "GET", "/api/me", "").want(401) })
}
