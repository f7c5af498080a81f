package handlers

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// samples are the values in the commands of the reference, by field name. The
// test of the reference sends them all.
var samples = map[string]any{
	"title": "Fix the build", "owner": "coder", "agent": "coder", "newAgent": "reviewer", "currentAgent": "coder",
	"comment": "The tests pass; please review.", "content": "Looks good.", "message": "Which branch?", "reason": "No longer needed",
	"summary": "Fixed: the cache key was wrong.", "type": "url", "value": "https://example.org/spec", "name": "ci", "scope": "read",
	"text": "Please use tabs.", "password": "correct horse battery",
	"operation": "rpush", "item": "Read the specification", "role": "operator", "task": "Find the flaky test", "agentType": "coder",
	"key": "web", "digest": strings.Repeat("0", 64),
}

// ownSamples are fields that the command of one operation sends with a value of
// its own, even if they are optional.
var ownSamples = map[string]map[string]any{
	"PUT /api/agents/{id}":    {"text": "---\ndescription: Writes code.\ntools: read, edit\nrunner: none\n---\nWork.\n"},
	"PATCH /api/settings":     {"set": map[string]string{"runs.attempts": "5"}},
	"POST /api/users":         {"name": "maya"},
	"PUT /api/projects/{key}": {"name": "Website", "version": 1},
	"POST /api/tasks/{id}/review-comments/{comment}/reply": {"state": "fixed", "text": "It has a test now."},
}

// exampleFields are fields that a command needs although each is optional.
var exampleFields = map[string][]string{
	"POST /api/tokens": {"agent"}, "POST /api/agents/{id}/todo": {"item"}, "POST /api/delegate": {"task", "agentType"},
}

// curl returns a command that works once both variables are set.
func (w *docsWriter) curl(o op, body *huma.Schema, optional bool) string {
	var b strings.Builder
	b.WriteString(`curl -s -H "Authorization: Bearer $TASKYARD_TOKEN"`)
	if o.Method != http.MethodGet {
		b.WriteString(" -X " + o.Method)
	}
	if body != nil && (!optional || len(body.Required) > 0) {
		fields := w.sampleObject(body, o.Method != http.MethodPost)
		for _, name := range exampleFields[o.Method+" "+o.Path] {
			fields[name] = samples[name]
		}
		maps.Copy(fields, ownSamples[o.Method+" "+o.Path])
		sent, _ := json.Marshal(fields) // plain values: never fails
		b.WriteString(" -H 'Content-Type: application/json' \\\n  -d '" + strings.ReplaceAll(string(sent), "'", `'\''`) + `'`)
	}
	b.WriteString(" \\\n  \"$TASKYARD_URL" + samplePath(o.Path) + `"`)
	return b.String()
}

func samplePath(path string) string {
	id := "42"
	if strings.HasPrefix(path, "/api/agents/") {
		id = "coder"
	}
	return strings.NewReplacer("{id}", id, "{index}", "0", "{n}", "1", "{message}", "1", "{number}", "1", "{check}", "1", "{comment}", "1",
		"{key}", "web", "{name}", "test").Replace(path)
}

// sample returns a value that the schema allows. For an object, it fills the
// required fields; if there are none and some is set, the first field that has
// a sample.
func (w *docsWriter) sample(name string, s *huma.Schema, some bool) any {
	s = resolved(w.schemas, s)
	switch {
	case len(s.Properties) > 0:
		return w.sampleObject(s, some)
	case s.Type == huma.TypeArray:
		return []any{w.sample(strings.TrimSuffix(name, "s"), s.Items, true)}
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, samples[name]):
		return s.Enum[0]
	case samples[name] != nil:
		return samples[name]
	case len(s.Examples) > 0:
		return s.Examples[0]
	}
	switch s.Type {
	case huma.TypeInteger, huma.TypeNumber:
		return 1
	case huma.TypeBoolean:
		return true
	case huma.TypeString:
		return "5"
	}
	if len(s.OneOf) > 0 {
		return "5"
	}
	return map[string]any{}
}

func (w *docsWriter) sampleObject(s *huma.Schema, some bool) map[string]any {
	o := map[string]any{}
	for _, name := range s.Required {
		o[name] = w.sample(name, s.Properties[name], true)
	}
	for _, name := range append([]string{"title", "role"}, fieldNames(s)...) {
		if len(o) == 0 && some && s.Properties[name] != nil && samples[name] != nil {
			o[name] = w.sample(name, s.Properties[name], true)
		}
	}
	return o
}
