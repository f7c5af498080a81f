package runner

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"taskyard/task"
)

// Claude runs Claude Code, or a program that takes the same flags and speaks
// its stream-json. The program works with the tools of the definition alone,
// with those of the server over MCP, and with nothing that the machine's user or
// the workspace has set up for it.
type Claude struct {
	Argv  []string          // the program and its first arguments; nil: claude
	Env   map[string]string // set for the program, such as ANTHROPIC_BASE_URL
	Pass  []string          // names of variables of the server handed on, such as ANTHROPIC_API_KEY
	Grace time.Duration     // between interrupt, TERM and KILL; 0: 5 s
	Shim  []string          // the command line of the shim; nil: this binary and ShimArg

	Confine      Confinement // of the program and all that it starts
	AcceptWeaker bool        // run agents whose bash cannot be held
}

var _ Confiner = (*Claude)(nil)

var claudeKind = Kind{
	Name: "claude", Program: "claude",
	New: func(s Settings) Runner {
		c := &Claude{Argv: s.Argv, Env: s.Env, Confine: s.Confine, AcceptWeaker: s.AcceptWeaker}
		if s.SecretEnv != "" {
			c.Pass = []string{s.SecretEnv}
		}
		return c
	},
	Missing: missingProgram,
	Capabilities: Probe{ // a probe finds out more about Shell and Network
		EnforcesTools: true,
		Tools:         "The program is given the agent's list by --tools and refuses all others.",
		Shell:         "confined by landlock, where this machine has it",
		Network:       "closed to commands, unless the definition says network: true",
	},
}

// claudeEnv keeps the program from calls that no run needs.
var claudeEnv = map[string]string{
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	"DISABLE_AUTOUPDATER":                      "1",
	"DISABLE_TELEMETRY":                        "1",
	"DISABLE_ERROR_REPORTING":                  "1",
}

// claudeTools says how the program names our tools. What is not here comes
// from the server over MCP.
var claudeTools = map[string][]string{
	"read": {"Read"}, "list": {"LS", "Glob"}, "glob": {"Glob"}, "grep": {"Grep"}, "fetch": {"WebFetch"},
	"create": {"Write"}, "edit": {"Edit"}, "bash": {"Bash"},
}

// serverPrefix is the prefix of the server's tools in the program.
const serverPrefix = "mcp__taskyard__"

// Probe asks the program for its version.
func (c *Claude) Probe(ctx context.Context) Probe {
	argv := c.argv()
	ask := &Command{
		Argv: argv, Env: c.env(), VersionArgs: append(argv[1:len(argv):len(argv)], "--version"),
		Grace: c.Grace, Shim: c.Shim, confine: c.Confine,
	}
	p := ask.Probe(ctx)
	return c.confinement(p.as(probeOf("claude")))
}

func (c *Claude) argv() []string {
	if len(c.Argv) == 0 {
		return []string{claudeKind.Program}
	}
	return c.Argv
}

// env is what the program gets besides what every program gets.
func (c *Claude) env() map[string]string {
	env := maps.Clone(claudeEnv)
	for _, name := range c.Pass {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	maps.Copy(env, c.Env)
	return env
}

// Run starts the program and returns when its whole process tree is gone.
func (c *Claude) Run(ctx context.Context, spec Spec, sink Sink) (Outcome, error) {
	if gap, refused := c.EnforcementGap(spec.Plan.Tools); refused {
		return permanently(gap + " " + acceptShell), nil
	}
	st := newStopper()
	spec.Secrets = append(spec.Secrets[:len(spec.Secrets):len(spec.Secrets)], c.credentials(spec)...)
	l := launch{Argv: c.argv(), Env: c.env(), Grace: c.Grace, Shim: c.Shim, Confine: c.Confine}
	l.Env["CLAUDE_CODE_TMPDIR"] = filepath.Join(spec.Dir, "tmp")
	if hasTool(spec.Plan.Tools, "bash") {
		l.Env[claudeShell] = filepath.Join(spec.Dir, shellName)
	}
	if l.Grace <= 0 {
		l.Grace = defaultGrace
	}
	var r *claudeReader
	out, err := runProgram(ctx, l, spec, sink, st, func() (reader, program, error) {
		args, err := claudeArgs(spec)
		if err == nil {
			err = c.writeShell(spec)
		}
		r = newClaudeReader(spec, sink, st)
		if rules := c.Confine.rules(spec, workOf(spec), l.Env); rules != nil {
			r.writable = rules.Writable
		}
		return r, program{Argv: args, Input: userMessage(spec.Plan.Prompt)}, err
	})
	if r != nil {
		out.Session = r.session
	}
	return out, err
}

// credentials lists the values of what the program gets to sign in with.
func (c *Claude) credentials(spec Spec) (list []string) {
	for _, name := range spec.Plan.Env {
		if secretName.MatchString(name) {
			list = append(list, os.Getenv(name))
		}
	}
	for name, value := range c.env() {
		if secretName.MatchString(name) {
			list = append(list, value)
		}
	}
	return list
}

// userMessage is a line of input.
func userMessage(text string) string {
	return jsonLine(map[string]any{"type": "user", "message": map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": clean(text)}},
	}})
}

func jsonLine(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of text alone come here
	}
	return string(b) + "\n"
}

// claudeArgs writes the files that the program reads and returns its
// arguments. No text of a task and no secret is among them.
func claudeArgs(spec Spec) ([]string, error) {
	plan := spec.Plan
	args := []string{
		"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio",
		"--tools", strings.Join(claudeNames(plan.Tools), ","),
		// The workspace may bring hooks, which would run unasked.
		"--setting-sources", "user", "--disable-slash-commands", "--strict-mcp-config",
	}
	if spec.URL != "" {
		file := filepath.Join(spec.Dir, "mcp.json")
		if err := writeNew(file, mcpConfig(spec.URL), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--mcp-config", file)
	}
	if plan.SystemPrompt != "" {
		file := filepath.Join(spec.Dir, "system-prompt.md")
		if err := writeNew(file, plan.SystemPrompt, 0o600); err != nil {
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

// mcpConfig names Taskyard's MCP server. The program puts the token in from
// its environment.
func mcpConfig(url string) string {
	return jsonLine(map[string]any{"mcpServers": map[string]any{"taskyard": map[string]any{
		"type": "http", "url": strings.TrimRight(url, "/") + "/mcp", "headers": map[string]string{"Authorization": "Bearer ${TASKYARD_TOKEN}"},
	}}})
}

// claudeNames is the whitelist in the program's words.
func claudeNames(tools []string) []string {
	names, seen := []string{}, map[string]bool{}
	for _, t := range task.KnownTools {
		for _, name := range claudeTools[t] {
			if !seen[name] && hasTool(tools, t) {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

func hasTool(tools []string, tool string) bool {
	for _, t := range tools {
		if t == tool {
			return true
		}
	}
	return false
}
