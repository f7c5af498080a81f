package handlers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

const siteURL = "https://tasks.example"

func TestSecurityHeadersOfEveryResponse(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Strict-Transport-Security": "",
	}
	check := func(t *testing.T, s *site) {
		t.Helper()
		for _, path := range []string{"/login", "/healthz", "/static/app.css", "/api/tasks", "/nowhere", "/mcp"} {
			a := s.do("nobody", "GET", path, "", "Host", "tasks.example")
			for name, value := range want {
				if got := a.Header.Get(name); got != value {
					t.Errorf("%s: %s: got %q, want %q", path, name, got, value)
				}
			}
		}
		for path, page := range map[string]bool{"/login": true, "/nowhere": true, "/api/docs": true, "/api/tasks": false, "/mcp": false} {
			a := s.do("nobody", "GET", path, "", "Host", "tasks.example")
			p, opener := a.Header.Get("Permissions-Policy"), a.Header.Get("Cross-Origin-Opener-Policy")
			if strings.Contains(p, "camera=()") != page || strings.Contains(p, "microphone=()") != page || (opener == "same-origin") != page {
				t.Errorf("%s, page %t: got Permissions-Policy %q, Cross-Origin-Opener-Policy %q", path, page, p, opener)
			}
		}
	}
	t.Run("http", func(t *testing.T) {
		check(t, newSite(t, func(o setup) { o.AllowedHosts = []string{"tasks.example"} }))
	})
	t.Run("https", func(t *testing.T) {
		want["Strict-Transport-Security"] = "max-age=31536000"
		check(t, newSite(t, func(o setup) { o.PublicURL = siteURL }))
	})
}

// Cookies whose names begin with __Host- can only be set by this host over HTTPS.
func TestCookiesAreBoundToTheHostOverHTTPS(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o setup) { o.PublicURL = siteURL })
	s.do("admin", "POST", "/api/users", `{"name":"vera","password":"`+pagePassword+`","role":"viewer"}`, "Host", "tasks.example").want(201)
	res := s.do("nobody", "GET", "/login", "", "Host", "tasks.example").want(200)
	cookies := res.Header.Values("Set-Cookie")
	res = s.do("nobody", "POST", "/login", "name=vera&password="+strings.ReplaceAll(pagePassword, " ", "+"), "Host",
		"tasks.example", "Origin", siteURL, "Content-Type", "application/x-www-form-urlencoded").want(303)
	cookies = append(cookies, res.Header.Values("Set-Cookie")...)
	names := map[string]bool{}
	for _, line := range cookies {
		k, err := http.ParseSetCookie(line)
		s.ok(err)
		names[k.Name] = true
		if !strings.HasPrefix(k.Name, "__Host-") || !k.Secure || !k.HttpOnly || k.Path != "/" || k.Domain != "" {
			t.Errorf("got cookie %s", line)
		}
	}
	if !names["__Host-taskyard"] || !names["__Host-taskyard_form"] {
		t.Errorf("got cookies %v", names)
	}
}

// Browsers accept __Host- only for the path /.
func TestCookiesBelowAPathAreSentNowhereElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o setup) { o.PublicURL = siteURL + "/team" })
	res := s.do("nobody", "GET", "/team/login", "", "Host", "tasks.example").want(200)
	cookies := res.Header.Values("Set-Cookie")
	if len(cookies) == 0 {
		t.Fatal("no cookie was set")
	}
	for _, line := range cookies {
		k, err := http.ParseSetCookie(line)
		s.ok(err)
		if !strings.HasPrefix(k.Name, "__Secure-") || !k.Secure || !k.HttpOnly || k.Path != "/team" || k.Domain != "" {
			t.Errorf("got cookie %s", line)
		}
	}
	if to := s.do("nobody", "GET", "/team/queues", "", "Host", "tasks.example").Header.Get("Location"); !strings.HasPrefix(to, "/team/login") {
		t.Errorf("page: got redirect to %q", to)
	}
	if to := s.do("nobody", "GET", "/", "", "Host", "tasks.example").Header.Get("Location"); to != "/team/" {
		t.Errorf("root: got redirect to %q", to)
	}
}

func TestAddressesInPagesGetThePrefix(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`<a href="/x">`:                            `<a href="/p/x">`,
		`<a class="b" href="/" title="/x">`:        `<a class="b" href="/p/" title="/x">`,
		`<a href="//host/x"><a href="https://h/">`: `<a href="//host/x"><a href="https://h/">`,
		`<input value="/tasks/1" formaction="/t">`: `<input value="/tasks/1" formaction="/p/t">`,
		`<p>href=&#34;/x&#34; and href=/x</p>`:     `<p>href=&#34;/x&#34; and href=/x</p>`,
		`<html lang="en"><img src="/s">`:           `<html data-prefix="/p" lang="en"><img src="/p/s">`,
		`="/`:                                      `="/`,
	} {
		if got := string(addPrefix([]byte(in), "/p")); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestSignInWarnsOfAnUnencryptedConnection(t *testing.T) {
	t.Parallel()
	const warning = "This connection is not encrypted"
	for _, c := range []struct {
		host, public string
		warned       bool
	}{
		{"localhost:8080", "", false},
		{"127.0.0.1:8080", "", false},
		{"[::1]:8080", "", false},
		{"tasks.example", siteURL, false},
		{"tasks.example", "", true},
		{"192.0.2.1:8080", "http://192.0.2.1:8080", true},
	} {
		s := newSite(t, func(o setup) { o.PublicURL, o.AllowedHosts = c.public, []string{"tasks.example"} })
		a := s.do("nobody", "GET", "/login", "", "Host", c.host).want(200)
		if got := strings.Contains(string(a.Body), warning); got != c.warned {
			t.Errorf("%s, public_url %q: got warned %v", c.host, c.public, got)
		}
	}
}

func TestMetricsAreClosedBehindProxies(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host",
		"Forwarded", "Via", "X-Real-IP", "CF-Connecting-IP",
	} {
		s := newSite(t)
		s.do("nobody", "GET", "/metrics", "").want(200)
		s.do("nobody", "GET", "/metrics", "", header, "192.0.2.7").want(401)
		s.do("viewer", "GET", "/metrics", "", header, "192.0.2.7").want(200)
	}
	t.Run("that use HTTP/1.0, as nginx does", func(t *testing.T) {
		s := newSite(t)
		old := func(r *http.Request) { r.RemoteAddr, r.Proto, r.ProtoMinor = "127.0.0.1:9", "HTTP/1.0", 0 }
		if got := s.serveWith("nobody", "GET", "/metrics", "", old).Code; got != 401 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("that are configured", func(t *testing.T) {
		newSite(t, func(o setup) { o.PublicURL = siteURL }).do("nobody", "GET", "/metrics", "").want(401)
		newSite(t, func(o setup) { o.TrustedProxies = []string{"10.0.0.1/32"} }).do("nobody", "GET", "/metrics", "").want(401)
	})
}

func TestAProxyIsAnAddressOrARange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ proxy, from, want string }{
		{"10.0.0.1", "10.0.0.1:9", "192.0.2.7"},
		{"10.0.0.1", "10.0.0.2:9", "10.0.0.2"},
		{"10.0.0.0/8", "10.9.9.9:9", "192.0.2.7"},
		{"fd00::1", "[fd00::1]:9", "192.0.2.7"},
		{"fd00::/8", "[fd00::2]:9", "192.0.2.7"},
	} {
		extract, err := ipExtractor([]string{c.proxy})
		testkit.NoError(t, err)
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.from
		r.Header.Set("X-Forwarded-For", "192.0.2.7")
		if got := extract(r); got != c.want {
			t.Errorf("trusting %s, request from %s: got %s, want %s", c.proxy, c.from, got, c.want)
		}
		if conns, err := newConns([]string{c.proxy}); err != nil || len(conns.trusted) != 3 {
			t.Errorf("%s: %v", c.proxy, err)
		}
	}
	if _, err := ipExtractor([]string{"proxy"}); err == nil || !strings.Contains(err.Error(), `trusted_proxies: "proxy" is neither`) {
		t.Errorf("got error %v", err)
	}
}
