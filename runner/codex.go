package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/task"
)

// Codex runs the Codex command line without a terminal: `codex exec --json`.
// It has no list of tools; what holds it is the sandbox in which it starts the
// commands of the model.
type Codex struct {
	Program           // Argv nil: codex
	Network      bool // the sandbox that may write may reach the network too
	AcceptWeaker bool // run agents that Codex cannot hold to their tools, or to a limit of cost
}

var _ Confiner = (*Codex)(nil)

var codexKind = Kind{
	Name: "codex", Program: "codex",
	New: func(s Settings) Runner {
		return &Codex{Program: Program{Argv: s.Argv, Env: s.Env}, Network: s.Network, AcceptWeaker: s.AcceptWeaker}
	},
	Missing: missingProgram,
	Capabilities: Probe{
		Tools: "Codex has no list of tools; its sandbox is read-only, " +
			"or lets agents with create, edit or bash write to their workspace.",
		Shell:   "the sandbox of Codex",
		Network: "closed to commands",
	},
}

func (c *Codex) started() Program {
	p := c.Program
	if len(p.Argv) == 0 {
		p.Argv = []string{codexKind.Program}
	}
	return p
}

// Probe looks for the program and asks it for its version.
func (c *Codex) Probe(ctx context.Context) Probe {
	p := c.started().probe(ctx, "codex")
	if c.Network {
		p.Network = "open to commands that may write; closed to others"
	}
	return p
}

// EnforcementGap compares the tools with what the sandbox lets through: reading all
// files and running programs that change nothing, or, in the other one,
// writing to the workspace too.
func (c *Codex) EnforcementGap(tools []string) (string, bool) {
	var beyond []string
	switch {
	case slices.Contains(tools, "bash"): // whatever the sandbox permits, a command may do
	case sandbox(tools) == "read-only":
		beyond = lacks(tools, "read")
	default:
		beyond = lacks(tools, "read", "create", "edit", "bash")
	}
	if len(beyond) == 0 {
		return "", false
	}
	return "Codex has no list of tools, only the sandbox " + sandbox(tools) +
		": the agent could also use " + strings.Join(beyond, ", ") + ".", !c.AcceptWeaker
}

// sandbox is the mode in which the commands of the model run.
func sandbox(tools []string) string {
	if task.Writes(tools) {
		return "workspace-write"
	}
	return "read-only"
}

// Run starts Codex with a private CODEX_HOME and returns when nothing of it is
// left.
func (c *Codex) Run(ctx context.Context, spec Spec, sink Sink) (Outcome, error) {
	if ctx.Err() != nil {
		return canceled(context.Cause(ctx)), nil
	}
	if gap, refused := c.EnforcementGap(spec.Plan.Tools); refused {
		return permanently(gap + " " + acceptWeaker), nil
	}
	if spec.Plan.Limits.MaxCostUSD > 0 && !c.AcceptWeaker {
		return permanently("The limit of cost cannot be kept: Codex reports no cost. Give the agent max_tokens or " +
			"max_turns instead of max_cost_usd, or set accept_weaker = true for this runner."), nil
	}
	vars := c.variables(filepath.Join(spec.Dir, "home", codexFolder), spec)
	var talk *codexTalk
	out, err := session{
		program: c.started(), env: vars, input: prompt(spec.Plan),
		args: func() ([]string, error) {
			home := filepath.Join(spec.Dir, "home", codexFolder)
			if err := os.MkdirAll(home, 0o700); err != nil {
				return nil, err
			}
			return c.arguments(spec, c.takeThread(spec, home)), nil
		},
		speak: func(p *protocol, work string) reader {
			talk = newCodexTalk(p, work)
			talk.maxTurns = spec.Plan.Limits.MaxTurns
			talk.keeper, _ = sink.(SessionKeeper)
			return talk
		},
	}.run(ctx, spec, sink)
	if talk != nil {
		out.Session = talk.thread
	}
	return out, err
}

// variables hands the key to Codex under the name that it reads.
func (c *Codex) variables(home string, spec Spec) map[string]string {
	vars := map[string]string{"CODEX_HOME": home}
	key := c.Env["OPENAI_API_KEY"]
	if key == "" && slices.Contains(spec.Plan.Env, "OPENAI_API_KEY") {
		key = os.Getenv("OPENAI_API_KEY")
	}
	if key != "" && !slices.Contains(spec.Plan.Env, "CODEX_API_KEY") {
		vars["CODEX_API_KEY"] = key
	}
	return vars
}

// arguments is the command line after the program and its own arguments. It
// holds no secret: any account of the machine can read it. thread is a
// conversation to continue, or "".
func (c *Codex) arguments(spec Spec, thread string) []string {
	mode := sandbox(spec.Plan.Tools)
	args := []string{"exec", "--json", "--skip-git-repo-check", "-s", mode}
	set := func(key string, value any) {
		text, _ := json.Marshal(value) // a string or list of JSON is one of TOML too
		args = append(args, "-c", key+"="+string(text))
	}
	if spec.URL != "" {
		set("mcp_servers.taskyard.url", strings.TrimSuffix(spec.URL, "/")+"/mcp")
		set("mcp_servers.taskyard.bearer_token_env_var", "TASKYARD_TOKEN")
		set("mcp_servers.taskyard.default_tools_approval_mode", "approve")
	}
	set("shell_environment_policy.exclude", []string{"*KEY*", "*SECRET*", "*PASSWORD*", "*TOKEN*"})
	set("features.multi_agent", false) // agents of agents are started by Taskyard or not at all
	if !slices.Contains(spec.Plan.Tools, "fetch") {
		set("web_search", "disabled")
	}
	if mode == "workspace-write" {
		set("sandbox_workspace_write.network_access", c.Network)
		set("sandbox_workspace_write.exclude_slash_tmp", true) // it has a TMPDIR of its own
	}
	if spec.Plan.Model != "" {
		args = append(args, "-m", spec.Plan.Model)
	}
	if thread != "" {
		args = append(args, "resume", thread)
	}
	return append(args, "-")
}
