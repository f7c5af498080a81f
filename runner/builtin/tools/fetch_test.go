//go:build linux

package tools

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// serve starts a server that fetch may access.
func serve(t *testing.T, h http.HandlerFunc) (*Box, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return newBox(t, allowing(t, s)), s.URL
}

func allowing(t *testing.T, servers ...*httptest.Server) func(*Options) {
	t.Helper()
	return func(o *Options) {
		for _, s := range servers {
			o.FetchAllow = append(o.FetchAllow, netip.MustParseAddrPort(s.Listener.Addr().String()))
		}
	}
}

func TestFetchTurnsPagesIntoText(t *testing.T) {
	t.Parallel()
	b, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<html><head><title>T</title><script>evil()</script></head><body><h1>Head</h1><p>A <a href="/x">link</a> and <b>bold</b>.</p><ul><li>one</li></ul></body></html>`)
		case "/latin":
			w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
			_, _ = w.Write([]byte("gr\xfc\xdfe"))
		case "/json":
			w.Header().Set("Content-Type", "application/vnd.x+json")
			fmt.Fprint(w, `{"a": 1}`)
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "\x89PNG\x00")
		case "/liar":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "a\x00b")
		case "/deep":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, strings.Repeat("<div><ul><li><b>", 50_000)+"x")
		case "/headers":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, r.Method, r.Header["Cookie"], r.Header["Authorization"], r.UserAgent())
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "no such page")
		}
	})
	get := func(path string) string { return ok(t, b, "fetch", args{"url": url + path}) }
	t.Run("HTML becomes Markdown, without scripts", func(t *testing.T) {
		if got, want := get("/page"), url+"/page\n200 OK\n\n# Head\n\nA [link](/x) and **bold**.\n\n- one\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("encodings are converted", func(t *testing.T) { has(t, get("/latin"), "grüße") })
	t.Run("JSON is returned as text", func(t *testing.T) { has(t, get("/json"), `{"a": 1}`) })
	t.Run("it is a GET that reveals nothing", func(t *testing.T) { has(t, get("/headers"), "GET[] []Taskyard") })
	t.Run("images are refused", func(t *testing.T) {
		refused(t, b, "fetch", args{"url": url + "/png"}, "the page is image/png (5 bytes), not text")
	})
	t.Run("binary data declared as text is refused", func(t *testing.T) {
		refused(t, b, "fetch", args{"url": url + "/liar"}, "not text")
	})
	t.Run("an endlessly nested page does no harm", func(t *testing.T) {
		if r := call(t, b, "fetch", args{"url": url + "/deep"}); !strings.Contains(r.Text, "x") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a missing page is an error with its text", func(t *testing.T) {
		refused(t, b, "fetch", args{"url": url + "/missing"}, "404 Not Found\n\nno such page")
	})
}

func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcde\n", 20_000) // 320,000 bytes
	b, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/bomb":
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			for range 8 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			_ = z.Close()
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		case "/endless":
			for line := []byte(strings.Repeat("x", 1023) + "\n"); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		case "/hop":
			n := len(r.URL.Query().Get("n"))
			if n == 0 {
				fmt.Fprint(w, "arrived")
				return
			}
			http.Redirect(w, r, "/hop?n="+strings.Repeat("x", n-1), http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		default:
			fmt.Fprint(w, big)
		}
	})
	t.Run("100 KB are shown, the rest is available by offset", func(t *testing.T) {
		has(t, ok(t, b, "fetch", args{"url": url}), "[bytes 1 to 102,400 of 320,000; continue with offset=102401]")
		rest := ok(t, b, "fetch", args{"url": url, "offset": 307201})
		if !strings.HasSuffix(rest, big[307200:]+"\n") || strings.Contains(rest, "continue with") {
			t.Errorf("got the rest %q", cutMiddle(rest, 200))
		}
		refused(t, b, "fetch", args{"url": url, "offset": 320001}, "offset: the text has 320,000 bytes")
	})
	t.Run("an endless page is cut, and that is reported", func(t *testing.T) {
		has(t, ok(t, b, "fetch", args{"url": url + "/endless"}), "[the page is larger than 1,048,576 bytes")
	})
	t.Run("a bomb is cut too", func(t *testing.T) { refused(t, b, "fetch", args{"url": url + "/bomb"}, "(1,048,576 bytes), not text") })
	t.Run("five redirects are followed, six are not", func(t *testing.T) {
		has(t, ok(t, b, "fetch", args{"url": url + "/hop?n=xxxxx"}), "arrived")
		refused(t, b, "fetch", args{"url": url + "/hop?n=xxxxxx"}, "more than 5 redirects")
	})
	t.Run("a redirect to a file is refused", func(t *testing.T) {
		refused(t, b, "fetch", args{"url": url + "/file"}, `only http and https are allowed, not "file"`)
	})
	t.Run("a stopped run is not waited for", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }))
		defer slow.Close()
		b := newBox(t, allowing(t, slow))
		if r := b.Call(ctx, "fetch", []byte(`{"url":"`+slow.URL+`"}`)); !strings.Contains(r.Text, "stopped") {
			t.Errorf("%+v", r)
		}
	})
}

func TestFetchReachesOnlyPublicAddresses(t *testing.T) {
	var reached atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reached.Add(1); fmt.Fprint(w, "inner") }))
	defer inner.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	b := newBox(t)
	const notPublic = "leads to an address that is not public"
	for _, tt := range []struct{ name, url, want string }{
		{"loopback", "http://127.0.0.1/", notPublic},
		{"localhost", "http://localhost/", notPublic},
		{"loopback as one number", "http://2130706433/", "url"},
		{"loopback of IPv6", "http://[::1]/", notPublic},
		{"loopback mapped into IPv6", "http://[::ffff:127.0.0.1]/", notPublic},
		{"a private address mapped into IPv6", "http://[::ffff:10.0.0.1]/", notPublic},
		{"translated", "http://[64:ff9b::7f00:1]/", notPublic},
		{"the zero address", "http://0.0.0.0/", notPublic},
		{"a private network", "http://10.1.2.3/", notPublic},
		{"another private network", "https://192.168.0.1/", notPublic},
		{"the metadata service of a cloud", "http://169.254.169.254/latest/meta-data", notPublic},
		{"the host of a virtual machine of Azure", "http://168.63.129.16/machine?comp=goalstate", notPublic},
		{"carrier-grade NAT", "http://100.64.0.1/", notPublic},
		{"a local IPv6 network", "http://[fd00::1]/", notPublic},
		{"a link-local IPv6 address", "http://[fe80::1]/", notPublic},
		{"another port", "http://127.0.0.1:" + port + "/", "only the ports 80 and 443"},
		{"a file", "file:///etc/passwd", "only http and https"},
		{"another protocol", "gopher://127.0.0.1/", "only http and https"},
		{"a password", "http://a:b@example.com/", "names and passwords"},
		{"no host", "http:///x", "the host is missing"},
		{"an invalid URL", "::", "url"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := call(t, b, "fetch", args{"url": tt.url})
			if !r.IsError || !strings.Contains(r.Text, tt.want) && !strings.Contains(r.Text, "cannot be found") {
				t.Errorf("got %+v, want %q", r, tt.want)
			}
		})
	}
	t.Run("a proxy is not used", func(t *testing.T) {
		t.Setenv("HTTP_PROXY", inner.URL)
		t.Setenv("http_proxy", inner.URL)
		call(t, newBox(t), "fetch", args{"url": "http://10.1.2.3/"})
	})
	t.Run("a redirect to an internal address is refused", func(t *testing.T) {
		outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1/", http.StatusFound)
		}))
		defer outer.Close()
		refused(t, newBox(t, allowing(t, outer)), "fetch", args{"url": outer.URL}, notPublic)
	})
	if reached.Load() > 0 {
		t.Error("the internal server was reached")
	}
}

func TestANameThatChangesItsAddressIsCheckedAtEachDial(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/again" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		fmt.Fprint(w, "from "+r.Host)
	}))
	defer outer.Close()
	_, port, _ := net.SplitHostPort(outer.Listener.Addr().String())
	dns := rebinder(t)
	b := newBox(t, allowing(t, outer), func(o *Options) { o.resolver = dns })
	has(t, ok(t, b, "fetch", args{"url": "http://rebind.test:" + port + "/first"}), "from rebind.test")
	// From the second lookup on, the name resolves to 127.0.0.2, which is not
	// allowed.
	refused(t, b, "fetch", args{"url": "http://rebind.test:" + port + "/second"}, "only the ports")
	refused(t, b, "fetch", args{"url": "http://rebind.test/"}, "not public")
	if hits.Load() != 1 {
		t.Errorf("the server was reached %d times", hits.Load())
	}
}

// rebinder starts a local name server that answers 127.0.0.1 once, and then
// 127.0.0.2.
func rebinder(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	testkit.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		last := byte(1)
		for buf := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, last}},
				}}
				last = 2
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func TestHostilePagesAreConvertedQuickly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, piece string }{
		{"Markdown characters", "*_[`#\\"},
		{"cells without a table", "<td>x"},
		{"unclosed tags", "<b><p>"},
		{"nested links", "<p><b><i><u><a href=y>z"},
		{"scripts without an end", "<script>x"},
		{"comments", "x<!--"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begun := time.Now()
			out := markdown(strings.Repeat(tt.piece, maxMarkdown/len(tt.piece)))
			if took := time.Since(begun); took > 20*time.Second || len(out) > 4*maxMarkdown {
				t.Errorf("it took %v and returned %d bytes", took, len(out))
			}
		})
	}
	t.Run("a large page is returned as plain text", func(t *testing.T) {
		page := "<style>no</style><p>one &amp; two</p><script>no</script>" + strings.Repeat("<p class=x>three</p>", maxMarkdown/10)
		if out := markdown(page); !strings.HasPrefix(out, "one & two\nthree\nthree\n") {
			t.Errorf("got %q", task.ClipChars(out, 100))
		}
	})
}
