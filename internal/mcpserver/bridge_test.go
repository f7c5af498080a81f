package mcpserver_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"taskyard/internal/mcpserver"
	"taskyard/internal/testkit"
)

// elsewhere sends notifications to a server that does not know the calls of this
// one, as a proxy in front of several servers may.
type elsewhere struct{ base http.RoundTripper }

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`"notifications/`)) {
		return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	return e.base.RoundTrip(r)
}

func TestTheBridgeEndsACallThatItsClientCancels(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t)
	stdin, client := io.Pipe()
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.Bridge(t.Context(), mcpserver.BridgeOptions{
			URL: ts.URL, Token: ts.Token("coder"), Stdin: stdin, Stdout: &out, HTTP: elsewhere{ts.Client.Transport},
		})
	}()
	say := func(line string) {
		if _, err := io.WriteString(client, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say(rpc(7, "signup_for_task", `{"agent_name":"coder","wait_seconds":30}`))
	testkit.Eventually(t, "a signup waits", func() bool { return ts.Service.WaitingSignups() == 1 })
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	ts.noneWaits(t)
	ts.unclaimed(t, ts.task("coder", "nobody's"))
	say(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	_ = client.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"id":9`) {
		t.Errorf("the client got %q", got)
	}
}
