package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// fields are the members of one JSON object. Members that are never read are
// reported as left out.
type fields struct {
	r     *Report
	where string
	m     map[string]jsontext.Value
	read  map[string]bool
}

// object parses a JSON object; nil: v is not an object.
func (r *Report) object(where string, v jsontext.Value) *fields {
	f := &fields{r, where, map[string]jsontext.Value{}, map[string]bool{}}
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if d.PeekKind() != '{' {
		r.AddProblem(where, "must be a JSON object, not %s", describeKind(v))
		return nil
	}
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != '}' {
		var name jsontext.Token
		var value jsontext.Value
		if name, err = d.ReadToken(); err != nil {
			break
		}
		key := name.String()
		if value, err = d.ReadValue(); err == nil {
			f.m[key] = value.Clone()
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if err == nil {
		if _, end := d.ReadToken(); !errors.Is(end, io.EOF) {
			err = errMore
		}
	}
	if err != nil {
		r.AddProblem(where, "%s", plainJSON(err))
		return nil
	}
	return f
}

var errMore = errors.New("there is something after its end")

// plainJSON describes a syntax error without terms of the library.
func plainJSON(err error) string {
	var s *jsontext.SyntacticError
	if errors.As(err, &s) && s.Err != nil {
		return "is not JSON: " + strings.TrimPrefix(s.Err.Error(), "jsontext: ")
	}
	return "is not JSON: " + strings.TrimPrefix(err.Error(), "jsontext: ")
}

func describeKind(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return "text"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	case '[':
		return "a list"
	case '{':
		return "an object"
	}
	return "null"
}

func (f *fields) at(name string) string { return f.where + "." + name }

// get returns a member, or nil if it is absent or null.
func (f *fields) get(name string) jsontext.Value {
	f.read[name] = true
	if v := f.m[name]; v != nil && v.Kind() != 'n' {
		return v
	}
	return nil
}

func (f *fields) addTypeError(name, want string, v jsontext.Value) {
	f.r.AddProblem(f.at(name), "must be %s, not %s", want, describeKind(v))
}

// text reads a string, "" when absent.
func (f *fields) text(name string) string {
	v := f.get(name)
	if v == nil {
		return ""
	}
	if v.Kind() != '"' {
		f.addTypeError(name, "text", v)
		return ""
	}
	return unquote(v)
}

func unquote(v jsontext.Value) string {
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

// ref reads an ID: text, or a whole number in decimal form.
func (f *fields) ref(name string) string {
	v := f.get(name)
	if v == nil {
		return ""
	}
	s, ok := parseRef(v)
	if !ok {
		f.addTypeError(name, "an id: text or a whole number", v)
	}
	return s
}

func parseRef(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		return strings.TrimSpace(unquote(v)), true
	case '0':
		n, err := strconv.ParseInt(string(v), 10, 64)
		return strconv.FormatInt(n, 10), err == nil
	}
	return "", false
}

// refs reads a list of IDs.
func (f *fields) refs(name string) []string {
	var out []string
	for i, v := range f.list(name) {
		s, ok := parseRef(v)
		if !ok || s == "" {
			f.r.AddProblem(fmt.Sprintf("%s[%d]", f.at(name), i), "must be an id: text or a whole number, not %s", describeKind(v))
			continue
		}
		out = append(out, s)
	}
	return out
}

// texts reads a list of strings.
func (f *fields) texts(name string) []string {
	var out []string
	for i, v := range f.list(name) {
		if v.Kind() != '"' {
			f.r.AddProblem(fmt.Sprintf("%s[%d]", f.at(name), i), "must be text, not %s", describeKind(v))
			continue
		}
		out = append(out, unquote(v))
	}
	return out
}

// wholeNumber reads a whole number; ok is false if it is absent or wrong.
func (f *fields) wholeNumber(name string) (n int, ok bool) {
	v := f.get(name)
	if v == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(v))
	if v.Kind() != '0' || err != nil {
		f.r.AddProblem(f.at(name), "must be a whole number, not %s", task.Quote(string(v)))
		return 0, false
	}
	return n, true
}

func (f *fields) flag(name string) bool {
	v := f.get(name)
	if v == nil {
		return false
	}
	if k := v.Kind(); k != 't' && k != 'f' {
		f.addTypeError(name, "true or false", v)
	}
	return v.Kind() == 't'
}

// list reads an array; nil if absent or wrong.
func (f *fields) list(name string) []jsontext.Value {
	v := f.get(name)
	if v == nil {
		return nil
	}
	if v.Kind() != '[' {
		f.addTypeError(name, "a list", v)
		return nil
	}
	var out []jsontext.Value
	_ = elements(jsontext.NewDecoder(bytes.NewReader(v)), func(v jsontext.Value) { out = append(out, v.Clone()) })
	return out
}

// objects reads a list of JSON objects.
func (f *fields) objects(name string) iter.Seq[*fields] {
	return func(yield func(*fields) bool) {
		for i, v := range f.list(name) {
			if o := f.r.object(fmt.Sprintf("%s[%d]", f.at(name), i), v); o != nil && !yield(o) {
				return
			}
		}
	}
}

// elements calls fn for each element of the array that d reads next.
func elements(d *jsontext.Decoder, fn func(jsontext.Value)) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		fn(v)
	}
	_, err := d.ReadToken()
	return err
}

// time reads a time, 0 if absent.
func (f *fields) time(name string) task.Time {
	s := f.text(name)
	if s == "" {
		return 0
	}
	t, err := parseTime(s)
	if err != nil {
		f.r.AddProblem(f.at(name), "%s", err)
	}
	return t
}

// timeLayouts are the formats of times, in UTC unless they have a zone.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
}

func parseTime(s string) (task.Time, error) {
	for _, layout := range timeLayouts {
		t, err := time.Parse(layout, strings.TrimSpace(s))
		if err != nil {
			continue
		}
		if y := t.UTC().Year(); y < 1971 || y > 9999 {
			return 0, fmt.Errorf("is not a time between 1971 and 9999: %s", task.Quote(s))
		}
		return task.TimeFromStd(t), nil
	}
	return 0, fmt.Errorf("must be a time such as 2026-01-31T12:00:00Z, not %s", task.Quote(s))
}

func sortedKeys(m map[string]jsontext.Value) []string { return slices.Sorted(maps.Keys(m)) }

// reportUnread reports the members that were not read.
func (f *fields) reportUnread() {
	for _, name := range sortedKeys(f.m) {
		if !f.read[name] {
			f.r.omit(f.where, "field "+task.Quote(name))
		}
	}
}

// lines calls fn for each non-blank line of a JSON Lines file.
func lines(s Source, fn func(where string, v jsontext.Value)) {
	n := 0
	for line := range bytes.Lines(s.Data) {
		n++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			fn(fmt.Sprintf("%s line %d", s.Name, n), line)
		}
	}
}
