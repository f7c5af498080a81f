package mcpserver_test

import (
	"bytes"
	"strings"
	"testing"

	"taskyard/internal/mcpserver"
)

// misreadings are bodies that are not a call of a known method, and the JSON-RPC
// error codes that answer them.
var misreadings = []struct{ body, want string }{
	{"{bad", `"id":null,"error":{"code":-32700,`},
	{`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, `"id":7,"error":{"code":-32601,"message":"Method not found: no/such"`},
	{`{"jsonrpc":"2.0","id":"a","method":""}`, `"error":{"code":-32`},
	{`"text"`, `"id":null,"error":{"code":-32600,`},
	{`[]`, `"id":null,"error":{"code":-32600,`},
	{strings.Repeat("[", 100) + strings.Repeat("]", 100), `"error":{"code":-32600,`},
}

func TestMalformedRequestsAreAnsweredInJSONRPC(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	for _, c := range misreadings {
		status, got, header := ts.answer("coder", "/mcp", c.body)
		if !strings.Contains(got, c.want) || status >= 500 || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
			t.Errorf("%.60s: %d %s, want %s", c.body, status, got, c.want)
		}
	}
}

func TestTheBridgeKeepsRunningAfterAMalformedLine(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	lines, want := "", []string{`"id":99,"result":{}`}
	for _, c := range misreadings {
		lines += c.body + "\n"
		want = append(want, c.want)
	}
	lines += strings.Repeat("x", 5<<20) + "\n\n" + `{"jsonrpc":"2.0","id":99,"method":"ping"}` // the last line may lack its newline
	var out bytes.Buffer
	err := mcpserver.Bridge(t.Context(), mcpserver.BridgeOptions{
		URL: ts.URL, Token: ts.Token("coder"), Stdin: strings.NewReader(lines), Stdout: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range append(want, "a message is at most 4 MiB") {
		if !strings.Contains(out.String(), w) {
			t.Errorf("%s is not in %s", w, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n"); n != len(misreadings)+2 {
		t.Errorf("got %d answers: %s", n, out.String())
	}
}
