package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"taskyard/task"
)

// kind is the type of an argument.
type kind int

// The kinds. Each has a schema here and a decoder in decode.go.
const (
	isText   kind = iota
	isID          // "5" or 5
	isCursor      // an ID, or 0
	isCount       // a whole number between min and max
	isBool
	isIDs
	isTexts
	isIndexes
	isSteps
	isResources
	isNever // not allowed; doc says why
)

// arg is an argument of a tool: its schema, and the constraints for a call.
type arg struct {
	name     string
	kind     kind
	doc      string // a few words: they cost tokens in every session
	required bool
	hidden   bool     // accepted, but not in the schema
	min, max int      // for numbers
	enum     []string // for texts
}

// must marks an argument as required.
func (a arg) must() arg {
	a.required = true
	return a
}

// hide removes an argument from the schema; it is still accepted.
func (a arg) hide() arg {
	a.hidden = true
	return a
}

func text(name, doc string) arg                { return arg{name: name, kind: isText, doc: doc} }
func id(name, doc string) arg                  { return arg{name: name, kind: isID, doc: doc} }
func cursor(name, doc string) arg              { return arg{name: name, kind: isCursor, doc: doc} }
func flag(name, doc string) arg                { return arg{name: name, kind: isBool, doc: doc} }
func list(name string, k kind, doc string) arg { return arg{name: name, kind: k, doc: doc} }

func count(name, doc string, lowest, highest int) arg {
	return arg{name: name, kind: isCount, doc: doc, min: lowest, max: highest}
}

func choice(name, doc string, enum ...string) arg {
	return arg{name: name, kind: isText, doc: doc, enum: enum}
}

// oneID is the type of IDs in answers. A number is accepted too, but not
// declared, because some models reject a tool whose schema has two types for
// one argument.
const oneID = `"type":"string"`

// stepArgs and resourceArgs are the members of the objects in a list.
var (
	stepArgs = []arg{
		text("title", "1-60 characters").must(), text("details", "how"), flag("done", "finished"),
		{name: "taskId", kind: isNever, doc: "is written only by create_subtask; leave it out"},
	}
	resourceArgs = []arg{choice("type", "kind", "url", "file").must(), text("value", "URL or absolute path").must(), text("label", "name")}
)

// schema returns the JSON schema of one argument.
func (a arg) schema() string {
	var s string
	switch a.kind {
	case isText:
		s = `"type":"string"`
		if a.enum != nil {
			s += `,"enum":["` + strings.Join(a.enum, `","`) + `"]`
		}
	case isID, isCursor:
		s = oneID
	case isCount:
		s = `"type":"integer"`
		if a.max > 0 && a.max < task.MaxPriority { // other bounds are checked, but not worth their tokens in every session
			s += fmt.Sprintf(`,"maximum":%d`, a.max)
		}
	case isBool:
		s = `"type":"boolean"`
	case isIDs:
		s = `"type":"array","items":{` + oneID + `}`
	case isTexts:
		s = `"type":"array","items":{"type":"string"}`
	case isIndexes:
		s = `"type":"array","items":{"type":"integer"}`
	case isSteps:
		s = `"type":"array","items":` + string(argsSchema(stepArgs))
	case isResources:
		s = `"type":"array","items":` + string(argsSchema(resourceArgs))
	}
	return `{` + s + `,"description":` + quote(a.doc) + `}`
}

// argsSchema returns the flat schema of a tool's arguments. It is assembled by
// hand for its order: agents read the required ones first. It does not forbid
// other names, because decode does that and also accepts task_id for taskId.
func argsSchema(args []arg) json.RawMessage {
	props, required := []string{}, []string{}
	for _, a := range args {
		if a.kind == isNever || a.hidden {
			continue
		}
		props = append(props, quote(a.name)+":"+a.schema())
		if a.required {
			required = append(required, quote(a.name))
		}
	}
	s := `{"type":"object","properties":{` + strings.Join(props, ",") + `}`
	if len(required) > 0 {
		s += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return json.RawMessage(s + "}")
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return string(b)
}

// snake returns the snake_case form of a camelCase name; agents use both.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// camel returns the camelCase form of a snake_case name.
func camel(name string) string {
	head, rest, more := strings.Cut(name, "_")
	for more {
		var part string
		part, rest, more = strings.Cut(rest, "_")
		if part != "" {
			head += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return head
}
