//go:build linux

package claude

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"taskyard/runner/runnertest"
)

const (
	fakeInit = `{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555","model":"m","claude_code_version":"9","tools":["Bash","Read"],"mcp_servers":[{"name":"taskyard","status":"connected"}]}`
	fakeDone = `{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":" All done. ","total_cost_usd":0.25,"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":1000,"output_tokens":7},"permission_denials":[]}`
)

// play speaks stream-json with every misbehavior. Each argument is a step of
// its script: "say LINE", "read" (prints its input as an answer), "eof" (waits
// for the end of stdin), "exit N", "hang", "flood N".
func play(steps []string) {
	in := bufio.NewReader(os.Stdin)
	prompt, _ := in.ReadString('\n')
	for _, step := range steps {
		word, rest, _ := strings.Cut(step, " ")
		switch word {
		case "say":
			fmt.Println(rest)
		case "prompt":
			tell(prompt)
		case "argv":
			tell(strings.Join(os.Args, "|"))
		case "file":
			b, err := os.ReadFile(rest)
			tell(fmt.Sprint(string(b), err))
		case "read":
			line, _ := in.ReadString('\n')
			tell(line)
		case "stop": // ends when interrupted, as the real program does
			line, _ := in.ReadString('\n')
			tell(line)
			fmt.Println(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["aborted"]}`)
			os.Exit(1)
		case "eof":
			for {
				if _, err := in.ReadString('\n'); err != nil {
					break
				}
			}
		case "ask": // sends n requests without reading
			var n int
			_, _ = fmt.Sscan(rest, &n)
			for i := range n {
				fmt.Printf(`{"type":"control_request","request_id":"r%d","request":{"subtype":"can_use_tool","tool_name":"Read","input":{"x":%q}}}`+
					"\n", i, strings.Repeat("x", 4096))
			}
		case "long": // sends a request of n bytes
			var n int
			_, _ = fmt.Sscan(rest, &n)
			fmt.Printf(`{"type":"control_request","request_id":"big","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"x":%q}}}`+
				"\n", strings.Repeat("x", n))
		case "result": // prints a result of n bytes and a denied call of m bytes
			var n, m int
			_, _ = fmt.Sscan(rest, &n, &m)
			fmt.Printf(`{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"\"total_cost_usd\":9 %s","total_cost_usd":0.25,`+
				`"permission_denials":[{"tool_name":"Write","tool_input":{"total_cost_usd":0,"content":%q}}]}`+"\n", strings.Repeat(`\u00fc`, n/6), strings.Repeat("x", m))
		case "hang":
			runnertest.Hang()
		case "exit":
			var code int
			_, _ = fmt.Sscan(rest, &code)
			os.Exit(code)
		}
	}
}

// tell prints a message of the assistant.
func tell(text string) {
	b, _ := json.Marshal(map[string]any{"type": "assistant", "message": map[string]any{
		"id": "m", "content": []any{map[string]any{"type": "text", "text": strings.TrimSpace(text)}},
	}})
	fmt.Println(string(b))
}

// askFor returns a step that asks for permission.
func askFor(tool, input, more string) string {
	return `say {"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"` +
		tool + `","input":` + input + more + `}}`
}

// fake returns the runner with a scripted program.
func fake(steps ...string) *Runner {
	return &Runner{Program: runnertest.Agent("claude", steps...), AcceptWeaker: true}
}
