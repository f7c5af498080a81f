package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/cmd"
	"taskyard/internal/testkit"
)

// bridge runs taskyard mcp with an environment.
func bridge(t *testing.T, stdin io.Reader, stdout io.Writer, environ map[string]string, args ...string) (stderr string, code int) {
	t.Helper()
	var errs testkit.Buffer
	e := &cmd.Env{Ctx: t.Context(), Getenv: func(k string) string { return environ[k] }, Stdin: stdin, Stdout: stdout, Stderr: &errs}
	code = cmd.Run(e, append([]string{"mcp"}, args...))
	return strings.TrimSpace(errs.String()), code
}

const hello = `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"

func TestMCPBridge(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	token := must(t, "", "token", "create", "--data", in.data, "--agent", "general-purpose", "--name", "bridge")
	environ := map[string]string{"TASKYARD_URL": in.url + "/", "TASKYARD_TOKEN": token}
	t.Run("messages pass in both directions, and nothing else is printed", func(t *testing.T) {
		toServer, stdin := io.Pipe()
		stdout, fromServer := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			stderr, code := bridge(t, toServer, fromServer, environ, "--profile", "core")
			if stderr != "" {
				t.Errorf("got on stderr: %s", stderr)
			}
			ended <- code
		}()
		lines := bufio.NewReader(stdout)
		ask := func(message, want string) {
			t.Helper()
			if _, err := io.WriteString(stdin, message); err != nil {
				t.Fatal(err)
			}
			line, err := lines.ReadString('\n')
			if err != nil || !json.Valid([]byte(line)) || !strings.Contains(line, want) {
				t.Errorf("%v %s, want %s", err, line, want)
			}
		}
		ask(hello, `"id":"a","result":{`)
		ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n", `"name":"signup_for_task"`)
		ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"signup_for_task","arguments":{"agent_name":"general-purpose"}}}`+
			"\n", "No idle tasks available in queue for agent: general-purpose")
		ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"create_task","arguments":{"title":"x"}}}`+
			"\n", `unknown tool \"create_task\"`)
		ask(`{"jsonrpc":"2.0","id":4,"method":"no/method"}`+"\n", `"error"`)
		ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`+"\n", `"id":5`)
		stdin.Close()
		if code := <-ended; code != exitOK {
			t.Errorf("got exit code %d", code)
		}
	})
	t.Run("piped requests are answered before the exit", func(t *testing.T) {
		var out testkit.Buffer
		if _, code := bridge(t, strings.NewReader(hello+`{"jsonrpc":"2.0","id":7,"method":"ping"}`+"\n"), &out, environ); code != exitOK ||
			strings.Count(out.String(), "\n") != 2 {
			t.Errorf("got exit code %d: %s", code, out.String())
		}
	})
	t.Run("the token may be in a file", func(t *testing.T) {
		var out testkit.Buffer
		from := map[string]string{"TASKYARD_URL": in.url, "TASKYARD_TOKEN_FILE": put(t, filepath.Join(t.TempDir(), "token"), token+"\n")}
		if stderr, code := bridge(t, strings.NewReader(hello), &out, from); code != exitOK || !strings.Contains(out.String(), `"result"`) {
			t.Errorf("got exit code %d: %s %s", code, stderr, out.String())
		}
	})
	dead := closedPort(t)
	for _, c := range []struct {
		name, url, token string
		args             []string
		code             int
		want             string
	}{
		{"an invalid token is refused", in.url, "ty_nonsense", nil, exitRefused, "unknown, expired or revoked"},
		{"an unreachable server is reported", dead, token, nil, client.ExitUnreachable, "cannot reach the server at " + dead},
		{"an invalid address", "127.0.0.1:8080", token, nil, exitUsage, "TASKYARD_URL"},
		{"no token", in.url, "", nil, exitUsage, "TASKYARD_TOKEN"},
		{"an unknown profile", in.url, token, []string{"--profile", "most"}, exitUsage, "--profile"},
		{"a token as an argument", in.url, token, []string{"--token", token}, exitUsage, "unknown flag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out testkit.Buffer
			stderr, code := bridge(t, strings.NewReader(hello), &out, map[string]string{"TASKYARD_URL": c.url, "TASKYARD_TOKEN": c.token}, c.args...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("got exit code %d: %s, want %d %s", code, stderr, c.code, c.want)
			}
			if strings.Contains(out.String()+stderr, token) {
				t.Errorf("the token was printed: %s %s", out.String(), stderr)
			}
		})
	}
}

// closedPort returns an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.NoError(t, err)
	defer ln.Close()
	return "http://" + ln.Addr().String()
}
