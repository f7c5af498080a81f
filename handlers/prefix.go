package handlers

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
)

// The server may be served below the path of its public URL. Only this file
// knows that path: it removes it from requests, and adds it to links in headers
// and pages, so that no page, redirect or form needs to handle it.

// pathPrefix returns the path of the public URL without a trailing slash; ""
// for the root of a host.
func pathPrefix(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}

// withPrefix serves h below a prefix. Health checks are also answered without
// it, because they come from the machine itself and not through the proxy.
func withPrefix(prefix string, h http.Handler) http.Handler {
	if prefix == "" {
		return h
	}
	inside := http.StripPrefix(prefix, h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, prefix+"/"):
			p := &prefixWriter{ResponseWriter: w, prefix: prefix}
			inside.ServeHTTP(p, r)
			p.links()
		case path == prefix, path == "/":
			w.Header().Set("Location", prefix+"/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case path == "/healthz", path == "/readyz", path == "/metrics":
			h.ServeHTTP(w, r)
		default:
			w.Header().Set("X-Content-Type-Options", "nosniff")
			http.Error(w, "Page not found: this server is at "+prefix+"/, the path of its public_url; let the proxy keep it", http.StatusNotFound)
		}
	})
}

// linkHeaders contain URLs of this server.
var linkHeaders = []string{"Location", "Hx-Location", "Hx-Redirect", "Hx-Push-Url", "Hx-Replace-Url"}

// prefixWriter adds the prefix to URLs in headers.
type prefixWriter struct {
	http.ResponseWriter
	prefix string
	done   bool
}

func (p *prefixWriter) links() {
	if p.done {
		return
	}
	p.done = true
	h := p.Header()
	for _, name := range linkHeaders {
		if v := h[name]; len(v) == 1 && strings.HasPrefix(v[0], "/") && !strings.HasPrefix(v[0], "//") {
			h[name] = []string{p.prefix + v[0]}
		}
	}
}

// WriteHeader sends the headers.
func (p *prefixWriter) WriteHeader(status int) {
	p.links()
	p.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (p *prefixWriter) Write(b []byte) (int, error) {
	p.links()
	return p.ResponseWriter.Write(b)
}

// Flush sends what was written.
func (p *prefixWriter) Flush() {
	p.links()
	_ = http.NewResponseController(p.ResponseWriter).Flush()
}

// Unwrap returns the writer below, for deadlines.
func (p *prefixWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// linkAttributes are the attributes of our pages that contain URLs. Others,
// such as the value of a field, contain paths within the server.
var linkAttributes = map[string]bool{
	"href": true, "src": true, "action": true, "formaction": true, "data-href": true, "data-stream": true,
	"hx-get": true, "hx-post": true,
}

// addPrefix adds the prefix to the URLs in a page, and passes it to its
// scripts. In text, every quote is escaped, so whatever looks like an attribute
// is one.
func addPrefix(page []byte, prefix string) []byte {
	out := make([]byte, 0, len(page)+len(page)/16)
	if at := bytes.Index(page[:min(len(page), 256)], []byte("<html ")); at >= 0 {
		at += len("<html ")
		out = append(append(append(append(out, page[:at]...), `data-prefix="`...), prefix...), `" `...)
		page = page[at:]
	}
	for {
		at := bytes.Index(page, []byte(`="/`))
		if at < 0 {
			return append(out, page...)
		}
		name := page[bytes.LastIndexAny(page[:at], " \t\n\"")+1 : at]
		at += len(`="`)
		out = append(out, page[:at]...)
		page = page[at:]
		if linkAttributes[string(name)] && !bytes.HasPrefix(page, []byte("//")) {
			out = append(out, prefix...)
		}
	}
}
