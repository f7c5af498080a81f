package handlers

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
)

// newAPI returns the JSON API: huma on the same echo, with strict JSON and our
// problem bodies.
func (s *Server) newAPI() huma.API {
	cfg := huma.DefaultConfig("Taskyard", s.opt.Build.Version)
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.CreateHooks, cfg.Transformers = nil, nil
	cfg.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	cfg.DefaultFormat = "application/json"
	cfg.Info.Description = apiDescription()
	cfg.Info.License = &huma.License{Name: "MIT", Identifier: "MIT"}
	cfg.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	cfg.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[task.Time](), reflect.TypeFor[time.Time]())
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "The token of an agent or a person (prefix ty_)."},
	}
	cfg.Servers = []*huma.Server{{URL: cmp.Or(strings.TrimSuffix(s.opt.PublicURL, "/"), "/")}}
	cfg.Security = []map[string][]string{{"token": {}}}
	cfg.RejectUnknownQueryParameters = true
	return humaecho.New(s.echo, cfg)
}

// schemaName returns the name of a type in the document. Two of our types have
// the same name.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[Problem]() || t == reflect.TypeFor[*Problem]() {
		return "Error"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

func apiDescription() string {
	var b strings.Builder
	b.WriteString("Tasks, queues, claims, runs and approvals for agents and people.\n\nA response is at most 1 MiB. A list " +
		"that would be longer ends early with `cutBySize` and continues from `next`; the `cut` of a task that is too large " +
		"names what was left out and where to read it.\n\nErrors are `application/problem+json`; their `code` is one of:\n\n")
	for _, c := range task.Codes {
		b.WriteString("- `" + string(c.Code) + "`: " + c.Doc + "\n")
	}
	return b.String()
}

// bodyTimeout bounds how long a caller may take to send a body.
const bodyTimeout = 30 * time.Second

// apiDoc documents an endpoint in the reference.
type apiDoc struct {
	Status       int    // on success; 0 means 200
	Also         int    // another success status with the same answer; 0: none
	Type         string // media type of the answer, if it is not JSON
	Tag, Summary string
	Desc         string
}

// op is one endpoint of the JSON API.
type op struct {
	Method, Path string
	Need         task.Perm
	apiDoc
}

// refusedName is the name of the shared error response.
const refusedName = "Refused"

// bodyOut is the output of an operation without headers.
type bodyOut[B any] struct{ Body B }

// handle registers an endpoint, "METHOD /path", whose answer is the body that
// fn returns: its permission in the one table, its types and its apiDocs in the
// OpenAPI document, its errors through problemFromError. If fn returns an
// error, its other result is ignored.
func handle[I, B any](s *Server, endpoint string, need task.Perm, fn func(context.Context, *I) (B, error)) {
	handleStream(s, endpoint, need, fn, nil)
}

// handleStream is like handle, but answers callers that accept
// text/event-stream with a stream.
func handleStream[I, B any](s *Server, endpoint string, need task.Perm, fn func(context.Context, *I) (B, error), stream echo.HandlerFunc) {
	register(s, endpoint, need, func(ctx context.Context, in *I) (*bodyOut[B], error) {
		body, err := fn(ctx, in)
		return &bodyOut[B]{body}, err
	}, stream)
}

// handleOut is like handle, for an answer with a status, with headers, or
// without a body.
func handleOut[I, O any](s *Server, endpoint string, need task.Perm, fn func(context.Context, *I) (*O, error)) {
	register(s, endpoint, need, fn, nil)
}

// register registers an endpoint for handle and its variants; stream may be nil.
func register[I, O any](s *Server, endpoint string, need task.Perm, fn func(context.Context, *I) (*O, error), stream echo.HandlerFunc) {
	method, path, _ := strings.Cut(endpoint, " ")
	o := op{Method: method, Path: path, Need: need, apiDoc: apiDocs[endpoint]}
	if o.Status == 0 {
		o.Status = http.StatusOK
	}
	s.perms[o.Method+" "+strings.NewReplacer("{", ":", "}", "").Replace(o.Path)] = o.Need
	s.ops = append(s.ops, o)
	doc := s.api.OpenAPI()
	if !slices.ContainsFunc(doc.Tags, func(t *huma.Tag) bool { return t.Name == o.Tag }) {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: o.Tag, Description: apiTags[o.Tag]})
	}
	hop := huma.Operation{
		OperationID: operationID(o), Method: o.Method, Path: o.Path, Summary: o.Summary, Tags: []string{o.Tag},
		Description:   strings.TrimSpace(o.Desc + "\n\nPermission: " + string(o.Need) + "."),
		DefaultStatus: o.Status, BodyReadTimeout: bodyTimeout,
		MaxBodyBytes: maxBody + 1, // limitBody rejects it first
	}
	if o.Type != "" {
		hop.Responses = map[string]*huma.Response{statusKey(o.Status): {
			Content: map[string]*huma.MediaType{o.Type: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}}
	}
	if o.Need == task.Everyone {
		hop.Security = []map[string][]string{}
	}
	if stream != nil {
		hop.Middlewares = huma.Middlewares{s.streamed(stream)}
	}
	if o.Method != http.MethodGet {
		hop.Middlewares = append(hop.Middlewares, s.bounded(o.Path, o.Method))
	}
	huma.Register(s.api, hop, func(ctx context.Context, in *I) (*O, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, withHeaders(s.problemFromError(ctx, err))
		}
		return out, nil
	})
	made := findOperation(doc.Paths[o.Path], o.Method)
	made.Metadata = map[string]any{registryKey: doc.Components.Schemas}
	answers := made.Responses
	if o.Need != task.Everyone {
		if doc.Components.Responses == nil {
			doc.Components.Responses = map[string]*huma.Response{refusedName: {
				Description: "The request was refused; `code` says why.", Content: answers["default"].Content,
			}}
		}
		answers["4XX"] = &huma.Response{Ref: "#/components/responses/" + refusedName}
	}
	if o.Also != 0 {
		also := *answers[statusKey(o.Status)]
		also.Description = http.StatusText(o.Also)
		answers[statusKey(o.Also)] = &also
	}
}

// streamed returns a middleware that uses h for callers that accept a stream.
func (s *Server) streamed(h echo.HandlerFunc) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if !strings.Contains(ctx.Header("Accept"), "text/event-stream") {
			next(ctx)
			return
		}
		c := humaecho.Unwrap(ctx)
		if err := h(c); err != nil {
			s.fail(err, c)
		}
	}
}

// extendDeadlines extends the read and write deadlines of a request that is
// held for wait; 0 leaves them.
func (s *Server) extendDeadlines(ctx context.Context, wait time.Duration) {
	if wait == 0 {
		return
	}
	rc := http.NewResponseController(requestInfoFromContext(ctx).w)
	end := time.Now().Add(wait + 30*time.Second)
	// While a request is held, the server reads ahead to notice a disconnect:
	// an expired read deadline would look like one.
	if err := errors.Join(rc.SetReadDeadline(end), rc.SetWriteDeadline(end)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.log.DebugContext(ctx, "failed to extend the deadline", "error", err)
	}
}

// withHeaders adds the headers that some errors need.
func withHeaders(p *Problem) error {
	if p.Status == http.StatusUnauthorized {
		return huma.ErrorWithHeaders(p, http.Header{"WWW-Authenticate": {challenge}})
	}
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

// apiGuard checks what huma does not: the content type, and the idempotency
// key, which covers the body.
func (s *Server) apiGuard(c echo.Context) error {
	r := c.Request()
	if r.Method == http.MethodGet || r.Method == http.MethodHead || !isAPI(r.URL.Path) {
		return nil
	}
	if ct := r.Header.Get("Content-Type"); r.ContentLength != 0 && !isJSON(ct) {
		return task.Errorf(kindMedia, task.CodeUnsupportedMedia, "Send Content-Type: application/json, not %q", headerText(ct))
	}
	if ct := r.Header["Content-Type"]; len(ct) > 0 && ct[0] != jsonType {
		r.Header.Set("Content-Type", jsonType) // huma supports no other spelling
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" || r.Method != http.MethodPost {
		return nil
	}
	if len(key) > maxKey {
		return task.FieldErrorf("Idempotency-Key", "must be at most %d bytes", maxKey)
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	ctx := withKey(r, actorFrom(c), key, string(body))
	c.SetRequest(r.WithContext(ctx))
	c.Response().Before(func() {
		if service.Replayed(ctx) {
			c.Response().Header().Set("Idempotency-Replayed", "true")
		}
	})
	return nil
}

const jsonType = "application/json"

func isJSON(ct string) bool {
	if ct == jsonType {
		return true
	}
	mt, _, _ := strings.Cut(ct, ";")
	mt = strings.ToLower(strings.TrimSpace(mt))
	return mt == "application/json" || strings.HasPrefix(mt, "application/") && strings.HasSuffix(mt, "+json")
}
