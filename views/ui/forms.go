package ui

import (
	"strings"

	"github.com/a-h/templ"

	"taskyard/task"
)

// FieldErrors says by field name what is wrong; the key "" is for the whole form.
type FieldErrors map[string]string

// FieldErrorsFrom turns an error that a caller may read into FieldErrors.
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

// Under returns the first problem of a field or of a part of it, such as
// steps[2].title for steps.
func (fe FieldErrors) Under(field string) string {
	if p := fe[field]; p != "" {
		return p
	}
	first := ""
	for k := range fe {
		if (strings.HasPrefix(k, field+"[") || strings.HasPrefix(k, field+".")) && (first == "" || k < first) {
			first = k
		}
	}
	if first == "" {
		return ""
	}
	return first + " " + fe[first]
}

// FieldAttrs ties a control to its hint and its error for screen readers. The
// first that is wrong has the focus: it may be far down the page.
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
