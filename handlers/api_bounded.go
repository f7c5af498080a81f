package handlers

import (
	"bytes"
	"errors"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

const (
	// smallBody is how many bytes a body may have to be checked only by huma,
	// whose cost per wrong field is fine for as many as fit in here.
	smallBody = 4 << 10
	// maxListed is how many items a list in a body may have where its schema
	// names no bound.
	maxListed = 1000
	// maxFreeValue is how many bytes a value of any form may have.
	maxFreeValue = task.MaxReportText
)

// bounded refuses a body with more mistakes than an error lists, before huma
// builds values and one error per mistake from all of it: that costs minutes
// for a body of 1 MiB. It reads the body once, token by token, against the
// schema of the operation; what is unknown or over a bound is counted.
func (s *Server) bounded(path, method string) func(huma.Context, func(huma.Context)) {
	schema := sync.OnceValue(func() *huma.Schema { return bodySchema(findOperation(s.api.OpenAPI().Paths[path], method)) })
	return func(ctx huma.Context, next func(huma.Context)) {
		c := humaecho.Unwrap(ctx)
		r := c.Request()
		if n := r.ContentLength; n >= 0 && n <= smallBody || schema() == nil {
			next(ctx)
			return
		}
		body, err := readBody(r)
		if err == nil {
			err = s.checkShape(schema(), body)
		}
		if err != nil {
			s.fail(err, c)
			return
		}
		next(ctx)
	}
}

// bodySchema returns the schema of the body of an operation, or nil.
func bodySchema(o *huma.Operation) *huma.Schema {
	if o == nil || o.RequestBody == nil || o.RequestBody.Content[jsonType] == nil {
		return nil
	}
	return o.RequestBody.Content[jsonType].Schema
}

// resolved returns the schema to which a reference leads; nil stays nil.
func resolved(registry huma.Registry, s *huma.Schema) *huma.Schema {
	for s != nil && s.Ref != "" {
		s = registry.SchemaFromRef(s.Ref)
	}
	return s
}

// checkShape returns an error if the body has more wrong fields than an error
// lists, or is over a bound. What is no JSON passes: readJSON says why.
func (s *Server) checkShape(schema *huma.Schema, body []byte) error {
	w := &shapeWalk{schemas: s.api.OpenAPI().Components.Schemas, d: jsontext.NewDecoder(bytes.NewBuffer(body),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if err := w.value(schema, ""); err != nil || !w.over && w.bad.Count() <= task.MaxProblems {
		return nil
	}
	return w.bad.Err()
}

// shapeWalk counts what is wrong with a body, as far as a schema says by
// names and numbers of things.
type shapeWalk struct {
	schemas huma.Registry
	d       *jsontext.Decoder
	bad     task.Problems
	over    bool // something is over a bound
}

var errNotWalked = errors.New("nests too deep")

// value reads one value. at is its name in errors; "" is the body itself.
func (w *shapeWalk) value(schema *huma.Schema, at string) error {
	if w.d.StackDepth() > maxDepth {
		return errNotWalked
	}
	schema = resolved(w.schemas, schema)
	kind := w.d.PeekKind()
	switch {
	case schema == nil || schema.Type == "" && len(schema.OneOf) == 0:
		return w.free(at)
	case kind == '{' && schema.Type == huma.TypeObject:
		return w.object(schema, at)
	case kind == '[' && schema.Type == huma.TypeArray:
		return w.list(schema, at)
	case kind == '{' || kind == '[':
		return w.wrong(at, expected(schema.Type))
	}
	return w.d.SkipValue()
}

// expected is huma's message for a value of the wrong type.
func expected(t string) string {
	switch t {
	case huma.TypeObject:
		return validation.MsgExpectedObject
	case huma.TypeArray:
		return validation.MsgExpectedArray
	case huma.TypeString:
		return validation.MsgExpectedString
	case huma.TypeInteger:
		return validation.MsgExpectedInteger
	case huma.TypeNumber:
		return validation.MsgExpectedNumber
	case huma.TypeBoolean:
		return validation.MsgExpectedBoolean
	}
	return validation.MsgExpectedMatchExactlyOneSchema
}

// wrong notes a value and passes it over. A large one is refused for it here:
// huma would build all of it first.
func (w *shapeWalk) wrong(at, message string) error {
	from := w.d.InputOffset()
	w.bad.Add(at, "%s", message)
	err := w.d.SkipValue()
	w.over = w.over || w.d.InputOffset()-from > smallBody
	return err
}

// free reads a value that may be anything of a bounded size.
func (w *shapeWalk) free(at string) error {
	from := w.d.InputOffset()
	err := w.d.SkipValue()
	if n := w.d.InputOffset() - from; err == nil && n > maxFreeValue+2 {
		w.over = true
		w.bad.Add(at, "must be at most %d bytes of JSON, is %d", maxFreeValue, n)
	}
	return err
}

func (w *shapeWalk) object(schema *huma.Schema, at string) error {
	if _, err := w.d.ReadToken(); err != nil {
		return err
	}
	for w.d.PeekKind() != '}' {
		name, err := w.d.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		if p, ok := schema.Properties[key]; ok {
			err = w.value(p, within(at, key))
		} else {
			err = w.wrong(within(at, key), validation.MsgUnexpectedProperty)
		}
		if err != nil {
			return err
		}
	}
	_, err := w.d.ReadToken()
	return err
}

func (w *shapeWalk) list(schema *huma.Schema, at string) error {
	most := maxListed
	if schema.MaxItems != nil {
		most = *schema.MaxItems
	}
	if _, err := w.d.ReadToken(); err != nil {
		return err
	}
	n := 0
	for ; w.d.PeekKind() != ']'; n++ {
		var err error
		if n < most {
			err = w.value(schema.Items, at+"["+strconv.Itoa(n)+"]")
		} else {
			err = w.d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if n > most {
		w.over = true
		w.bad.Add(at, "must have at most %d items, has %d", most, n)
	}
	_, err := w.d.ReadToken()
	return err
}

// within names a field of an object as errors do: "steps[0].title".
func within(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
