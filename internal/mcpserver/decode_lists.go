package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"taskyard/task"
)

// listItems returns the items of a valid JSON list, unless it has more than
// maxListed.
func listItems(raw jsontext.Value) (items []jsontext.Value, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() != ']' {
		item, err := d.ReadValue()
		if err != nil || len(items) == maxListed {
			return nil, false
		}
		end := int(d.InputOffset())
		items = append(items, raw[end-len(item):end])
	}
	return items, true
}

// readList reads the items of a list argument; problems name the item.
func readList(p *problems, k kind, name string, items []jsontext.Value) any {
	switch k {
	case isIDs:
		return each(name, items, func(at string, raw jsontext.Value) task.ID {
			n, ok := parseID(raw, false)
			if !ok {
				p.Add(at, `must be an id: a positive whole number such as 5 or "5"`)
			}
			return n
		})
	case isIndexes:
		return each(name, items, func(at string, raw jsontext.Value) int {
			n, err := strconv.Atoi(string(raw))
			if err != nil || n < 0 {
				p.Add(at, "must be an index: 0 or more")
			}
			return n
		})
	case isTexts:
		return each(name, items, func(at string, raw jsontext.Value) string { return line(p, at, raw) })
	case isSteps:
		return each(name, items, func(at string, raw jsontext.Value) task.Step {
			o := object(p, at, raw, stepArgs)
			return task.Step{Title: o.text("title"), Details: o.text("details"), Done: o.bool("done")}
		})
	}
	return each(name, items, func(at string, raw jsontext.Value) task.Resource {
		o := object(p, at, raw, resourceArgs)
		return task.Resource{Type: o.text("type"), Value: o.text("value"), Label: o.text("label")}
	})
}

// object decodes an object in a list; its problems include its position.
func object(p *problems, at string, raw jsontext.Value, args []arg) values {
	if raw.Kind() != '{' {
		p.Add(at, "must be an object")
		return values{}
	}
	v, err := decode(args, json.RawMessage(raw), "")
	if task.IsCode(err, task.CodeInvalidJSON) {
		p.take(at, err)
	} else {
		p.take(at+".", err)
	}
	return v
}

func line(p *problems, at string, raw jsontext.Value) string {
	if raw.Kind() != '"' {
		p.Add(at, "must be a string")
		return ""
	}
	s := unquote(raw)
	p.checkText(at, s)
	return s
}

func each[T any](name string, items []jsontext.Value, read func(at string, raw jsontext.Value) T) []T {
	out := make([]T, len(items))
	for i, raw := range items {
		out[i] = read(name+"["+strconv.Itoa(i)+"]", raw)
	}
	return out
}
