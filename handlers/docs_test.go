package handlers

import (
	"iter"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/net/html"

	"taskyard/task"
)

// reference returns the page and its elements by ID.
func reference(s *site) (page string, byID map[string]*html.Node) {
	s.t.Helper()
	page = s.serve("nobody", "GET", "/api/docs", "").Body.String()
	doc, err := html.Parse(strings.NewReader(page))
	s.ok(err)
	byID = map[string]*html.Node{}
	for n := range doc.Descendants() {
		if id := nodeAttr(n, "id"); id != "" {
			if byID[id] != nil {
				s.t.Errorf("two elements have the ID %s", id)
			}
			byID[id] = n
		}
	}
	return page, byID
}

func nodeText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// operations yields every JSON operation with its path.
func operations(s *site) iter.Seq2[string, *huma.Operation] {
	return func(yield func(string, *huma.Operation) bool) {
		for path, item := range s.srv.api.OpenAPI().Paths {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				if o := findOperation(item, method); o != nil && o.Method == method && !yield(path, o) {
					return
				}
			}
		}
	}
}

// mixedCase matches field names, and identifiers that a rename inserted into a text.
var mixedCase = regexp.MustCompile(`\b[a-z]+[A-Z]\w*`)

func TestTheReferenceIsComplete(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page, byID := reference(s)
	t.Run("every operation is listed with its permission", func(t *testing.T) {
		for path, o := range operations(s) {
			method := o.Method
			n := byID["op-"+o.OperationID]
			if n == nil {
				t.Errorf("%s %s is missing", method, path)
				continue
			}
			text := nodeText(n)
			need := s.srv.perms[method+" "+strings.NewReplacer("{", ":", "}", "").Replace(path)]
			for _, want := range []string{method, path, strings.ReplaceAll(o.Summary, "`", ""), "Needs " + string(need)} {
				if !strings.Contains(text, want) {
					t.Errorf("%s %s does not say %q", method, path, want)
				}
			}
			for status := range o.Responses {
				if strings.HasPrefix(status, "2") && !strings.Contains(text, status) {
					t.Errorf("%s %s does not name the status %s", method, path, status)
				}
			}
			for _, p := range o.Parameters {
				if !strings.Contains(text, p.Name) {
					t.Errorf("%s %s does not name the parameter %s", method, path, p.Name)
				}
			}
		}
	})
	t.Run("every error code is listed with its fix", func(t *testing.T) {
		for _, c := range task.Codes {
			n := byID["code-"+string(c.Code)]
			if n == nil || !strings.Contains(nodeText(n), strings.ReplaceAll(c.Doc, "`", "")) {
				t.Errorf("%s is not documented", c.Code)
			}
		}
	})
	t.Run("every permission is listed with the roles that have it", func(t *testing.T) {
		for _, p := range task.Perms {
			if n := byID["perm-"+string(p)]; n == nil || len(nodeText(n)) < len(p)+20 {
				t.Errorf("%s is not described", p)
			}
		}
	})
	t.Run("every link within the page leads somewhere", func(t *testing.T) {
		doc, err := html.Parse(strings.NewReader(page))
		s.ok(err)
		for n := range doc.Descendants() {
			if id, ok := strings.CutPrefix(nodeAttr(n, "href"), "#"); ok && byID[id] == nil {
				t.Errorf("#%s leads nowhere", id)
			}
		}
	})
	t.Run("texts name only fields of requests and responses", func(t *testing.T) {
		names := map[string]bool{}
		for _, schema := range s.srv.api.OpenAPI().Components.Schemas.Map() {
			for name := range schema.Properties {
				names[name] = true
			}
		}
		for _, o := range operations(s) {
			for _, p := range o.Parameters {
				names[p.Name] = true
			}
		}
		for path, o := range operations(s) {
			for _, word := range mixedCase.FindAllString(o.Summary+" "+o.Description, -1) {
				if !names[word] {
					t.Errorf("%s %s: %q is not a field", o.Method, path, word)
				}
			}
		}
	})
	t.Run("a response with a nested type shows all of it", func(t *testing.T) {
		if text := nodeText(byID["op-get-agents-id"]); !strings.Contains(text, "definition") || !strings.Contains(text, "problems") {
			t.Errorf("got response of an agent: %s", text)
		}
	})
	t.Run("an answer that is not JSON says what it is", func(t *testing.T) {
		if text := nodeText(byID["op-get-runs-id-diff"]); !strings.Contains(text, "Text of the type text/x-diff") {
			t.Errorf("the answer of a diff: %s", text)
		}
	})
	t.Run("limits are written out", func(t *testing.T) {
		if text := nodeText(byID["op-post-agents-id-signup"]); !strings.Contains(text, "1 to 50") {
			t.Errorf("limits are missing: %s", text)
		}
	})
}

func TestTheReferenceIsForEveryone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, caller := range []string{"nobody", "agent", "viewer", "admin"} {
		rec := s.serve(caller, "GET", "/api/docs", "")
		if rec.Code != http.StatusOK || rec.Header().Get("Content-Security-Policy") != policy ||
			!strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: got %d %v", caller, rec.Code, rec.Header())
		}
		if strings.Contains(rec.Body.String(), `id="nav"`) {
			t.Errorf("%s has no session but gets the dashboard's navigation", caller)
		}
	}
	inst := newSite(t)
	inst.maya().get("/api/docs").is(http.StatusOK).shows(`id="nav"`, "Sign out")
}

// TestEveryCommandInTheReferenceIsValid sends the documented commands. The server may
// refuse them because of the current state, but never as malformed.
func TestEveryCommandInTheReferenceIsValid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, byID := reference(s)
	for range 42 { // the commands refer to task 42
		s.create("coder", `"start":false,"steps":[{"title":"first"}]`)
	}
	sent := 0
	for _, o := range s.srv.ops {
		hop := findOperation(s.srv.api.OpenAPI().Paths[o.Path], o.Method)
		text := nodeText(byID["curl-"+hop.OperationID])
		rest, path, ok := strings.Cut(text, `"$TASKYARD_URL`)
		if !ok || !strings.HasSuffix(path, `"`) {
			t.Errorf("%s %s has no URL: %s", o.Method, o.Path, text)
			continue
		}
		defines := strings.Contains(text, "tools: read")
		if strings.Contains(path, "{") || defines != (hop.OperationID == "put-agents-id") {
			t.Errorf("%s %s: the command is not about it: %s", o.Method, o.Path, text)
		}
		body := ""
		if _, quoted, found := strings.Cut(rest, "-d '"); found {
			body = quoted[:strings.LastIndexByte(quoted, '\'')]
		}
		rec := s.serve("admin", o.Method, strings.TrimSuffix(path, `"`), body)
		switch rec.Code {
		case 400, 405, 413, 415, 422, 500:
			t.Errorf("%s: got %d %s", text, rec.Code, rec.Body)
		}
		if rec.Code < 300 {
			sent++
		}
	}
	if sent < 20 {
		t.Errorf("only %d commands succeeded", sent)
	}
}
