package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
)

// askingAgent speaks Claude Code's stream-json. It asks for permission to read a file, twice as Read and
// once as Grep, and its result lists the answers.
const askingAgent = `case "$*" in *--version*) echo 9; exit;; esac
read prompt
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555","tools":["Read","Grep"],` +
	`"mcp_servers":[{"name":"taskyard","status":"connected"}]}'
said=
for tool in Read Read Grep; do
  echo '{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"'$tool'",` +
	`"input":{"file_path":"/etc/hosts"},"decision_reason_type":"workingDir","decision_reason":"Path is outside"}}'
  read answer
  case "$answer" in
    *'"allow"'*) said="$said allowed" ;;
    *'Not that file.'*) said="$said denied" ;;
  esac
done
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"It was'"$said"'",` +
	`"usage":{"input_tokens":1,"output_tokens":1}}'
cat >/dev/null
`

func TestAPersonDecidesOnACallFromTheShell(t *testing.T) {
	t.Parallel()
	script := put(t, filepath.Join(t.TempDir(), "agent.sh"), askingAgent)
	in := serveInside(t,
		"taskyard.toml", fmt.Sprintf("[runners.asks]\nkind = \"claude\"\ncommand = [\"/bin/sh\", %q]\naccept_weaker = true\n", script),
		"agents/asker.md", "---\ndescription: Asks.\ntools: read, grep\nrunner: asks\n---\nAsk.\n")
	p, a := in.shellFor(t, "--scope", "admin"), in.shellFor(t, "--agent", agentName)
	p.ok("", "task", "create", "Read it", "--owner", "asker")
	asked := func(n int) {
		t.Helper()
		want := fmt.Sprintf("permission %d: asks to call", n)
		testkit.Eventually(t, "the run requests "+want, func() bool { return strings.Contains(p.ok("", "inbox"), want) })
	}
	asked(1)
	if out := p.ok("", "run", "show", "1"); !strings.Contains(out, "taskyard run allow 1 1\n") ||
		!strings.Contains(out, "taskyard run deny 1 1 --reason TEXT") {
		t.Errorf("run show does not show how to decide:\n%s", out)
	}
	p.fails(client.ExitRefused, "has not asked for a permission 7", "run", "allow", "1", "7")
	p.fails(client.ExitUsage, "x", "run", "allow", "1", "x")
	p.fails(client.ExitUsage, "permission", "run", "allow", "1")
	p.fails(client.ExitUsage, "--reason", "run", "deny", "1", "1")
	p.fails(client.ExitRefused, "scope", "run", "allow", "1", "1", "--scope", "always")
	p.fails(client.ExitRefused, "asks for permission", "run", "deny", "1", "--reason", "No.")
	p.fails(client.ExitRefused, "asks for permission", "run", "approve", "1")
	a.fails(client.ExitRefused, "forbidden", "run", "allow", "1", "1")
	if out := p.ok("Not that file.\n", "run", "deny", "1", "1", "--reason", "-"); out != "denied the call of Read by run 1" {
		t.Error(out)
	}
	p.fails(client.ExitRefused, "denied", "run", "allow", "1", "1")
	asked(2)
	if out := p.ok("", "run", "allow", "1", "2"); out != "run 1 may make this call of Read" {
		t.Error(out)
	}
	asked(3)
	if out := p.ok("", "run", "allow", "1", "3", "--scope", "run"); out != "run 1 may call Grep until it ends" {
		t.Error(out)
	}
	if out := p.ok("", "run", "wait", "1", "--timeout", "1m"); !strings.Contains(out, "It was denied allowed allowed") {
		t.Errorf("the agent got other answers:\n%s", out)
	}
}
