package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// values are the arguments of a call by their names in the schema, each with
// the Go type of its kind.
type values map[string]any

// decode decodes the arguments of a call strictly: unknown, missing, repeated,
// wrongly typed and blank ones are reported together, by name. self is the ID of
// the agent that calls, if it is one.
func decode(args []arg, raw json.RawMessage, self string) (values, error) {
	if depth, _ := scan(raw); depth > maxDepth {
		return nil, malformed("they nest deeper than 32 levels")
	}
	got, err := fields(raw)
	if err != nil {
		return nil, err
	}
	v := values{}
	var p problems
	for _, f := range got {
		a, ok := find(args, f.name)
		switch {
		case !ok:
			p.Add(f.name, "%s", unknown(args, got, f.name))
		case v.has(a.name):
			p.Add(f.name, "is given twice, as %s too", a.name)
		default:
			v[a.name] = read(&p, a, f.name, f.value)
		}
	}
	for _, a := range args {
		if a.required && !v.has(a.name) {
			what := cmp.Or(longDescriptions[a.doc], a.doc)
			if a.doc == "you" && self != "" {
				what += ", " + self
			}
			p.Add(a.name, "is required: %s", what)
		}
	}
	return v, p.Err()
}

type field struct {
	name  string
	value jsontext.Value
}

// fields returns the members of an object in order. It rejects repeated names,
// invalid UTF-8, and more than maxMembers.
func fields(raw json.RawMessage) ([]field, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw)) // the decoder uses the buffer in place
	if t, err := d.ReadToken(); err != nil {
		return nil, malformed(err.Error())
	} else if t.Kind() != '{' {
		return nil, malformed("they must be one object")
	}
	var list []field
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, malformed(err.Error())
		}
		f := field{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, malformed(err.Error())
		}
		end := int(d.InputOffset())
		f.value = jsontext.Value(raw[end-len(value) : end]) // value itself is valid only until the next read
		if list = append(list, f); len(list) > maxMembers {
			return nil, malformed("an object has more than 64 members")
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, malformed(err.Error())
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformed("something follows the object")
	}
	return list, nil
}

func malformed(why string) error {
	return task.Errorf(task.Malformed, task.CodeInvalidJSON, "The arguments are not acceptable JSON: %s", why)
}

// find returns the argument with a name in either spelling.
func find(args []arg, name string) (arg, bool) {
	i := slices.IndexFunc(args, func(a arg) bool { return a.name == name || snake(a.name) == name || camel(a.name) == name })
	if i < 0 {
		return arg{}, false
	}
	return args[i], true
}

// immutable contains fields that callers may never set.
var immutable = []string{"id", "createdBy", "createdAt", "threadId", "created_by", "created_at", "thread_id"}

// longDescriptions expands the shortest descriptions of arguments for sentences.
var longDescriptions = map[string]string{"you": "the ID of the agent that you are", "task": "the ID of the task"}

func unknown(args []arg, got []field, name string) string {
	given := func(a arg) bool {
		return slices.ContainsFunc(got, func(f field) bool { b, ok := find(args, f.name); return ok && a.name == b.name })
	}
	for _, a := range args {
		if name == "id" && a.kind == isID && a.required && !given(a) {
			return "is not a known argument; use " + a.name
		}
	}
	if slices.Contains(immutable, name) {
		return "never changes; leave it out"
	}
	if len(args) == 0 {
		return "is not a known argument; there are none"
	}
	var known []string
	for _, a := range args {
		if a.kind != isNever {
			known = append(known, a.name)
		}
	}
	return "is not a known argument; known are " + strings.Join(known, ", ")
}

// read returns the value of one argument, or reports its problem.
func read(p *problems, a arg, name string, raw jsontext.Value) any {
	invalid := func(why string) any {
		if raw.Kind() == 'n' {
			why += ", not null; leave it out if there is none"
		}
		p.Add(name, "%s", why)
		return nil
	}
	switch a.kind {
	case isText:
		return readText(p, a, name, raw, invalid)
	case isID, isCursor:
		n, ok := parseID(raw, a.kind == isCursor)
		if !ok {
			return invalid(`must be an id: a positive whole number such as 5 or "5"`)
		}
		return n
	case isCount:
		return readCount(p, a, name, raw, invalid)
	case isNever:
		p.Add(name, "%s", a.doc)
		return nil
	case isBool:
		if k := raw.Kind(); k != 't' && k != 'f' {
			return invalid("must be true or false")
		}
		return raw.Kind() == 't'
	}
	if raw.Kind() != '[' {
		return invalid("must be a list")
	}
	items, ok := listItems(raw)
	if !ok {
		return invalid("must have at most 1000 items")
	}
	return readList(p, a.kind, name, items)
}

func readText(p *problems, a arg, name string, raw jsontext.Value, invalid func(string) any) any {
	if raw.Kind() != '"' {
		return invalid("must be a string")
	}
	s := unquote(raw)
	switch {
	case a.required && strings.TrimSpace(s) == "":
		return invalid("must not be blank")
	case a.enum != nil && !slices.Contains(a.enum, s):
		return invalid("must be one of " + strings.Join(a.enum, ", "))
	}
	p.checkText(name, s)
	return s
}

func readCount(p *problems, a arg, name string, raw jsontext.Value, invalid func(string) any) any {
	n, err := strconv.Atoi(string(raw))
	switch {
	case raw.Kind() != '0' || err != nil:
		return invalid("must be a whole number")
	case a.max > 0 && (n < a.min || n > a.max):
		p.Add(name, "must be %d to %d", a.min, a.max)
	case n < a.min:
		p.Add(name, "must be at least %d", a.min)
	}
	return n
}

// unquote decodes a JSON string.
func unquote(raw jsontext.Value) string {
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "" // the decoder has validated it
	}
	return string(b)
}

func parseID(raw jsontext.Value, orZero bool) (task.ID, bool) {
	s := string(raw)
	switch raw.Kind() {
	case '"':
		s = unquote(raw)
	case '0':
	default:
		return 0, false
	}
	if orZero && s == "0" {
		return 0, true
	}
	n, err := task.ParseID(s)
	return n, err == nil
}
