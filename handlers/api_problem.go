package handlers

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"taskyard/task"
)

// huma's texts and switches are package variables. They are set once, before
// any server is created.
func init() {
	huma.ValidateStrictCasing = true // otherwise "Title" would be accepted as "title" and lost
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return newProblem(status, msg, errs, nil)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		p := newProblem(status, msg, errs, ctx.Operation())
		p.RequestID = requestIDFromContext(ctx.Context())
		return p
	}
	validation.MsgUnexpectedProperty = "is not a known field"
	validation.MsgExpectedRequiredProperty = "%s" + isRequired
	validation.MsgExpectedMatchExactlyOneSchema = `must be an id: a positive whole number such as 5 or "5"`
	validation.MsgExpectedInteger = "must be a whole number"
	validation.MsgExpectedNumber = "must be a number"
	validation.MsgExpectedString = "must be a string"
	validation.MsgExpectedBoolean = "must be true or false"
	validation.MsgExpectedArray = "must be a list"
	validation.MsgExpectedObject = "must be an object"
	validation.MsgExpectedOneOf = "must be one of %s"
	validation.MsgExpectedMinimumNumber = "must be at least %v"
	validation.MsgExpectedMaximumNumber = "must be at most %v"
	validation.MsgExpectedBePattern = "must be %s"
	validation.MsgExpectedMatchPattern = "must match %s"
}

const isRequired = " is required"

// parameterText returns the text for a parameter that cannot be parsed: the
// same as for that mistake in a body. huma's own texts for it cannot be
// changed.
func parameterText(message string) string {
	switch message {
	case "invalid integer":
		return validation.MsgExpectedInteger
	case "invalid float", "invalid floating value":
		return validation.MsgExpectedNumber
	case "invalid boolean":
		return validation.MsgExpectedBoolean
	}
	return strings.TrimPrefix(message, "invalid value: ")
}

// immutable contains fields that callers may never set. The last one belongs to
// steps.
var immutable = map[string]bool{"id": true, "createdBy": true, "createdAt": true, "threadId": true, "taskId": true}

// newProblem converts huma's own errors of an operation, if known, to our body
// and codes.
func newProblem(status int, msg string, errs []error, op *huma.Operation) *Problem {
	if msg == "request body is required" {
		msg = "The body is missing: send a JSON object"
	}
	p := &Problem{Status: status, Code: codeFromStatus(status), Detail: msg}
	var known nameFolds
	for _, err := range errs {
		var e *task.Error
		var big *http.MaxBytesError
		var d huma.ErrorDetailer
		switch {
		case errors.As(err, &e):
			return problemFromTaskError(e)
		case errors.As(err, &big):
			return problemFromTaskError(errTooLarge)
		case errors.As(err, &d):
			p.note(d.ErrorDetail(), &known, op)
		case status == http.StatusInternalServerError: // huma could not read the body
			return problemFromTaskError(unreadable)
		}
	}
	p.Title = http.StatusText(p.Status)
	if p.Code == string(task.CodeInvalidField) && len(p.Errors) > 0 {
		p.Detail = task.JoinFields(p.Errors, p.More)
	}
	return p
}

var unreadable = task.Errorf(task.Malformed, task.CodeInvalidJSON, "The body could not be read to its end")

// note adds one error detail of huma.
func (p *Problem) note(d *huma.ErrorDetail, known *nameFolds, op *huma.Operation) {
	malformed := func(why string) {
		p.Status, p.Code, p.Detail = http.StatusBadRequest, string(task.CodeInvalidJSON), why
	}
	field, message := fieldFromLocation(d.Location), parameterText(d.Message)
	switch {
	case p.Status == http.StatusUnsupportedMediaType:
		p.Detail = "Send Content-Type: application/json"
		return
	case d.Location == "body" && p.Status == http.StatusBadRequest:
		malformed(message)
		return
	case d.Location == "body" && message == validation.MsgExpectedObject:
		malformed("The body must be one JSON object")
		return
	case d.Location == "body" && !strings.HasSuffix(message, isRequired):
		// The type matches, but the value does not, such as a number too large
		// for its field; readJSON puts the field first.
		if f, m, ok := strings.Cut(message, ": "); ok {
			field, message = f, m
		}
	case message == validation.MsgUnexpectedProperty:
		name := field[strings.LastIndexByte(field, '.')+1:]
		if other := known.otherCase(d.Value, name); other != "" {
			malformed("The body is not acceptable JSON: it has both " + name + " and " + other)
			return
		}
		if immutable[name] && p.Status == http.StatusUnprocessableEntity {
			p.Code, message = string(task.CodeImmutableField), "never changes; leave it out"
			p.Detail = field + ": " + message
		} else if !known.reported { // each further one would repeat it
			known.reported = true
			message += knownFields(op, field)
		}
	}
	if name, ok := strings.CutSuffix(message, isRequired); ok && !strings.Contains(name, " ") {
		if field == "body" {
			field = name
		} else {
			field += "." + name
		}
		message = "is required"
	}
	if len(p.Errors) == task.MaxProblems {
		p.More++
		return
	}
	p.Errors = append(p.Errors, task.FieldError{Field: task.ClipText(field, 200), Message: task.ClipText(message, 2000)})
}

// registryKey is the key under which an operation stores the registry of its
// schemas.
const registryKey = "registry"

// knownFields lists the fields of the object that contains a field, such as
// steps[0].title; "" if the body has no such object.
func knownFields(op *huma.Operation, field string) string {
	object := bodySchema(op)
	if object == nil {
		return ""
	}
	registry, _ := op.Metadata[registryKey].(huma.Registry)
	object = resolved(registry, object)
	for more := true; more && object != nil; {
		var name string
		if name, field, more = strings.Cut(field, "."); !more {
			break
		}
		name, items, _ := strings.Cut(name, "[")
		object = resolved(registry, object.Properties[name])
		for range strings.Count(items, "]") {
			if object != nil {
				object = resolved(registry, object.Items)
			}
		}
	}
	if object == nil || object.Type != huma.TypeObject {
		return ""
	}
	if len(object.Properties) == 0 {
		return "; there are none"
	}
	return "; known are " + strings.Join(slices.Sorted(maps.Keys(object.Properties)), ", ")
}

// nameFolds finds names of an object that differ only in case. It folds the
// names of each object once, because a request may contain very many.
type nameFolds struct {
	object   uintptr // the object whose names are in first
	first    map[string][]string
	reported bool // the known names were reported
}

// otherCase returns another name of the object that differs from name only in
// case, or "".
func (f *nameFolds) otherCase(object any, name string) string {
	m, ok := object.(map[string]any)
	if !ok {
		return ""
	}
	if at := reflect.ValueOf(m).Pointer(); f.first == nil || f.object != at {
		f.object, f.first = at, make(map[string][]string, len(m))
		for k := range m {
			low := strings.ToLower(k)
			f.first[low] = append(f.first[low], k)
		}
	}
	for _, k := range f.first[strings.ToLower(name)] {
		if k != name {
			return k
		}
	}
	return ""
}

// fieldFromLocation converts huma's "body.steps[0].title" to "steps[0].title".
func fieldFromLocation(location string) string {
	for _, p := range []string{"body.", "query.", "path.", "header."} {
		if f, ok := strings.CutPrefix(location, p); ok {
			return f
		}
	}
	return location
}

func codeFromStatus(status int) string {
	switch status {
	case http.StatusBadRequest:
		return string(task.CodeInvalidJSON)
	case http.StatusRequestEntityTooLarge:
		return string(task.CodeBodyTooLarge)
	case http.StatusUnsupportedMediaType:
		return string(task.CodeUnsupportedMedia)
	case http.StatusNotFound:
		return string(task.CodeNotFound)
	case http.StatusUnprocessableEntity:
		return string(task.CodeInvalidField)
	}
	return string(task.CodeInternal)
}
