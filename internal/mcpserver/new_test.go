package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// newMeta is what the SDK's client says about itself in every call.
const newMeta = `{"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

// newRPC returns a tool call as clients of the new protocol make it.
func newRPC(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":%s,"name":%q,"arguments":%s}}`,
		id, newMeta, tool, arguments)
}

// newHeaders sets the headers that the new protocol requires for a call.
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

// viaSDK makes the SDK serve a call: our fast path does not accept the parameter
// of the content type.
func viaSDK(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") }

// isOurs reports, by the headers of a response, whether our fast path answered
// rather than the SDK.
func isOurs(h http.Header) bool { return h.Get("Cache-Control") == "no-store" }

func readJSON(t *testing.T, body string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// TestTheFastPathAnswersLikeTheSDK runs the script of all tools twice, with and
// without the fast path: clients must not notice.
func TestTheFastPathAnswersLikeTheSDK(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run("in "+version, func(t *testing.T) {
			t.Parallel()
			fast, long := newTestServer(t), newTestServer(t)
			for i, s := range script {
				body, headers := rpc(i, s.tool, oneLine(t, s.args)), oldHeaders(version)
				if version == "2026-07-28" {
					body, headers = newRPC(i, s.tool, oneLine(t, s.args)), newHeaders(s.tool)
				}
				_, got, h := fast.answer(s.caller, "/mcp", body, headers)
				_, want, hLong := long.answer(s.caller, "/mcp", body, headers, viaSDK)
				if !isOurs(h) || isOurs(hLong) || h.Get("Content-Type") != hLong.Get("Content-Type") {
					t.Fatalf("%s: the two calls did not take different paths: %v, %v", s.tool, h, hLong)
				}
				if !reflect.DeepEqual(readJSON(t, got), readJSON(t, want)) {
					t.Errorf("%s: the fast path answers\n%s\nthe SDK\n%s", s.tool, got, want)
				}
				if complete := strings.HasSuffix(got, `,"resultType":"complete"}}`); complete != (version == "2026-07-28") {
					t.Errorf("%s: %s", s.tool, got)
				}
			}
		})
	}
}

// TestTheFastPathRefusesLikeTheSDK sends requests that resemble a plain call, with
// the fast path on and off. Status and answer must be the same.
func TestTheFastPathRefusesLikeTheSDK(t *testing.T) {
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
		body string
		with with
		fast bool
	}{
		"a plain old call":             {call("1", "", "{}", ""), with{old}, true},
		"a call without a version":     {call("1", "", "{}", ""), nil, true},
		"a call with a progress token": {call("1", meta(`"progressToken":3,"x/y":"z"`), "{}", ""), with{old}, true},
		"a plain new call":             {call("1", plainNew, "{}", ""), with{fresh}, true},
		"a new call with a name of the client": {call(`"a\n"`,
			meta(able+`:{},`+info+`:{"name":"a","version":"1"},`+version+`:"2026-07-28"`), "{}", ""), with{fresh}, true},
		"a version that is spelled with an escape": {call("1",
			meta(able+`:{},"io.modelcontextprotocol/\u0070rotocolVersion":"2026-07-28"`), "{}", ""), with{fresh}, true},
		"an escaped version in an old call": {call("1",
			meta(able+`:{},"io.modelcontextprotocol/\u0070rotocolVersion":"2026-07-28"`), "{}", ""), with{old}, false},
		"a new version without its header": {call("1", plainNew, "{}", ""), nil, false},
		"a new version in an old call":     {call("1", plainNew, "{}", ""), with{old}, false},
		"an old version in a new call":     {call("1", meta(able+`:{},`+version+`:"2025-06-18"`), "{}", ""), with{fresh}, false},
		"a version that is a number":       {call("1", meta(able+`:{},`+version+`:5`), "{}", ""), with{fresh}, false},
		"no version in a new call":         {call("1", meta(able+`:{}`), "{}", ""), with{fresh}, false},
		"no metadata in a new call":        {call("1", "", "{}", ""), with{fresh}, false},
		"null metadata in a new call":      {call("1", `,"_meta":null`, "{}", ""), with{fresh}, false},
		"no capabilities in a new call":    {call("1", meta(version+`:"2026-07-28"`), "{}", ""), with{fresh}, false},
		"invalid capabilities":             {call("1", meta(able+`:5,`+version+`:"2026-07-28"`), "{}", ""), with{fresh}, false},
		"capabilities of a wrong type":     {call("1", meta(able+`:{"roots":5},`+version+`:"2026-07-28"`), "{}", ""), with{fresh}, false},
		"an invalid client name": {
			call("1", meta(able+`:{},`+info+`:null,`+version+`:"2026-07-28"`), "{}", ""),
			with{fresh},
			false,
		},
		"a client name of a wrong type": {
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
		"a future version":                         {call("1", plainNew, "{}", ""), with{fresh, oldHeaders("2030-01-01")}, false},
		"a version that never existed":             {call("1", "", "{}", ""), with{oldHeaders("2025-01-01")}, false},
		"answers to questions that were not asked": {call("1", plainNew, "{}", `,"inputResponses":{}`), with{fresh}, false},
		"metadata that is not an object":           {call("1", `,"_meta":5`, "{}", ""), with{old}, false},
		"metadata with a number that is too large": {call("1", meta(`"n":1e999`), "{}", ""), with{old}, false},
		"a null id":                                 {call("null", "", "{}", ""), with{old}, false},
		"an id with a fraction":                     {call("1.5", "", "{}", ""), with{old}, false},
		"an id with an exponent":                    {call("1e2", "", "{}", ""), with{old}, false},
		"a negative zero as id":                     {call("-0", "", "{}", ""), with{old}, false},
		"an id too large for an integer":            {call("123456789012345678901234567890", "", "{}", ""), with{old}, false},
		"an id too large for a number":              {call("1e999", "", "{}", ""), with{old}, false},
		"an id that is a list":                      {call("[1]", "", "{}", ""), with{old}, false},
		"arguments with a number that is too large": {call("1", plainNew, `{"agent_id":1e999}`, ""), with{fresh}, false},
		"no arguments":                              {call("1", "", "null", ""), with{old}, true},
		"arguments that are text":                   {call("1", "", `"x"`, ""), with{old}, true},
		"deep arguments":                            {call("1", "", deep, ""), with{old}, false},
		"deep arguments in a new call":              {call("1", plainNew, deep, ""), with{fresh}, false},
		"arguments too deep for the SDK":            {call("1", "", abyss, ""), with{old}, false},
		"duplicate arguments":                       {call("1", "", `{},"arguments":{"x":1}`, ""), with{old}, false},
		"a duplicate member":                        {call("1", "", `{"x":1,"x":2}`, ""), with{old}, false},
		"invalid UTF-8":                             {call("1", "", "{\"agent_id\":\"\xff\"}", ""), with{old}, false},
		"half a surrogate":                          {call("1", "", `{"agent_id":"\ud800"}`, ""), with{old}, false},
		"a NUL in the text":                         {call("1", "", `{"agent_id":"a\u0000b"}`, ""), with{old}, true},
		"a NUL in the JSON":                         {call("1", "", "{\"agent_id\":\x00}", ""), with{old}, false},
		"something after the message":               {call("1", "", "{}", "") + "5", with{old}, false},
		"a member in another case":                  {strings.Replace(call("1", "", "{}", ""), "params", "Params", 1), with{old}, false},
		"accepted types that only look right": {
			call("1", "", "{}", ""),
			with{setHeader("Accept", "application/jsonx, text/event-streams")},
			false,
		},
		"only one accepted type": {call("1", "", "{}", ""), with{setHeader("Accept", "application/json")}, false},
		"a position in a stream": {call("1", "", "{}", ""), with{setHeader("Last-Event-ID", "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			status, got, h := ts.answer("coder", "/mcp", c.body, c.with...)
			statusLong, want, _ := ts.answer("coder", "/mcp", c.body, append(c.with, viaSDK)...)
			if status != statusLong || status >= 500 {
				t.Errorf("the fast path answers %d, the SDK %d", status, statusLong)
			}
			if took := status == http.StatusOK && isOurs(h); took != c.fast {
				t.Errorf("took the fast path: %v, want %v", took, c.fast)
			}
			if got != want && (status != http.StatusOK || !reflect.DeepEqual(readJSON(t, got), readJSON(t, want))) {
				t.Errorf("the fast path answers\n%.400s\nthe SDK\n%.400s", got, want)
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
			t.Errorf("%s returned %.300s", method, body)
		}
	}
}
