package claude

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Runner runs Claude Code, or a program that accepts the same flags and speaks
// its stream-json. The program uses only the tools of the definition and those
// of the server over MCP, and no configuration of the machine's user or the
// workspace.
type Runner struct {
	supervise.Program          // Argv nil: claude; Env may hold variables such as ANTHROPIC_BASE_URL
	Pass              []string // names of server variables to pass on, such as ANTHROPIC_API_KEY
	AcceptWeaker      bool     // run agents whose bash cannot be confined
}

var _ supervise.Confiner = (*Runner)(nil)

// Capabilities is what is known about this kind before this machine is probed.
// A probe adds Shell and Network.
var Capabilities = supervise.Probe{
	Kind:          "claude",
	EnforcesTools: true,
	Tools:         "The program is given the agent's list by --tools and refuses all others.",
	Shell:         "confined by landlock, where this machine has it",
	Network:       "closed to commands, unless the definition says network: true",
}

// Program is the default program.
const Program = "claude"

// quietEnv disables network calls of the program that no run needs.
var quietEnv = map[string]string{
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	"DISABLE_AUTOUPDATER":                      "1",
	"DISABLE_TELEMETRY":                        "1",
	"DISABLE_ERROR_REPORTING":                  "1",
}

// toolNames maps our tools to the program's names. Tools that are not listed
// come from the server over MCP.
var toolNames = map[string][]string{
	"read": {"Read"}, "list": {"LS", "Glob"}, "glob": {"Glob"}, "grep": {"Grep"}, "fetch": {"WebFetch"},
	"create": {"Write"}, "edit": {"Edit"}, "bash": {"Bash"},
}

// serverPrefix is the prefix of the server's tools in the program.
const serverPrefix = "mcp__taskyard__"

// Probe asks the program for its version, and checks whether there is a
// credential to pass on.
func (c *Runner) Probe(ctx context.Context) supervise.Probe {
	program := c.program()
	p := c.confinement(program.Probe(ctx, Capabilities, append(slices.Clone(program.Argv[1:]), "--version")...))
	for _, name := range c.Pass {
		if p.Problem == "" && os.Getenv(name) == "" {
			p.Problem = "the variable " + name + ", which secret_env names, is empty"
		}
	}
	return p
}

// program returns the program to start, with the variables that every run of it
// gets.
func (c *Runner) program() supervise.Program {
	env := maps.Clone(quietEnv)
	for _, name := range c.Pass {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	return c.With([]string{Program}, env)
}

// Enforcement returns which parts of a plan are enforced here.
func (c *Runner) Enforcement(plan task.Spec) enforce.Levels {
	h := enforce.Levels{
		Tool:    enforce.SameForAll(enforce.Yes("the program is given the list by --tools and refuses all others")),
		Network: enforce.Yes("commands have no network"),
		Time:    enforce.Yes(enforce.TreeEnds), Tokens: enforce.Yes(enforce.ReportsUse),
		Turns: enforce.Yes("by --max-turns"), Cost: enforce.Yes("by --max-budget-usd, and " + enforce.ReportsUse),
	}
	h.Files = c.Confine.Files()
	if slices.Contains(plan.Tools, "bash") && (!c.Confine.Machine().Seccomp || !c.isClaude()) {
		h.Network = enforce.No("this machine or program cannot close it to commands")
	}
	return h
}

// EnforcesReadOnly reports true: tools that write are left out.
func (c *Runner) EnforcesReadOnly() bool { return true }

// Run starts the program and returns when its whole process tree has ended.
func (c *Runner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	if gap, refused := c.EnforcementGap(spec.Plan.Tools); refused {
		return supervise.Permanent(task.PhaseError, gap+" "+acceptShell), nil
	}
	program := c.program()
	program.Env["CLAUDE_CODE_TMPDIR"] = filepath.Join(spec.Dir, "tmp")
	if slices.Contains(spec.Plan.Tools, "bash") {
		program.Env[shellPrefix] = supervise.ShellPath(spec)
	}
	return program.Run(ctx, spec, sink, func(r *supervise.Run) (supervise.Conversation, error) {
		args, err := arguments(spec)
		if err == nil {
			err = c.writeShell(spec)
		}
		return supervise.Conversation{
			Reader: newReader(r, c.Confine.Rules(spec, program.Env)), Args: args, Input: userMessage("", spec.Plan.Prompt),
		}, err
	})
}

// userMessage returns a line of input. The program repeats it with the uuid,
// which may be "".
func userMessage(uuid, text string) string {
	line := map[string]any{"type": "user", "message": map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": task.CleanText(text)}},
	}}
	if uuid != "" {
		line["uuid"] = uuid
	}
	return jsonLine(line)
}

func jsonLine(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps of text
	}
	return string(b) + "\n"
}

// arguments writes the files that the program reads and returns its arguments,
// which contain no task text and no secret.
func arguments(spec supervise.Spec) ([]string, error) {
	plan := spec.Plan
	args := []string{
		"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio",
		"--replay-user-messages", // shows when a message was received
		"--tools", strings.Join(toolList(plan.Tools), ","),
		// The workspace may bring hooks, which would run without consent.
		"--setting-sources", "user", "--disable-slash-commands", "--strict-mcp-config",
	}
	if spec.URL != "" {
		file := filepath.Join(spec.Dir, "mcp.json")
		if err := supervise.WriteNew(file, mcpConfig(spec.URL), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--mcp-config", file)
	}
	if plan.SystemPrompt != "" {
		file := filepath.Join(spec.Dir, "system-prompt.md")
		if err := supervise.WriteNew(file, plan.SystemPrompt, 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--append-system-prompt-file", file)
	}
	if plan.Model != "" {
		args = append(args, "--model="+plan.Model)
	}
	if n := plan.Limits.MaxTurns; n > 0 {
		args = append(args, "--max-turns", strconv.Itoa(n))
	}
	if usd := plan.Limits.MaxCostUSD; usd > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(usd, 'f', -1, 64))
	}
	if file := takeSession(spec); file != "" {
		args = append(args, "--resume", file)
	}
	return args, nil
}

// mcpConfig returns the configuration of Taskyard's MCP server. The program
// inserts the token from its environment.
func mcpConfig(url string) string {
	return jsonLine(map[string]any{"mcpServers": map[string]any{"taskyard": map[string]any{
		"type": "http", "url": strings.TrimRight(url, "/") + "/mcp", "headers": map[string]string{"Authorization": "Bearer ${TASKYARD_TOKEN}"},
	}}})
}

// toolList returns the allowed tools under the program's names.
func toolList(tools []string) []string {
	names, seen := []string{}, map[string]bool{}
	for _, t := range task.KnownTools {
		for _, name := range toolNames[t] {
			if !seen[name] && slices.Contains(tools, t) {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}
