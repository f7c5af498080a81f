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
	// smallBody is the largest body, in bytes, that only huma checks. Its cost
	// per wrong field is acceptable for that size.
	smallBody = 4 << 10
	// maxListed bounds lists whose schema has no bound.
	maxListed = 1000
	// maxFreeValue bounds values of any type, in bytes.
	maxFreeValue = task.MaxReportText
)

// bounded rejects a body with more mistakes than an error lists, before huma
// builds values and one error per mistake from all of it, which takes minutes
// for 1 MiB. It reads the body once, token by token, against the schema of the
// operation, and counts unknown fields and exceeded bounds.
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

// resolved returns the schema that a reference points to; nil stays nil.
func resolved(registry huma.Registry, s *huma.Schema) *huma.Schema {
	for s != nil && s.Ref != "" {
		s = registry.SchemaFromRef(s.Ref)
	}
	return s
}

// checkShape returns an error if the body has more wrong fields than an error
// lists, or exceeds a bound. Invalid JSON passes, because readJSON reports it.
func (s *Server) checkShape(schema *huma.Schema, body []byte) error {
	c := &shapeChecker{schemas: s.api.OpenAPI().Components.Schemas, d: jsontext.NewDecoder(bytes.NewBuffer(body),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if err := c.value(schema, ""); err != nil || !c.exceeded && c.problems.Count() <= task.MaxProblems {
		return nil
	}
	return c.problems.Err()
}

// shapeChecker counts the mistakes in a body, as far as a schema limits names and
// counts.
type shapeChecker struct {
	schemas  huma.Registry
	d        *jsontext.Decoder
	problems task.Problems
	exceeded bool // a bound was exceeded
}

var errTooDeep = errors.New("nests too deep")

// value reads one value. at is its name in errors; "": the body itself.
func (c *shapeChecker) value(schema *huma.Schema, at string) error {
	if c.d.StackDepth() > maxDepth {
		return errTooDeep
	}
	schema = resolved(c.schemas, schema)
	kind := c.d.PeekKind()
	switch {
	case schema == nil || schema.Type == "" && len(schema.OneOf) == 0:
		return c.free(at)
	case kind == '{' && schema.Type == huma.TypeObject:
		return c.object(schema, at)
	case kind == '[' && schema.Type == huma.TypeArray:
		return c.list(schema, at)
	case kind == '{' || kind == '[':
		return c.addProblem(at, expected(schema.Type))
	}
	return c.d.SkipValue()
}

// expected returns huma's message for a value of the wrong type.
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

// addProblem counts a wrong value and skips it. A large one is rejected at once,
// because huma would build all of it first.
func (c *shapeChecker) addProblem(at, message string) error {
	from := c.d.InputOffset()
	c.problems.Add(at, "%s", message)
	err := c.d.SkipValue()
	c.exceeded = c.exceeded || c.d.InputOffset()-from > smallBody
	return err
}

// free reads a value of any type and bounded size.
func (c *shapeChecker) free(at string) error {
	from := c.d.InputOffset()
	err := c.d.SkipValue()
	if n := c.d.InputOffset() - from; err == nil && n > maxFreeValue+2 {
		c.exceeded = true
		c.problems.Add(at, "must be at most %d bytes of JSON, not %d", maxFreeValue, n)
	}
	return err
}

func (c *shapeChecker) object(schema *huma.Schema, at string) error {
	if _, err := c.d.ReadToken(); err != nil {
		return err
	}
	for c.d.PeekKind() != '}' {
		name, err := c.d.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		if p, ok := schema.Properties[key]; ok {
			err = c.value(p, within(at, key))
		} else {
			err = c.addProblem(within(at, key), validation.MsgUnexpectedProperty)
		}
		if err != nil {
			return err
		}
	}
	_, err := c.d.ReadToken()
	return err
}

func (c *shapeChecker) list(schema *huma.Schema, at string) error {
	limit := maxListed
	if schema.MaxItems != nil {
		limit = *schema.MaxItems
	}
	if _, err := c.d.ReadToken(); err != nil {
		return err
	}
	n := 0
	for ; c.d.PeekKind() != ']'; n++ {
		var err error
		if n < limit {
			err = c.value(schema.Items, at+"["+strconv.Itoa(n)+"]")
		} else {
			err = c.d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if n > limit {
		c.exceeded = true
		c.problems.Add(at, "must have at most %d items, has %d", limit, n)
	}
	_, err := c.d.ReadToken()
	return err
}

// within returns the name of a nested field as used in errors:
// "steps[0].title".
func within(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
