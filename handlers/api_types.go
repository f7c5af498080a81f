package handlers

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/task"
)

// optional is an input whose body may be left out.
type optional[T any] struct {
	Body *T `required:"false"`
}

// body returns what was sent, or the zero value.
func (o optional[T]) body() (v T) {
	if o.Body != nil {
		v = *o.Body
	}
	return v
}

// nothing is a body that may be sent, but holds no field.
type nothing struct{}

// apiID is an id in a body: 5 and "5" are the same.
type apiID task.ID

const idHint = `an id: a positive whole number such as 5 or "5"`

// Schema tells huma both forms.
func (apiID) Schema(huma.Registry) *huma.Schema {
	one := 1.0
	return &huma.Schema{
		OneOf:       []*huma.Schema{{Type: "string", Pattern: "^[1-9][0-9]*$"}, {Type: "integer", Minimum: &one}},
		Description: "id, as a string or a number", Examples: []any{"5"},
	}
}

// UnmarshalJSON reads both forms.
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

// pathID is an id in the path or in a query. It is a struct, so that huma
// asks UnmarshalText and does not read the number by itself.
type pathID struct{ task.ID }

// Schema tells huma that the id is a decimal string.
func (pathID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: "^[1-9][0-9]*$", Description: "id", Examples: []any{"5"}}
}

// cursor is the id after or before which a list begins; 0 means its start.
type cursor struct{ task.ID }

// UnmarshalText reads an id or 0.
func (c *cursor) UnmarshalText(b []byte) error {
	if string(b) == "0" {
		c.ID = 0
		return nil
	}
	return c.ID.UnmarshalText(b)
}

// Schema tells huma that the cursor is a decimal string.
func (cursor) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Pattern: "^[0-9]+$", Examples: []any{"5"}}
}

// queryTime is a moment in a query.
type queryTime struct{ task.Time }

// Schema tells huma that it is RFC 3339.
func (queryTime) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Format: "date-time", Examples: []any{"2026-01-31T12:00:00Z"}}
}

// orNull declares that a field of an answer, an object of a named type, may be
// null.
func orNull(s *huma.Schema, field string) *huma.Schema {
	f := s.Properties[field]
	s.Properties[field] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: f.Ref}, {Type: "null"}}, Description: f.Description}
	return s
}

// CutMark is part of every answer with a list that a cursor continues. It is
// exported for huma.
type CutMark struct {
	CutBySize bool `json:"cutBySize,omitzero" doc:"true: the page ends early because the answer is at most 1 MiB; next continues it"`
}

// cutMark reports whether the last list that was read for an answer was cut.
func cutMark(ctx context.Context) CutMark { return CutMark{task.BudgetIn(ctx).Cut()} }

// nextID is the cursor of the following page: the last id of a page that is
// full, or cut by its size.
func nextID[T any](ctx context.Context, list []T, limit int, id func(T) task.ID) string {
	if len(list) < limit && !task.BudgetIn(ctx).Cut() || len(list) == 0 {
		return ""
	}
	return id(list[len(list)-1]).String()
}
