package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"taskyard/runner/builtin/model/modeltest"
)

// realAgent is a real program as an agent of Taskyard.
type realAgent struct {
	name, install string
	model         string                                  // a model that it offers
	prefix        string                                  // of the names of Taskyard's tools
	namespace     string                                  // if they have one
	structured    bool                                    // its model reads the structured content of an answer, otherwise the text
	runner        func(program, model string) string      // the beginning of [runners.real]; model is the address of the model's server
	env           func(t *testing.T, model string) string // lines of [runners.real.env]
}

var (
	realClaude = realAgent{
		name: "claude", install: "npm install -g @anthropic-ai/claude-code", model: "test-model", prefix: "mcp__taskyard__",
		structured: true,
		runner:     func(program, _ string) string { return fmt.Sprintf("kind = \"claude\"\ncommand = [%q]\n", program) },
		env: func(_ *testing.T, model string) string {
			return fmt.Sprintf("ANTHROPIC_BASE_URL = %q\nANTHROPIC_API_KEY = \"sk-ant-of-the-test\"\n", model)
		},
	}
	realCodex = realAgent{
		name: "codex", install: "npm install -g @openai/codex", model: "test-model", namespace: "mcp__taskyard",
		structured: true,
		runner: func(program, model string) string {
			provider := fmt.Sprintf(`model_providers.x={name="x",base_url="%s/v1",wire_api="responses",env_key="OPENAI_API_KEY",`+
				`request_max_retries=0,stream_max_retries=1}`, model)
			command, err := json.Marshal([]string{program, "-c", `model_provider="x"`, "-c", provider})
			if err != nil {
				panic(err) // cannot happen with strings
			}
			return fmt.Sprintf("kind = \"codex\"\ncommand = %s\n", command)
		},
		env: func(*testing.T, string) string { return "OPENAI_API_KEY = \"sk-of-the-test\"\n" },
	}
	realOpencode = realAgent{
		name: "opencode", install: "npm install -g opencode-ai", model: "scripted/test-model", prefix: "taskyard_",
		runner: func(program, _ string) string {
			return fmt.Sprintf("kind = \"acp\"\ncommand = [%q, \"acp\"]\naccept_weaker = true\n", program)
		},
		env: func(_ *testing.T, model string) string {
			conf := fmt.Sprintf(`{"model":"scripted/test-model","small_model":"scripted/test-model","provider":{"scripted":{`+
				`"npm":"@ai-sdk/openai-compatible","name":"Scripted","options":{"baseURL":"%s/v1","apiKey":"sk-of-the-test"},`+
				`"models":{"test-model":{"name":"Test","limit":{"context":100000,"output":8000}}}}}}`, model)
			return fmt.Sprintf("OPENCODE_CONFIG_CONTENT = '%s'\nOPENCODE_DISABLE_AUTOUPDATE = \"1\"\nOPENCODE_DISABLE_MODELS_FETCH = \"1\"\n", conf)
		},
	}
	realGemini = realAgent{
		name: "gemini", install: "npm install -g @google/gemini-cli", model: "gemini-2.5-pro", prefix: "mcp_taskyard_",
		runner: func(program, _ string) string {
			return fmt.Sprintf("kind = \"acp\"\ncommand = [%q, \"--acp\"]\naccept_weaker = true\n", program)
		},
		env: func(_ *testing.T, model string) string {
			return fmt.Sprintf("GEMINI_CLI_TRUST_WORKSPACE = \"true\"\nGEMINI_PTY_INFO = \"child_process\"\n"+
				"GEMINI_API_KEY = \"sk-of-the-test\"\nGOOGLE_GEMINI_BASE_URL = %q\n", model)
		},
	}
	realQwen = realAgent{
		name: "qwen", install: "npm install -g @qwen-code/qwen-code", model: "test-model", prefix: "mcp__taskyard__",
		runner: func(program, _ string) string {
			return fmt.Sprintf("kind = \"acp\"\ncommand = [%q, \"--acp\", \"--auth-type\", \"openai\", "+
				"\"--allowed-tools\", \"mcp__taskyard\"]\naccept_weaker = true\n", program)
		},
		env: func(t *testing.T, model string) string {
			settings := put(t, filepath.Join(t.TempDir(), "qwen.json"), blockWith(t, "docs/runners.md", "enableInteractiveShell"))
			return fmt.Sprintf("OPENAI_API_KEY = \"sk-of-the-test\"\nOPENAI_BASE_URL = %q\nOPENAI_MODEL = \"test-model\"\n"+
				"QWEN_CODE_LEGACY_MCP_BLOCKING = \"1\"\nQWEN_CODE_SYSTEM_SETTINGS_PATH = %q\n", model+"/v1", settings)
		},
	}
	realAgents = []realAgent{realClaude, realCodex, realOpencode, realGemini, realQwen}
)

// server starts a server whose agents are the program, with the scripted model m.
func (a realAgent) server(t *testing.T, m *modeltest.Server, o realSetup) *realServer {
	t.Helper()
	program := realProgram(t, a.name, a.install)
	o.runner = a.runner(program, m.URL) + o.runner + "[runners.real.env]\n" + a.env(t, m.URL)
	o.model = a.model
	return newRealServer(t, m, o)
}

// calls returns a step that calls one tool of Taskyard.
func (a realAgent) calls(tool string, args map[string]any) modeltest.Step {
	step := callStep(a.prefix+tool, args)
	step.Calls[0].Namespace = a.namespace
	return step
}
