package handlers

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/task"
)

// optional is an input whose body may be omitted.
type optional[T any] struct {
	Body *T `required:"false"`
}

// body returns the body of the request, or the zero value.
func (o optional[T]) body() (v T) {
	if o.Body != nil {
		v = *o.Body
	}
	return v
}

// emptyBody is an optional body without fields.
type emptyBody struct{}

// apiID is an ID in a body: 5 and "5" are equal.
type apiID task.ID

const idHint = `an id: a positive whole number such as 5 or "5"`

// Schema describes both forms for huma.
func (apiID) Schema(huma.Registry) *huma.Schema {
	one := 1.0
	return &huma.Schema{
		OneOf:       []*huma.Schema{{Type: "string", Pattern: "^[1-9][0-9]*$"}, {Type: "integer", Minimum: &one}},
		Description: "id, as a string or a number", Examples: []any{"5"},
	}
}

// UnmarshalJSON accepts both forms.
func (i *apiID) UnmarshalJSON(b []byte) error {
	id, err := task.ParseID(strings.Trim(string(b), `"`))
	*i = apiID(id)
	return err
}

func ids(list []apiID) []task.ID {
	out := make([]task.ID, len(list))
	for i, id := range list {
		out[i] = task.ID(id)
	}
	return out
}

// pathID is an ID in the path or in a query. It is a struct, so that huma calls
// UnmarshalText instead of parsing a number itself.
type pathID struct{ task.ID }

// Schema describes the ID as a decimal string for huma.
func (pathID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: "^[1-9][0-9]*$", Description: "id", Examples: []any{"5"}}
}

// cursor is the ID after or before which a list begins; 0: at its start.
type cursor struct{ task.ID }

// UnmarshalText parses an ID or 0.
func (c *cursor) UnmarshalText(b []byte) error {
	if string(b) == "0" {
		c.ID = 0
		return nil
	}
	return c.ID.UnmarshalText(b)
}

// Schema describes the cursor as a decimal string for huma.
func (cursor) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: "^[0-9]+$", Examples: []any{"5"}}
}

// queryTime is a time in a query.
type queryTime struct{ task.Time }

// Schema describes it as RFC 3339 for huma.
func (queryTime) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Format: "date-time", Examples: []any{"2026-01-31T12:00:00Z"}}
}

// nullable declares that a field of an answer, which is an object of a named
// type, may be null.
func nullable(s *huma.Schema, field string) *huma.Schema {
	f := s.Properties[field]
	s.Properties[field] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: f.Ref}, {Type: "null"}}, Description: f.Description}
	return s
}

// CutMark is part of every answer with a list that a cursor continues. It is
// exported for huma.
type CutMark struct {
	CutBySize bool `json:"cutBySize,omitzero" doc:"true: the page was cut off at 1 MiB; continue with next"`
}

// cutMark reports whether the last list of an answer was cut.
func cutMark(ctx context.Context) CutMark { return CutMark{task.BudgetFromContext(ctx).Cut()} }

// nextID returns the cursor of the next page: the last ID of a page that is
// full, or was cut because of its size.
func nextID[T any](ctx context.Context, list []T, limit int, id func(T) task.ID) string {
	if len(list) < limit && !task.BudgetFromContext(ctx).Cut() || len(list) == 0 {
		return ""
	}
	return id(list[len(list)-1]).String()
}
