package db

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// jsonRows reads what json_group_array(json_array(…)) makes: rows of strings,
// integers and truths. It is on the path of every claim, where a general decoder
// took a tenth of the time; the input is the database's own, so its form is
// known: PostgreSQL has spaces behind commas.
type jsonRows struct {
	rest string
	err  error
}

// readJSONRows calls read once per row; read takes the cells in order.
func readJSONRows[T any](s string, read func(*jsonRows) T) ([]T, error) {
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
		r.space()
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
	r.next(end + 1)
	return s
}

// number reads an integer cell, or a truth as 1 or 0, and the comma behind it, if there is one.
func (r *jsonRows) number() int64 {
	end := strings.IndexAny(r.rest, ",]")
	if end < 0 {
		r.fail()
		return 0
	}
	var n int64
	switch cell := r.rest[:end]; cell {
	case "true":
		n = 1
	case "false":
	default:
		var err error
		if n, err = strconv.ParseInt(cell, 10, 64); err != nil {
			r.fail()
		}
	}
	r.next(end)
	return n
}

// next goes over a cell of so many bytes and what separates it from the next one.
func (r *jsonRows) next(bytes int) {
	rest, more := strings.CutPrefix(r.rest[bytes:], ",")
	if r.rest = rest; more {
		r.space()
	}
}

func (r *jsonRows) space() {
	if r.rest != "" && r.rest[0] <= ' ' {
		r.rest = strings.TrimLeft(r.rest, " \n")
	}
}
