package views

import (
	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// ConnectModel is the page that creates a token for one agent.
type ConnectModel struct {
	Agent  task.Agent
	Tokens []task.Token // of the agent
	Fresh  *FreshToken
	Form   TokenForm
	Errors ui.FieldErrors
}

var nameAttrs = templ.Attributes{"required": true, "autocomplete": "off"}

// snippet is the configuration that connects one program.
type snippet struct{ ID, Label, Text string }

// clients returns the configurations that connect programs over MCP. Most name
// the variable, so that no configuration file contains the secret.
func (f *FreshToken) clients() []snippet {
	return []snippet{
		{"claude", "Claude Code", f.mcpLine()},
		{"codex", "Codex", `codex mcp add taskyard --url ` + f.URL + `/mcp --bearer-token-env-var TASKYARD_TOKEN`},
		{"gemini", "Gemini CLI, in ~/.gemini/settings.json", `{
  "mcpServers": {
    "taskyard": {
      "httpUrl": "` + f.URL + `/mcp",
      "headers": {"Authorization": "Bearer $TASKYARD_TOKEN"}
    }
  }
}`},
		{"opencode", "opencode, in opencode.json", `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "taskyard": {
      "type": "remote",
      "url": "` + f.URL + `/mcp",
      "headers": {"Authorization": "Bearer {env:TASKYARD_TOKEN}"},
      "oauth": false
    }
  }
}`},
		{"mcp", "Another program, over HTTP", f.mcpConfig()},
		{"stdio", "Another program that starts its MCP servers", f.mcpProgram()},
	}
}
