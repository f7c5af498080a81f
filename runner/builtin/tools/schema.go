package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxArgs bounds the arguments of a call, in bytes of JSON: a file of 1 MiB in
// which every byte is escaped.
const maxArgs = 6*maxWrite + 64<<10

// tool is an entry of the table.
type tool struct {
	name, description string
	raw               json.RawMessage
	run               func(context.Context, *Box, json.RawMessage) (Result, error)
}

// table lists the tools, harmless ones first.
var table = sync.OnceValue(func() []tool {
	path := text("path in the workspace", 1, maxPath)
	offset := func(of string) *jsonschema.Schema { return number("first "+of+" to show, from 1", 1, 1<<31-1) }
	return []tool{
		declare("read", readAbout, (*Box).read, fields{
			"path": path, "offset": offset("line"), "limit": number("lines to show, 500 by default", 1, maxReadLines),
			"column": number("first character of each line to show, from 1", 1, 1<<31-1),
		}, "path"),
		declare("list", listAbout, (*Box).list, fields{
			"path": text("folder in the workspace; the workspace itself by default", 0, maxPath), "offset": offset("entry"),
		}),
		declare("glob", globAbout, (*Box).glob, fields{
			"pattern": text("pattern such as src/**/*.go", 1, 1000), "offset": offset("file"),
			"path": text("folder to search; the workspace by default", 0, maxPath),
		}, "pattern"),
		declare("grep", grepAbout, (*Box).grep, fields{
			"pattern": text("regular expression (RE2)", 1, 1000), "offset": offset("hit"),
			"path": text("file or folder to search; the workspace by default", 0, maxPath),
			"glob": text("only files that match, such as *.go or src/**/*.ts", 0, 1000), "ignore_case": {Type: "boolean"},
			"context": number("lines to show around each hit", 0, 10),
		}, "pattern"),
		declare("fetch", fetchAbout, (*Box).fetch, fields{
			"url": text("http or https address", 1, 2000), "offset": number("first byte of the text to show, from 1", 1, 1<<31-1),
		}, "url"),
		declare("create", createAbout, (*Box).create, fields{
			"path": path, "content": text("the complete text of the file", 0, maxWrite),
		}, "path", "content"),
		declare("edit", editAbout, (*Box).edit, fields{
			"path": path, "old_text": text("the exact current text; it must occur once in the file", 1, maxWrite),
			"new_text": text("the text that replaces it", 0, maxWrite),
		}, "path", "old_text", "new_text"),
		declare("bash", bashAbout, (*Box).bash, fields{
			"command": text("shell command", 1, maxCommand), "timeout": number("seconds until it is stopped, 120 by default", 1, maxShellSeconds),
		}, "command"),
	}
})

type fields = map[string]*jsonschema.Schema

func text(about string, minLength, maxLength int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: about, MinLength: &minLength, MaxLength: &maxLength}
}

func number(about string, minimum, maximum float64) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Description: about, Minimum: &minimum, Maximum: &maximum}
}

// find returns a tool by name, or nil.
func find(name string) *tool {
	for i, t := range table() {
		if t.name == name {
			return &table()[i]
		}
	}
	return nil
}

// declare returns a tool whose arguments are validated by a schema and decoded
// into A.
func declare[A any](name, about string, run func(*Box, context.Context, A) (Result, error), props fields, required ...string) tool {
	schema := &jsonschema.Schema{
		Type: "object", Properties: props, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	resolved, err := schema.Resolve(nil)
	raw, err2 := json.Marshal(schema)
	if err := errors.Join(err, err2); err != nil {
		panic(fmt.Sprintf("the schema of %s is wrong: %v", name, err)) // the schema is our own, and every test compiles it
	}
	return tool{name: name, description: about, raw: raw, run: func(ctx context.Context, b *Box, args json.RawMessage) (Result, error) {
		var a A
		if err := decode(resolved, args, &a); err != nil {
			return Result{}, fmt.Errorf("the arguments of %s are wrong: %w", name, err)
		}
		if ctx.Err() != nil {
			return Result{}, errStopped
		}
		return run(b, ctx, a)
	}}
}

// errStopped is the result of a call whose run is stopped.
var errStopped = errors.New("the call was stopped, because the run is being stopped")

// decode validates and decodes arguments. The error names the field.
func decode(schema *jsonschema.Resolved, args json.RawMessage, into any) error {
	if len(args) > maxArgs {
		return fmt.Errorf("they are %s bytes long, at most %s are allowed", count(len(args)), count(maxArgs))
	}
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("they are no JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("they are no JSON: something follows the value")
	}
	if o, ok := v.(map[string]any); ok && normalizeArgs(o, schema.Schema().Properties) {
		var err error
		if args, err = json.Marshal(o); err != nil {
			return err
		}
	}
	if err := schema.Validate(v); err != nil {
		return errors.New(schemaError(err))
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(args, into); errors.As(err, &wrong) {
		return fmt.Errorf("%s: want a whole number, such as 5, not %s", wrong.Field, wrong.Value)
	} else if err != nil {
		return err
	}
	return nil
}

// argAliases maps argument names that models know from the tools of other programs
// to ours. A model repeats such a name even after an error.
var argAliases = map[string]string{"file_path": "path", "old_string": "old_text", "new_string": "new_text"}

// normalizeArgs renames and drops arguments that models send out of habit, and
// reports whether there were any. Arguments that a schema declares are never
// changed.
func normalizeArgs(args map[string]any, declared fields) (changed bool) {
	for theirs, ours := range argAliases {
		v, sent := args[theirs]
		_, both := args[ours]
		if sent && !both && declared[theirs] == nil && declared[ours] != nil {
			delete(args, theirs)
			args[ours], changed = v, true
		}
	}
	// Other shells accept a description of the command for people who watch.
	if _, sent := args["description"]; sent && declared["command"] != nil && declared["description"] == nil {
		delete(args, "description")
		changed = true
	}
	return changed
}

// schemaError shortens "validating root: validating /properties/limit: …" to
// "limit: …". The library repeats whole values, which is noise, and writes
// numbers as fractions.
func schemaError(err error) string {
	s := strings.TrimPrefix(err.Error(), "validating root: ")
	s = strings.TrimPrefix(s, "validating /properties/")
	return cutMiddle(strings.NewReplacer(".000000", "", "/1 is ", " is ").Replace(s), 300)
}
