package handlers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
)

// newAPI makes the JSON side: huma over the same echo, strict JSON, and our
// problem bodies.
func (s *Server) newAPI() huma.API {
	cfg := huma.DefaultConfig("Taskyard", s.opt.Version)
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.CreateHooks, cfg.Transformers = nil, nil
	cfg.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	cfg.DefaultFormat = "application/json"
	cfg.Info.Description = apiDescription()
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "A token of an agent or a person (prefix ty_)."},
	}
	cfg.Security = []map[string][]string{{"token": {}}}
	huma.NewError = newProblem
	return humaecho.New(s.echo, cfg)
}

func apiDescription() string {
	var b strings.Builder
	b.WriteString("Tasks, queues, claims, runs and approvals for agents and people.\n\nErrors are `application/problem+json`; their `code` is one of:\n\n")
	for _, c := range task.Codes {
		b.WriteString("- `" + string(c.Code) + "`: " + c.Doc + "\n")
	}
	return b.String()
}

// newProblem gives huma's own refusals our body and codes.
func newProblem(status int, msg string, errs ...error) huma.StatusError {
	for _, err := range errs {
		var e *task.Error
		if errors.As(err, &e) {
			return &Problem{Status: statuses[e.Kind], Title: http.StatusText(statuses[e.Kind]), Code: string(e.Code), Detail: e.Message, Errors: e.AllFields()}
		}
	}
	p := &Problem{Status: status, Title: http.StatusText(status), Code: codeOf(status), Detail: msg}
	for _, err := range errs {
		var d huma.ErrorDetailer
		if errors.As(err, &d) {
			det := d.ErrorDetail()
			p.Errors = append(p.Errors, task.FieldError{Field: fieldOf(det.Location), Message: det.Message})
		} else if err != nil {
			if isSyntax(err) {
				p.Status, p.Code = http.StatusBadRequest, string(task.CodeInvalidJSON)
				p.Title = http.StatusText(p.Status)
			}
			p.Detail = "The body is not acceptable: " + err.Error()
		}
	}
	if p.Code == string(task.CodeInvalidField) && len(p.Errors) > 0 {
		parts := make([]string, len(p.Errors))
		for i, f := range p.Errors {
			parts[i] = f.Field + ": " + f.Message
		}
		p.Detail = strings.Join(parts, "; ")
		for _, f := range p.Errors {
			if immutable[f.Field] && strings.Contains(f.Message, "unexpected property") {
				p.Code = string(task.CodeImmutableField)
			}
		}
	}
	return p
}

var immutable = map[string]bool{"id": true, "createdBy": true, "createdAt": true, "threadId": true}

func isSyntax(err error) bool {
	var syn *jsontext.SyntacticError
	return errors.As(err, &syn) || errors.Is(err, io.ErrUnexpectedEOF)
}

// fieldOf turns huma's "body.steps[0].title" into "steps[0].title".
func fieldOf(location string) string {
	for _, p := range []string{"body.", "query.", "path.", "header."} {
		if f, ok := strings.CutPrefix(location, p); ok {
			return f
		}
	}
	return location
}

func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return string(task.CodeInvalidJSON)
	case http.StatusRequestEntityTooLarge:
		return string(task.CodeBodyTooLarge)
	case http.StatusUnsupportedMediaType:
		return string(task.CodeUnsupportedMedia)
	case http.StatusNotFound:
		return string(task.CodeNotFound)
	case http.StatusUnprocessableEntity:
		return string(task.CodeInvalidField)
	}
	return string(task.CodeInternal)
}

// op describes one JSON operation.
type op struct {
	Method, Path string
	Need         task.Perm
	Status       int // on success; 0 means 200
	Tag, Summary string
	Desc         string
}

// handle registers an operation: its permission goes into the one table, its
// types into the OpenAPI document, its errors through problemOf.
func handle[I, O any](s *Server, o op, fn func(context.Context, *I) (*O, error)) {
	if o.Status == 0 {
		o.Status = http.StatusOK
	}
	path := strings.NewReplacer("{", ":", "}", "").Replace(o.Path)
	s.perms[o.Method+" "+path] = o.Need
	hop := huma.Operation{
		OperationID: operationID(o), Method: o.Method, Path: o.Path, Summary: o.Summary, Description: o.Desc, Tags: []string{o.Tag},
		DefaultStatus: o.Status, MaxBodyBytes: maxBody, BodyReadTimeout: -1,
	}
	hop.Responses = map[string]*huma.Response{}
	huma.Register(s.api, hop, func(ctx context.Context, in *I) (*O, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, headered(s.problemOf(ctx, err))
		}
		return out, nil
	})
}

// headered adds the headers that some refusals carry.
func headered(p *Problem) error {
	if p.retry > 0 {
		return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {task.ID(p.retry).String()}})
	}
	return p
}

func operationID(o op) string {
	words := strings.FieldsFunc(strings.ToLower(o.Method)+"-"+strings.TrimPrefix(o.Path, "/api/"), func(r rune) bool {
		return r == '/' || r == '{' || r == '}' || r == '-'
	})
	return strings.Join(words, "-")
}

// apiGuard checks what huma would not: JSON content type, and an idempotency
// key, for which it hashes the body.
func (s *Server) apiGuard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.Method == http.MethodGet || r.Method == http.MethodHead || !strings.HasPrefix(r.URL.Path, "/api/") {
			return next(c)
		}
		if ct := r.Header.Get("Content-Type"); r.ContentLength != 0 && !isJSON(ct) {
			return task.Errorf(kindMedia, task.CodeUnsupportedMedia, "Send Content-Type: application/json, not %q", clean(ct))
		}
		key := r.Header.Get("Idempotency-Key")
		if key == "" || r.Method != http.MethodPost {
			return next(c)
		}
		if len(key) > maxKey {
			return task.FieldErrorf("Idempotency-Key", "must be at most %d bytes", maxKey)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		ctx := withKey(r, actorOf(c), key, string(body))
		c.SetRequest(r.WithContext(ctx))
		c.Response().Before(func() {
			if service.Replayed(ctx) {
				c.Response().Header().Set("Idempotency-Replayed", "true")
			}
		})
		return next(c)
	}
}

func isJSON(ct string) bool {
	mt, _, _ := strings.Cut(ct, ";")
	mt = strings.ToLower(strings.TrimSpace(mt))
	return mt == "application/json" || strings.HasPrefix(mt, "application/") && strings.HasSuffix(mt, "+json")
}

// apiID is an id in a body: 5 and "5" are the same; it is a string on output.
type apiID task.ID

// Schema tells huma both forms.
func (apiID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: "string", Pattern: "^[1-9][0-9]*$"}, {Type: "integer", Minimum: one()}}, Description: "id, as a string or a number", Examples: []any{"5"}}
}

func one() *float64 { f := 1.0; return &f }

// UnmarshalJSON reads both forms.
func (i *apiID) UnmarshalJSON(b []byte) error {
	id, err := task.ParseID(strings.Trim(string(b), `"`))
	*i = apiID(id)
	return err
}

// pathID reads an id of the path, telling which one is wrong.
type pathID task.ID

// UnmarshalText reads a decimal id.
func (i *pathID) UnmarshalText(b []byte) error {
	id, err := task.ParseID(string(b))
	*i = pathID(id)
	return err
}

// Schema tells huma that the id is a decimal string.
func (pathID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: "^[1-9][0-9]*$", PatternDescription: "an id: a positive whole number such as 5", Description: "id", Examples: []any{"5"}}
}
