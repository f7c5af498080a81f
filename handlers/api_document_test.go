package handlers

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestTheOpenAPIDocumentIsValidAndComplete(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.do("nobody", "GET", "/api/openapi.json", "").want(200)
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(a.Body)
	s.ok(err)
	s.ok(doc.Validate(loader.Context))
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("got version %s", doc.OpenAPI)
	}
	for _, c := range task.Codes {
		if !strings.Contains(doc.Info.Description, "`"+string(c.Code)+"`") {
			t.Errorf("error code %s is not described", c.Code)
		}
	}
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "/" {
		t.Errorf("got servers %+v", doc.Servers)
	}
	described := []string{}
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			described = append(described, method+" "+strings.NewReplacer("{", ":", "}", "").Replace(path))
			if o.Summary == "" || len(o.Tags) != 1 || doc.Tags.Get(o.Tags[0]) == nil || ids[o.OperationID] {
				t.Errorf("%s %s: got summary %q, tags %v, id %s", method, path, o.Summary, o.Tags, o.OperationID)
			}
			ids[o.OperationID] = true
			if o.Description == "" || doc.Tags.Get(o.Tags[0]).Description == "" {
				t.Errorf("%s %s: the operation or its tag has no description", method, path)
			}
			if public := o.Security != nil && len(*o.Security) == 0; !public && (o.Responses.Value("4XX") == nil ||
				o.Responses.Value("4XX").Value.Content.Get("application/problem+json") == nil) {
				t.Errorf("%s %s does not declare its errors", method, path)
			}
			if o.Responses.Default() == nil || o.Responses.Default().Value.Content.Get("application/problem+json") == nil {
				t.Errorf("%s %s does not describe its errors", method, path)
			}
		}
	}
	if len(described) != len(apiDocs) {
		t.Errorf("got %d endpoints and %d descriptions", len(described), len(apiDocs))
	}
	for _, route := range s.routes() {
		if strings.Contains(route, " /api/") && route != "GET /api/openapi.json" &&
			route != "GET /api/docs" && !slices.Contains(described, route) {
			t.Errorf("%s is not described", route)
		}
	}
	k := doc.Components.Schemas["Task"].Value.Properties
	if !k["id"].Value.Type.Is("string") || !k["version"].Value.Type.Is("integer") {
		t.Error("IDs must be strings in JSON")
	}
	if at := k["createdAt"].Value; !at.Type.Is("string") || at.Format != "date-time" {
		t.Errorf("a time is described as %v of the format %q", at.Type, at.Format)
	}
}

func TestTheOpenAPIDocumentNamesThePublicURL(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o setup) { o.PublicURL = "https://tasks.example/" })
	doc := decode[struct{ Servers []struct{ URL string } }](s.do("nobody", "GET", "/api/openapi.json", "").want(200))
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "https://tasks.example" {
		t.Errorf("got servers %+v", doc.Servers)
	}
}

// TestNullIsDeclaredForAnEmptyResponse relies on the check of every response.
func TestNullIsDeclaredForAnEmptyResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path, c := range map[string]struct{ caller, want string }{
		"/api/agents/coder/signup": {"agent", `{"task":null}`},
		"/api/worker/lease":        {"worker", `{"run":null}`},
	} {
		if a := s.do(c.caller, "POST", path, "{}").want(200); strings.TrimSpace(string(a.Body)) != c.want {
			t.Errorf("%s: got %s", path, a.Body)
		}
	}
}

// TestUndeclaredResponsesAreFound tests the check that all tests of the API use.
func TestUndeclaredResponsesAreFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	doc, err := openapi3.NewLoader().LoadFromData(s.do("nobody", "GET", "/api/openapi.json", "").want(200).Body)
	s.ok(err)
	me := s.do("viewer", "GET", "/api/me", "").want(200)
	for _, c := range []struct{ name, path, kind, body, want string }{
		{"the actual response", "/api/me", jsonType, string(me.Body), ""},
		{"an undeclared field", "/api/me", jsonType, `{"x":1,` + string(me.Body[1:]), `"x" is unsupported`},
		{"a required field is missing", "/api/me", jsonType, `{}`, "is missing"},
		{"a wrong type", "/api/tasks/history", jsonType, `{"tasks":5}`, `"/tasks"`},
		{"an undeclared null", "/api/tasks/5", jsonType, `null`, "not nullable"},
		{"a wrong content type", "/api/me", "text/plain", string(me.Body), "text/plain is not declared"},
		{"invalid JSON", "/api/me", jsonType, `{`, "JSON"},
		{"an unknown operation", "/api/nothing", jsonType, `{"x":1}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := s.request("viewer", "GET", c.path, "")
			got := undeclared(doc, req, answer{t, 200, http.Header{"Content-Type": {c.kind}}, []byte(c.body)})
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEveryErrorCodeIsUsedAndListed(t *testing.T) {
	t.Parallel()
	text := sources(t, "..")
	names := regexp.MustCompile(`(?m)^\t(Code\w+)\s+Code = "(\w+)"`).FindAllStringSubmatch(text, -1)
	if len(names) != len(task.Codes) {
		t.Fatalf("got %d codes, %d documented", len(names), len(task.Codes))
	}
	uses := map[string]int{}
	for _, word := range regexp.MustCompile(`Code[A-Z]\w+`).FindAllString(text, -1) {
		uses[word]++
	}
	for _, n := range names {
		// One occurrence is the definition and one is the list; others are uses.
		if uses[n[1]] < 3 {
			t.Errorf("nothing returns %s (%s)", n[1], n[2])
		}
		if !slices.ContainsFunc(task.Codes, func(c struct {
			Code task.Code
			Doc  string
		},
		) bool {
			return string(c.Code) == n[2] && c.Doc != ""
		}) {
			t.Errorf("%s is not documented", n[1])
		}
	}
}

// sources returns the text of all Go files that are not tests.
func sources(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	testkit.NoError(t, err)
	return b.String()
}
