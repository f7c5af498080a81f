package ui

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"

	"taskyard/task"
)

// FieldErrors maps field names to errors; the key "" is for the whole form.
type FieldErrors map[string]string

// FieldErrorsFrom converts an error that a caller may read to FieldErrors.
func FieldErrorsFrom(err *task.Error) FieldErrors {
	fe := FieldErrors{}
	if err == nil {
		return fe
	}
	for _, f := range err.AllFields() {
		fe[f.Field] = f.Message
	}
	if len(fe) == 0 {
		fe[""] = err.Message
	}
	return fe
}

// FirstFor returns the first error of a field or of an entry of it: that of
// steps[1].title as "step 2 …", which a person finds in the form.
func (fe FieldErrors) FirstFor(field string) string {
	if p := fe[field]; p != "" {
		return p
	}
	first := ""
	for k := range fe {
		if !strings.HasPrefix(k, field+"[") && !strings.HasPrefix(k, field+".") {
			continue
		}
		if first == "" || cmp.Or(cmp.Compare(len(k), len(first)), cmp.Compare(k, first)) < 0 {
			first = k
		}
	}
	if first == "" {
		return ""
	}
	return entryText(field, first[len(field):]) + " " + fe[first]
}

// entryText returns the name of an entry of a field, such as steps and
// [1].title.
func entryText(field, rest string) string {
	index, part, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	n, err := strconv.Atoi(index)
	if err != nil {
		return field + rest
	}
	text := cmp.Or(entries[field], "entry") + " " + strconv.Itoa(n+1)
	if part = strings.TrimPrefix(part, "."); part != "" && part != "title" && part != "value" {
		text += ": " + part
	}
	return text
}

// entries are the names of a field's entries in forms.
var entries = map[string]string{
	"steps": "step", "resources": "link", "labels": "label", "blockedBy": "blocker", "taskIds": "blocker", "setup": "command",
}

// FieldAttrs links a control to its hint and its error for screen readers. The
// first invalid control gets the focus, because it may be far down the page.
func FieldAttrs(id, hint, problem string) templ.Attributes {
	a := templ.Attributes{}
	var by []string
	if hint != "" {
		by = append(by, id+"-hint")
	}
	if problem != "" {
		by = append(by, id+"-err")
		a["aria-invalid"], a["autofocus"] = "true", true
	}
	if len(by) > 0 {
		a["aria-describedby"] = strings.Join(by, " ")
	}
	return a
}

// Sentence returns the error of a field as a sentence: "must not be blank" as
// "Must not be blank."
func Sentence(problem string) string {
	if problem == "" {
		return ""
	}
	r, size := utf8.DecodeRuneInString(problem)
	problem = string(unicode.ToUpper(r)) + problem[size:]
	if !strings.HasSuffix(problem, ".") {
		problem += "."
	}
	return problem
}
