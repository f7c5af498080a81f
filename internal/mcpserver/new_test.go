package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// newMeta is what the SDK's client says of itself with every call.
const newMeta = `{"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

// newRPC is the call of a tool as clients of the new protocol make it.
func newRPC(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":%s,"name":%q,"arguments":%s}}`,
		id, newMeta, tool, arguments)
}

// newHeaders are what the new protocol asks for beside a call.
func newHeaders(tool string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", tool)
	}
}

func oldHeaders(version string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", version) }
}

func setHeader(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// theLongWay has a call served by the SDK: the short way does not know the
// parameter.
func theLongWay(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") }

// isShort reports, by the headers of an answer, whether the SDK sent it.
func isShort(h http.Header) bool { return h.Get("Cache-Control") == "no-store" }

func readJSON(t *testing.T, body string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// TestTheShortWayAnswersTheSame runs the script of every tool twice, once
// without and once with the SDK's server: clients must not notice.
func TestTheShortWayAnswersTheSame(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run("in "+version, func(t *testing.T) {
			t.Parallel()
			short, long := newTestServer(t), newTestServer(t)
			for i, s := range script {
				body, headers := rpc(i, s.tool, oneLine(t, s.args)), oldHeaders(version)
				if version == "2026-07-28" {
					body, headers = newRPC(i, s.tool, oneLine(t, s.args)), newHeaders(s.tool)
				}
				_, got, h := short.answer(s.caller, "/mcp", body, headers)
				_, want, hLong := long.answer(s.caller, "/mcp", body, headers, theLongWay)
				if !isShort(h) || isShort(hLong) || h.Get("Content-Type") != hLong.Get("Content-Type") {
					t.Fatalf("%s: not both ways are gone: %v, %v", s.tool, h, hLong)
				}
				if !reflect.DeepEqual(readJSON(t, got), readJSON(t, want)) {
					t.Errorf("%s: the short way answers\n%s\nthe long one\n%s", s.tool, got, want)
				}
				if complete := strings.HasSuffix(got, `,"resultType":"complete"}}`); complete != (version == "2026-07-28") {
					t.Errorf("%s: %s", s.tool, got)
				}
			}
		})
	}
}

// TestTheShortWayRefusesTheSame sends what is near to a plain call, with the
// short way open and closed. Status and answer must be the same.
func TestTheShortWayRefusesTheSame(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	const version, info, able = `"io.modelcontextprotocol/protocolVersion"`,
		`"io.modelcontextprotocol/clientInfo"`, `"io.modelcontextprotocol/clientCapabilities"`
	call := func(id, meta, arguments, more string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"todo_count","arguments":` +
			arguments + meta + more + `}}`
	}
	meta := func(members string) string { return `,"_meta":{` + members + `}` }
	plainNew := meta(able + `:{},` + version + `:"2026-07-28"`)
	fresh, old := newHeaders("todo_count"), oldHeaders("2025-06-18")
	deep := `{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`
	abyss := `{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`
	type with []func(*http.Request)
	for name, c := range map[string]struct {
		body  string
		with  with
		short bool
	}{
		"a plain call of old":              {call("1", "", "{}", ""), with{old}, true},
		"a call without a version":         {call("1", "", "{}", ""), nil, true},
		"a call with a token for progress": {call("1", meta(`"progressToken":3,"x/y":"z"`), "{}", ""), with{old}, true},
		"a plain new call":                 {call("1", plainNew, "{}", ""), with{fresh}, true},
		"a new call with a name of the client": {call(`"a\n"`,
			meta(able+`:{},`+info+`:{"name":"a","version":"1"},`+version+`:"2026-07-28"`), "{}", ""), with{fresh}, true},
		"a version that is spelled with an escape": {call("1",
			meta(able+`:{},"io.modelcontextprotocol/\u0070rotocolVersion":"2026-07-28"`), "{}", ""), with{fresh}, true},
		"such a version in an old call": {call("1",
			meta(able+`:{},"io.modelcontextprotocol/\u0070rotocolVersion":"2026-07-28"`), "{}", ""), with{old}, false},
		"a new version without its header": {call("1", plainNew, "{}", ""), nil, false},
		"a new version in an old call":     {call("1", plainNew, "{}", ""), with{old}, false},
		"an old version in a new call":     {call("1", meta(able+`:{},`+version+`:"2025-06-18"`), "{}", ""), with{fresh}, false},
		"a version that is a number":       {call("1", meta(able+`:{},`+version+`:5`), "{}", ""), with{fresh}, false},
		"no version in a new call":         {call("1", meta(able+`:{}`), "{}", ""), with{fresh}, false},
		"nothing said in a new call":       {call("1", "", "{}", ""), with{fresh}, false},
		"null said in a new call":          {call("1", `,"_meta":null`, "{}", ""), with{fresh}, false},
		"no capabilities in a new call":    {call("1", meta(version+`:"2026-07-28"`), "{}", ""), with{fresh}, false},
		"capabilities that are none":       {call("1", meta(able+`:5,`+version+`:"2026-07-28"`), "{}", ""), with{fresh}, false},
		"capabilities of a wrong kind":     {call("1", meta(able+`:{"roots":5},`+version+`:"2026-07-28"`), "{}", ""), with{fresh}, false},
		"a name of the client that is none": {
			call("1", meta(able+`:{},`+info+`:null,`+version+`:"2026-07-28"`), "{}", ""),
			with{fresh},
			false,
		},
		"a name of the client of a wrong kind": {
			call("1", meta(able+`:{},`+info+`:{"name":5},`+version+`:"2026-07-28"`), "{}", ""),
			with{fresh},
			false,
		},
		"another method in the header": {call("1", plainNew, "{}", ""), with{fresh, setHeader("Mcp-Method", "tools/list")}, false},
		"another name in the header":   {call("1", plainNew, "{}", ""), with{fresh, setHeader("Mcp-Name", "todo_list")}, false},
		"no name in the header": {
			call("1", plainNew, "{}", ""),
			with{fresh, func(r *http.Request) { r.Header.Del("Mcp-Name") }},
			false,
		},
		"no method in the header": {
			call("1", plainNew, "{}", ""),
			with{fresh, func(r *http.Request) { r.Header.Del("Mcp-Method") }},
			false,
		},
		"a version to come":                   {call("1", plainNew, "{}", ""), with{fresh, oldHeaders("2030-01-01")}, false},
		"a version that never was":            {call("1", "", "{}", ""), with{oldHeaders("2025-01-01")}, false},
		"answers to questions never asked":    {call("1", plainNew, "{}", `,"inputResponses":{}`), with{fresh}, false},
		"what is said of itself is no object": {call("1", `,"_meta":5`, "{}", ""), with{old}, false},
		"what is said of itself is too large": {call("1", meta(`"n":1e999`), "{}", ""), with{old}, false},
		"a null id":                           {call("null", "", "{}", ""), with{old}, false},
		"an id with a fraction":               {call("1.5", "", "{}", ""), with{old}, false},
		"an id with an exponent":              {call("1e2", "", "{}", ""), with{old}, false},
		"an id below every integer":           {call("-0", "", "{}", ""), with{old}, false},
		"an id over every integer":            {call("123456789012345678901234567890", "", "{}", ""), with{old}, false},
		"an id that is no number":             {call("1e999", "", "{}", ""), with{old}, false},
		"an id that is a list":                {call("[1]", "", "{}", ""), with{old}, false},
		"arguments over every number":         {call("1", plainNew, `{"agent_id":1e999}`, ""), with{fresh}, false},
		"no arguments":                        {call("1", "", "null", ""), with{old}, true},
		"arguments that are text":             {call("1", "", `"x"`, ""), with{old}, true},
		"deep arguments":                      {call("1", "", deep, ""), with{old}, false},
		"deep arguments in a new call":        {call("1", plainNew, deep, ""), with{fresh}, false},
		"arguments too deep for the SDK":      {call("1", "", abyss, ""), with{old}, false},
		"arguments twice":                     {call("1", "", `{},"arguments":{"x":1}`, ""), with{old}, false},
		"a member twice":                      {call("1", "", `{"x":1,"x":2}`, ""), with{old}, false},
		"invalid UTF-8":                       {call("1", "", "{\"agent_id\":\"\xff\"}", ""), with{old}, false},
		"half a surrogate":                    {call("1", "", `{"agent_id":"\ud800"}`, ""), with{old}, false},
		"a NUL in the text":                   {call("1", "", `{"agent_id":"a\u0000b"}`, ""), with{old}, true},
		"a NUL in the JSON":                   {call("1", "", "{\"agent_id\":\x00}", ""), with{old}, false},
		"something after the message":         {call("1", "", "{}", "") + "5", with{old}, false},
		"a member of another case":            {strings.Replace(call("1", "", "{}", ""), "params", "Params", 1), with{old}, false},
		"kinds of answers that only look right": {
			call("1", "", "{}", ""),
			with{setHeader("Accept", "application/jsonx, text/event-streams")},
			false,
		},
		"one kind of answers": {call("1", "", "{}", ""), with{setHeader("Accept", "application/json")}, false},
		"a place in a stream": {call("1", "", "{}", ""), with{setHeader("Last-Event-ID", "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			status, got, h := ts.answer("coder", "/mcp", c.body, c.with...)
			statusLong, want, _ := ts.answer("coder", "/mcp", c.body, append(c.with, theLongWay)...)
			if status != statusLong || status >= 500 {
				t.Errorf("the short way answers %d, the long one %d", status, statusLong)
			}
			if went := status == http.StatusOK && isShort(h); went != c.short {
				t.Errorf("it went the short way: %v, want %v", went, c.short)
			}
			if got != want && (status != http.StatusOK || !reflect.DeepEqual(readJSON(t, got), readJSON(t, want))) {
				t.Errorf("the short way answers\n%.400s\nthe long one\n%.400s", got, want)
			}
		})
	}
}

func TestListsAreNotSharedBetweenCallers(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	for _, method := range []string{"tools/list", "resources/list", "prompts/list"} {
		_, body, _ := ts.answer("coder", "/mcp",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":%s}}`, method, newMeta), func(r *http.Request) {
				r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
				r.Header.Set("Mcp-Method", method)
			})
		if !strings.Contains(body, `"cacheScope":"private"`) {
			t.Errorf("%s answers %.300s", method, body)
		}
	}
}
