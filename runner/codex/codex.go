package codex

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Runner runs the Codex command line without a terminal: `codex exec --json`.
// It has no list of tools; the sandbox restricts the commands of the model.
type Runner struct {
	supervise.Program      // Argv nil: codex
	Network           bool // the writable sandbox also has network access
	AcceptWeaker      bool // run agents even if Codex cannot enforce their tools or a cost limit
}

var _ supervise.Confiner = (*Runner)(nil)

// Capabilities is what is known about this kind before this machine is probed.
var Capabilities = supervise.Probe{
	Kind: "codex",
	Tools: "Codex has no list of tools; its sandbox is read-only, " +
		"or lets agents with create, edit or bash write to their workspace.",
	Shell:   "the sandbox of Codex",
	Network: "closed to commands",
}

// Program is the default program.
const Program = "codex"

// Probe finds the program and asks it for its version.
func (c *Runner) Probe(ctx context.Context) supervise.Probe {
	program := c.With([]string{Program}, nil)
	program.Argv = program.Argv[:1]
	p := program.Probe(ctx, Capabilities, "--version")
	if c.Network {
		p.Network = "open to commands that may write; closed to others"
	}
	return p
}

// EnforcementGap compares the tools with what the sandbox permits: reading all
// files and running programs that change nothing, or in the other mode also
// writing to the workspace.
func (c *Runner) EnforcementGap(tools []string) (string, bool) {
	var beyond []string
	switch {
	case slices.Contains(tools, "bash"): // a command may do whatever the sandbox permits
	case sandbox(tools) == "read-only":
		beyond = enforce.Missing(tools, "read")
	default:
		beyond = enforce.Missing(tools, "read", "create", "edit", "bash")
	}
	if len(beyond) == 0 {
		return "", false
	}
	return "Codex has no list of tools, only the sandbox " + sandbox(tools) +
		": the agent could also use " + strings.Join(beyond, ", ") + ".", !c.AcceptWeaker
}

// Enforcement returns which parts of a plan are enforced here.
func (c *Runner) Enforcement(plan task.Spec) enforce.Levels {
	mode := sandbox(plan.Tools)
	reads := mode == "read-only"
	return enforce.Levels{
		Tool: func(name string) enforce.Level {
			switch name {
			case "create", "edit":
				return enforce.If(reads, "Codex has no list of tools; its sandbox is "+mode)
			case "bash":
				if reads {
					return enforce.Partly("commands run, and the sandbox lets them change nothing")
				}
			case "fetch":
				return enforce.If(!c.Network, "by the sandbox of Codex")
			}
			return enforce.No("Codex has no list of tools; its sandbox is " + mode)
		},
		Files: enforce.Yes("by the sandbox of Codex"), Network: enforce.If(!c.Network, "by the sandbox of Codex"),
		Time: enforce.Yes(enforce.TreeEnds), Tokens: enforce.Yes(enforce.ReportsUse), Turns: enforce.Yes("counted as it reports them"),
		Cost: enforce.No("Codex does not tell what it costs"),
	}
}

// sandbox returns the mode for the commands of the model.
func sandbox(tools []string) string {
	if task.Writes(tools) {
		return "workspace-write"
	}
	return "read-only"
}

// EnforcesReadOnly reports true: the sandbox is then read-only.
func (c *Runner) EnforcesReadOnly() bool { return true }

// Run starts Codex with a private CODEX_HOME and returns when all of its
// processes have ended. Codex accepts one prompt: messages that people send in
// the meantime become the next one, in the same conversation and within the
// remaining limits.
func (c *Runner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	if ctx.Err() != nil {
		return supervise.Canceled(context.Cause(ctx)), nil
	}
	if gap, refused := c.EnforcementGap(spec.Plan.Tools); refused {
		return supervise.Permanent(task.PhaseError, gap+" "+enforce.AcceptWeaker), nil
	}
	if spec.Plan.Limits.MaxCostUSD > 0 && !c.AcceptWeaker {
		return supervise.Permanent(task.PhaseError, "The limit of cost cannot be kept: Codex reports no cost. Give the agent max_tokens or "+
			"max_turns instead of max_cost_usd, or set accept_weaker = true for this runner."), nil
	}
	home := filepath.Join(spec.Dir, "home", homeFolder)
	program := c.With([]string{Program}, c.variables(home, spec))
	var reader *reader
	run := func(spec supervise.Spec, prompt string) (supervise.Outcome, error) {
		return program.Run(ctx, spec, sink, func(r *supervise.Run) (supervise.Conversation, error) {
			if err := os.MkdirAll(home, 0o700); err != nil {
				return supervise.Conversation{}, err
			}
			reader = newReader(r)
			thread := c.takeThread(spec, home)
			input := prompt
			if prompt == "" || thread == "" { // it starts over
				input = supervise.Prompt(spec.Plan) + prompt
			}
			return supervise.Conversation{Reader: reader, Args: c.arguments(spec, thread), Input: input}, nil
		})
	}
	out, err := run(spec, "")
	for err == nil && out.Status == task.RunCompleted && ctx.Err() == nil {
		remaining, ok := reader.remainingSpec(out.Session)
		if !ok {
			break // the next run reads it
		}
		texts := reader.Messages()
		if len(texts) == 0 {
			break
		}
		before, artifacts := out.Usage, out.Artifacts
		out, err = run(remaining, strings.Join(texts, "\n\n")+"\n")
		out.Usage, out.Artifacts = before.Add(out.Usage), distinct(artifacts, out.Artifacts)
	}
	return out, err
}

// variables passes the key to Codex under the name that it reads.
func (c *Runner) variables(home string, spec supervise.Spec) map[string]string {
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

// arguments returns the command line after the program and its own arguments.
// It contains no secret, because any account of the machine can read it. thread
// is a conversation to continue, or "".
func (c *Runner) arguments(spec supervise.Spec, thread string) []string {
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
