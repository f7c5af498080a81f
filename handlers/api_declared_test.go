package handlers

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// declaration is the OpenAPI document as a client reads it. Every site serves the
// same document.
var declaration struct {
	once sync.Once
	doc  *openapi3.T
	err  error
}

// checkDeclared fails the test unless the OpenAPI document declares the response to a
// request of the API.
func (s *site) checkDeclared(req *http.Request, a answer) {
	s.t.Helper()
	if _, test := s.t.(*testing.T); !test || !isAPI(req.URL.Path) {
		return
	}
	d := &declaration
	d.once.Do(func() {
		raw, err := json.Marshal(s.srv.api.OpenAPI())
		if err != nil {
			d.err = err
			return
		}
		d.doc, d.err = openapi3.NewLoader().LoadFromData(raw)
	})
	if d.err != nil {
		s.t.Fatal(d.err)
	}
	if problem := undeclared(d.doc, req, a); problem != "" {
		s.t.Errorf("%s %s: status %d: %s\n%.2000s", req.Method, req.URL.Path, a.Status, problem, a.Body)
	}
}

// undeclared describes what the document does not declare about a response. It
// returns "" if everything is declared or the request is not in the document.
func undeclared(doc *openapi3.T, req *http.Request, a answer) string {
	o := operationAt(doc, req.Method, req.URL.Path)
	if o == nil {
		return ""
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return ""
	}
	res := o.Responses.Status(a.Status)
	if res == nil {
		res = o.Responses.Default()
	}
	content := res.Value.Content.Get(kind)
	switch {
	case len(a.Body) == 0 && len(res.Value.Content) == 0:
		return ""
	case content == nil:
		return "the content type " + kind + " is not declared"
	}
	var body any = string(a.Body)
	if strings.HasSuffix(kind, "json") {
		if err := json.Unmarshal(a.Body, &body); err != nil {
			return err.Error()
		}
	}
	if err := content.Schema.Value.VisitJSON(body, openapi3.VisitAsResponse()); err != nil {
		return err.Error()
	}
	return ""
}

// operationAt returns the operation of a request. Paths with more literal parts take
// precedence over parameters.
func operationAt(doc *openapi3.T, method, path string) (found *openapi3.Operation) {
	named := -1
	parts := strings.Split(path, "/")
	for template, item := range doc.Paths.Map() {
		if n := countLiteralMatches(strings.Split(template, "/"), parts); n > named && item.GetOperation(method) != nil {
			found, named = item.GetOperation(method), n
		}
	}
	return found
}

// countLiteralMatches returns how many literal parts of a template match a path, or -1
// if the template does not match.
func countLiteralMatches(template, parts []string) (n int) {
	if len(template) != len(parts) {
		return -1
	}
	for i, t := range template {
		switch {
		case strings.HasPrefix(t, "{"):
		case t == parts[i]:
			n++
		default:
			return -1
		}
	}
	return n
}
