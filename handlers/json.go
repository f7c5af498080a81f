package handlers

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// maxDepth bounds the nesting of JSON in requests.
const maxDepth = 32

// strictJSON rejects duplicate names, names that differ only in case, invalid
// UTF-8, NUL, trailing values, and depth over maxDepth.
var strictJSON = huma.Format{
	Marshal:   func(w io.Writer, v any) error { return json.MarshalWrite(w, v, jsonOut) },
	Unmarshal: readJSON,
}

// jsonOut replaces invalid UTF-8, which an error may repeat from a path, and
// allows duplicate names in transcript data.
var jsonOut = json.JoinOptions(jsontext.EscapeForHTML(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
	json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(fittedTask), json.MarshalToFunc(fittedMessage))))

// fittedTask writes a truncated version of a task that exceeds the size of an
// answer.
func fittedTask(e *jsontext.Encoder, t *task.Task) error {
	if t == nil {
		return errors.ErrUnsupported
	}
	short := t.Fitted(listBytes)
	if short == t {
		return errors.ErrUnsupported
	}
	type plain task.Task // without this method
	return json.MarshalEncode(e, (*plain)(short), jsontext.EscapeForHTML(true), jsontext.AllowInvalidUTF8(true))
}

// fittedMessage writes a truncated version of a message that exceeds the size
// of an answer.
func fittedMessage(e *jsontext.Encoder, m task.Message) error {
	short := m.Fitted(listBytes)
	if short.ContentCut == m.ContentCut {
		return errors.ErrUnsupported
	}
	type plain task.Message // without this method
	return json.MarshalEncode(e, plain(short), jsontext.EscapeForHTML(true), jsontext.AllowInvalidUTF8(true))
}

func marshalJSON(v any) ([]byte, error) { return json.Marshal(v, jsonOut) }

var nul = []byte(`\u0000`)

func readJSON(data []byte, v any) error {
	if err := checkJSON(data); err != nil {
		return err
	}
	err := json.Unmarshal(data, v)
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		return typeMismatch(sem)
	}
	if err != nil {
		return malformed(err.Error())
	}
	return nil
}

// typeMismatch names the field whose value has the wrong type.
func typeMismatch(e *json.SemanticError) error {
	field := strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
	if field == "" {
		return malformed("it must be one object")
	}
	if e.Err != nil && e.GoType == reflect.TypeFor[apiID]() {
		return errors.New(field + ": must be " + idHint)
	}
	if e.GoType != nil && reflect.Int <= e.GoType.Kind() && e.GoType.Kind() <= reflect.Uint64 {
		return errors.New(field + ": must be a whole number within its limits")
	}
	return errors.New(field + ": must be of the right type and within its limits")
}

func checkJSON(data []byte) error {
	if bytes.IndexByte(data, 0) >= 0 || hasEscapedNUL(data) {
		return malformed("must not contain a NUL character")
	}
	depth := 0
	for _, b := range data {
		if b == '{' || b == '[' {
			depth++ // an upper bound: braces in strings count too
		}
	}
	if depth > maxDepth {
		if err := checkDepth(data); err != nil {
			return err
		}
	}
	return nil
}

// hasEscapedNUL finds \u0000 that is not itself escaped.
func hasEscapedNUL(data []byte) bool {
	for at := 0; ; {
		i := bytes.Index(data[at:], nul)
		if i < 0 {
			return false
		}
		i += at
		slashes := 0
		for j := i - 1; j >= 0 && data[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		at = i + 1
	}
}

func checkDepth(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.ReadToken(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return malformed(err.Error())
		}
		if d.StackDepth() > maxDepth {
			return malformed("nests too deep: at most 32 levels")
		}
	}
}

func malformed(detail string) error {
	return task.Errorf(task.Malformed, task.CodeInvalidJSON, "The body is not acceptable JSON: %s", detail)
}
