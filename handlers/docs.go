package handlers

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"taskyard/task"
	"taskyard/views"
)

// docsPath is a page, although its path is below /api.
const docsPath = "/api/docs"

// openapi returns the OpenAPI document.
func (s *Server) openapi(c echo.Context) error {
	b, err := s.spec()
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, jsonType, b)
}

// docsPage shows the OpenAPI document to people. Signed-in people see it inside
// the dashboard; signing in is not required.
func (s *Server) docsPage(c echo.Context) error {
	ch, err := s.openChrome(c)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.DocsPage(ch, s.docs()))
}

// openChrome returns the frame of a public page: the dashboard for signed-in
// people, none for others.
func (s *Server) openChrome(c echo.Context) (views.Chrome, error) {
	if a := actorFrom(c); a.UserID != 0 && a.TokenID == 0 {
		return s.chrome(c)
	}
	ch := s.bareChrome(c)
	ch.User = "" // a token has no session, so no dashboard
	return ch, nil
}

func (s *Server) docsModel() *views.DocsModel {
	m := &views.DocsModel{Version: s.opt.Build.Version}
	w := &docsWriter{schemas: s.api.OpenAPI().Components.Schemas}
	for _, o := range s.ops {
		i := slices.IndexFunc(m.Groups, func(g views.DocGroup) bool { return g.Name == o.Tag })
		if i < 0 {
			i = len(m.Groups)
			m.Groups = append(m.Groups, views.DocGroup{Name: o.Tag})
		}
		m.Groups[i].Ops = append(m.Groups[i].Ops, w.operation(o, findOperation(s.api.OpenAPI().Paths[o.Path], o.Method)))
	}
	w.named("Error")
	m.Types = w.types()
	for _, c := range task.Codes {
		m.Codes = append(m.Codes, views.DocCode{Code: string(c.Code), Doc: c.Doc})
	}
	return m
}

func findOperation(item *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPut:
		return item.Put
	case http.MethodPatch:
		return item.Patch
	case http.MethodDelete:
		return item.Delete
	}
	return item.Post
}

func (w *docsWriter) operation(o op, hop *huma.Operation) views.DocOp {
	d := views.DocOp{
		ID: hop.OperationID, Method: o.Method, Path: o.Path, Summary: o.Summary, Desc: o.Desc, Need: o.Need, Status: hop.DefaultStatus,
		Also: o.Also,
	}
	for _, p := range hop.Parameters {
		d.Params = append(d.Params, views.DocField{
			Name: p.Name, In: p.In, Required: p.Required,
			Type: w.ref(p.Schema), Bounds: bounds(p.Schema), Doc: schemaDoc(p.Schema),
		})
	}
	slices.SortStableFunc(d.Params, func(a, b views.DocField) int { return cmp.Compare(parameterRank(a.In), parameterRank(b.In)) })
	body := resolved(w.schemas, bodySchema(hop))
	if r := hop.RequestBody; r != nil {
		d.HasBody, d.BodyOptional, d.Body = true, !r.Required, w.fields(body)
	}
	if r := hop.Responses[statusKey(hop.DefaultStatus)]; r != nil {
		for name := range r.Headers {
			d.Headers = append(d.Headers, name)
		}
		slices.Sort(d.Headers)
		if content := r.Content[jsonType]; content != nil {
			d.Answer, d.Fields = w.answer(content.Schema)
		} else {
			d.Text = strings.Join(slices.Sorted(maps.Keys(r.Content)), ", ")
		}
	}
	d.Curl = w.curl(o, body, d.BodyOptional)
	return d
}

func parameterRank(in string) int { return strings.Index("path query header", in) }

func statusKey(status int) string { return task.ID(status).String() }

// answer returns the possible types of an answer or, if it is the wrapper of
// one operation, its fields.
func (w *docsWriter) answer(s *huma.Schema) ([]views.DocRef, []views.DocField) {
	if strings.HasSuffix(refName(s), "Body") {
		if s = resolved(w.schemas, s); len(s.OneOf) == 0 {
			return nil, w.fields(s)
		}
	}
	if len(s.OneOf) == 0 {
		return []views.DocRef{w.ref(s)}, nil
	}
	var list []views.DocRef
	for _, one := range s.OneOf {
		list = append(list, w.ref(one))
	}
	return list, nil
}
