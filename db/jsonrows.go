package db

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// jsonRows reads what json_group_array(json_array(…)) makes: rows of strings
// and integers. It is on the path of every claim, where a general decoder
// took a tenth of the time; the input is SQLite's own, so its form is known.
type jsonRows struct {
	rest string
	err  error
}

// rowsOf calls read once a row; read takes the cells in order.
func rowsOf[T any](s string, read func(*jsonRows) T) ([]T, error) {
	list := []T{}
	if s == "[]" {
		return list, nil
	}
	r := &jsonRows{rest: s}
	r.skip("[")
	for r.err == nil {
		r.skip("[")
		list = append(list, read(r))
		r.skip("]")
		if strings.HasPrefix(r.rest, "]") {
			return list, r.err
		}
		r.skip(",")
	}
	return nil, r.err
}

func (r *jsonRows) skip(s string) {
	rest, ok := strings.CutPrefix(r.rest, s)
	if !ok {
		r.fail()
	}
	r.rest = rest
}

func (r *jsonRows) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("unexpected relation list at %.40q", r.rest)
	}
}

// text reads a string cell and the comma behind it, if there is one.
func (r *jsonRows) text() string {
	r.skip(`"`)
	end := 0
	escaped := false
	for end < len(r.rest) && r.rest[end] != '"' {
		if r.rest[end] == '\\' {
			escaped = true
			end++
		}
		end++
	}
	if end >= len(r.rest) {
		r.fail()
		return ""
	}
	s := r.rest[:end]
	if escaped {
		if err := json.Unmarshal([]byte(`"`+s+`"`), &s); err != nil {
			r.fail()
		}
	}
	r.rest = strings.TrimPrefix(r.rest[end+1:], ",")
	return s
}

// number reads an integer cell and the comma behind it, if there is one.
func (r *jsonRows) number() int64 {
	end := strings.IndexAny(r.rest, ",]")
	if end < 0 {
		r.fail()
		return 0
	}
	n, err := strconv.ParseInt(r.rest[:end], 10, 64)
	if err != nil {
		r.fail()
	}
	r.rest = strings.TrimPrefix(r.rest[end:], ",")
	return n
}
