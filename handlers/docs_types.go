package handlers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"taskyard/views"
)

// docsWriter describes schemas, and records the types that it names, so that
// all of them are documented.
type docsWriter struct {
	schemas huma.Registry
	seen    map[string]bool
	list    []string
}

const refPrefix = "#/components/schemas/"

func refName(s *huma.Schema) string { return strings.TrimPrefix(s.Ref, refPrefix) }

// named records a type that must be described.
func (w *docsWriter) named(name string) {
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	if !w.seen[name] {
		w.seen[name] = true
		w.list = append(w.list, name)
	}
}

// types describes every recorded type, and those that they name.
func (w *docsWriter) types() []views.DocType {
	var out []views.DocType
	for i := 0; i < len(w.list); i++ { // the list grows in the loop
		out = append(out, views.DocType{Name: w.list[i], Fields: w.fields(w.schemas.Map()[w.list[i]])})
	}
	slices.SortFunc(out, func(a, b views.DocType) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// fields lists the fields of an object, required ones first.
func (w *docsWriter) fields(s *huma.Schema) []views.DocField {
	var out []views.DocField
	for _, name := range fieldNames(s) {
		f := s.Properties[name]
		out = append(out, views.DocField{
			Name: name, Required: slices.Contains(s.Required, name),
			Type: w.ref(f), Bounds: bounds(f), Doc: schemaDoc(f),
		})
	}
	return out
}

// schemaDoc returns the constraints of a schema beyond its type.
func schemaDoc(s *huma.Schema) string {
	if s.Description == "id" {
		return ""
	}
	return strings.TrimPrefix(s.Description, "id, ")
}

func fieldNames(s *huma.Schema) []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	slices.SortStableFunc(names, func(a, b string) int {
		return rank(slices.Contains(s.Required, a)) - rank(slices.Contains(s.Required, b))
	})
	return names
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// ref returns the type name of a schema.
func (w *docsWriter) ref(s *huma.Schema) views.DocRef {
	switch {
	case len(s.AnyOf) > 0: // or null, which the field's text explains
		return w.ref(s.AnyOf[0])
	case s.Ref != "":
		w.named(refName(s))
		return views.DocRef{Name: refName(s), Linked: true}
	case s.Type == huma.TypeArray:
		item := w.ref(s.Items)
		item.Before = "list of " + item.Before
		return item
	case len(s.OneOf) > 0, s.Pattern == "^[1-9][0-9]*$":
		return views.DocRef{Name: "id"}
	case s.Format == "date-time":
		return views.DocRef{Name: "time"}
	case s.Type == huma.TypeObject:
		if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
			item := w.ref(values)
			item.Before = "object of " + item.Before
			return item
		}
	}
	return views.DocRef{Name: s.Type}
}

// bounds describes the limits of a value, or returns "".
func bounds(s *huma.Schema) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		add("one of %s", strings.Join(words, ", "))
	}
	span := func(low, high, unit string) {
		switch {
		case low != "" && high != "":
			add("%s to %s%s", low, high, unit)
		case low != "":
			add("at least %s%s", low, unit)
		case high != "":
			add("at most %s%s", high, unit)
		}
	}
	span(number(s.Minimum), number(s.Maximum), "")
	span(count(s.MinLength), count(s.MaxLength), " characters")
	span(count(s.MinItems), count(s.MaxItems), " entries")
	if s.Default != nil {
		add("default %v", s.Default)
	}
	return strings.Join(parts, "; ")
}

func number(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

func count(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}
