package agentfile

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"taskyard/internal/frontmatter"
	"taskyard/task"
)

// foreignTools maps the tool names of Claude Code, gemini, opencode and others,
// in lower case, to ours. It only contains names that mean no more than ours.
var foreignTools = map[string]string{
	"ls": "list", "webfetch": "fetch", "web_fetch": "fetch", "write": "create", "multiedit": "edit", "agent": "task",
	"read_file": "read", "read_many_files": "read", "list_directory": "list", "grep_search": "grep", "search_file_content": "grep",
	"write_file": "create", "replace": "edit", "run_shell_command": "bash", "shell": "bash",
}

// foreignHints explain why tools and servers of other programs are not
// available here.
var foreignHints = map[string]string{
	"*":       "Here each tool is named: " + strings.Join(task.KnownTools, ", "),
	"all":     "Here each tool is named: " + strings.Join(task.KnownTools, ", "),
	"inherit": "Here each tool is named: " + strings.Join(task.KnownTools, ", "),

	"bashoutput": "Commands run to their end here: `bash` is enough", "killshell": "Commands run to their end here: `bash` is enough",
	"killbash": "Commands run to their end here: `bash` is enough",
	"todowrite": "It is never granted, and not needed: Taskyard's own steps and todo lists are there for " +
		"every agent with the capability tasks",
	"todoread": "It is never granted, and not needed: Taskyard's own steps and " +
		"todo lists are there for every agent with the capability tasks",
	"askuserquestion":   "It is never granted, and not needed: an agent with the capability tasks asks people by notify_user",
	"ask_user":          "It is never granted, and not needed: an agent with the capability tasks asks people by notify_user",
	"websearch":         "It is never granted; `fetch` reads pages whose address is known",
	"google_web_search": "It is never granted; `fetch` reads pages whose address is known",
	"notebookedit":      "It is never granted; `edit` changes text files",
	"skill":             "It is never granted: write what the agent must know into its prompt",
	"slashcommand":      "It is never granted: write what the agent must know into its prompt",
}

// foreignHint returns why a tool of other programs is not granted, or "".
func foreignHint(text string) string {
	name := strings.ToLower(strings.TrimSpace(text))
	switch {
	case strings.HasPrefix(name, "mcp__taskyard"):
		return "It is not needed: Taskyard's own tools are there for every agent with the capability tasks"
	case strings.HasPrefix(name, "mcp__"), strings.HasPrefix(name, "mcp_"):
		return "It is never granted: agents are given no MCP servers but Taskyard's own"
	}
	return foreignHints[name]
}

// keyHints say what to use instead of keys that have a meaning elsewhere but
// not here. Some of them restrict an agent there.
var keyHints = map[string]string{
	"permission_mode": "Here the list of tools alone decides, and approval (always, delegated, never) says which " +
		"runs a person must approve. A mode plan means: leave create, edit and bash out of tools",
	"hooks": "They are not run: what a hook forbids there is not forbidden here. " +
		"Leave the tool out, or set approval: always so that a person looks",
	"skills":       "They are not loaded: write what the agent must know into its prompt",
	"mcp_servers":  "No MCP server but Taskyard's own is given to agents",
	"isolation":    "Each run has a folder of its own, unless workspace names one",
	"timeout_mins": "Write `timeout: 5m`",
	"steps":        "Write `max_turns`",
	"prompt":       "The text below the front matter is the prompt",
	"disable":      "Remove the file from the folder, or pause the agent",
}

// aliases are alternative names of our keys.
var aliases = map[string]string{"allowed_tools": "tools"}

// toolItems parses a list of tools, or opencode's map from tool to true or
// false. There, tools that are not named are allowed; here only those with true
// are. It returns false and reports a problem if the value is neither.
func (p *parser) toolItems(f field) ([]listEntry, bool) {
	m, ok := f.node.(*ast.MappingNode)
	if !ok {
		return p.list(f)
	}
	var entries []listEntry
	for _, v := range m.Values {
		name, line := v.Key.GetToken().Value, f.at(v.Key)
		switch on, _ := frontmatter.Scalar(v.Value); on {
		case "true":
			entries = append(entries, listEntry{name, line})
		case "false":
			p.disallow(name)
		default:
			p.fatal(line, "Write true or false after it, or a list of names", "the tool %s is neither allowed nor forbidden", task.Quote(name))
			return nil, false
		}
	}
	if len(entries) == 0 && len(m.Values) > 0 {
		p.fatal(f.line, "There all other tools are allowed; here each is named. Write `tools: "+
			strings.Join(p.remainingTools(), ", ")+"`, or fewer", "tools are forbidden here, and none is allowed")
		return nil, false
	}
	return entries, true
}

func (p *parser) disallow(text string) {
	if name, _ := tool(text); name != "" {
		p.disallowed = append(p.disallowed, name)
	}
}

// remainingTools returns the harmless tools that are not disallowed.
func (p *parser) remainingTools() []string {
	return slices.DeleteFunc([]string{"read", "list", "glob", "grep", "fetch"},
		func(t string) bool { return slices.Contains(p.disallowed, t) })
}

// setPermission applies the restrictions in opencode's permissions: tools
// denied there are not granted here.
func (p *parser) setPermission(f field) {
	m, ok := f.node.(*ast.MappingNode)
	if !ok {
		p.warn(f.line, "The list of tools alone decides", "permission is not a map from tools to allow, ask or deny, and is ignored")
		return
	}
	for _, v := range m.Values {
		name, line := v.Key.GetToken().Value, f.at(v.Key)
		switch word, plain := frontmatter.Scalar(v.Value); {
		case plain && word == "allow":
		case plain && word == "deny":
			p.disallow(name)
		default: // ask, or patterns
			p.disallow(name)
			p.warn(line, "Name it in tools, and remove it here, to grant the whole tool without asking",
				"the tool %s is allowed only in part or after asking, which cannot be kept: it is not granted", task.Quote(name))
		}
	}
}

// modelAliases are Claude Code's short model names.
var modelAliases = []string{"sonnet", "opus", "haiku", "default", "best", "opusplan"}

// settleModel replaces a short model name that the agent's runner does not
// support, and reports a model that the runner does not have.
func (p *parser) settleModel() {
	name, line := p.a.Model, p.seen["model"]
	kind := p.opt.Runners[p.a.Runner]
	if name == "" || p.opt.Models == nil || p.a.Runner == RunnerNone || kind.Models && pullReason(p.a.Runner, p.opt) != "" {
		return
	}
	models := p.opt.Models(p.a.Runner)
	hint := "runner " + p.a.Runner + " uses its own default model. Name one that it has"
	if len(models) > 0 {
		hint += ": " + strings.Join(models[:min(len(models), 10)], ", ")
	}
	switch {
	case slices.Contains(models, name):
	case kind.ForeignModels && slices.Contains(modelAliases, name):
		p.a.Model = uniqueMatch(models, name)
		if p.a.Model != "" {
			p.warn(line, "Write the full name to avoid this warning",
				"the model %s is a short name of Claude Code; %s is used", task.Quote(name), task.Quote(p.a.Model))
			return
		}
		p.warn(line, "The "+hint, "the model %s is a short name of Claude Code that the runner %s does not know; it is ignored",
			task.Quote(name), p.a.Runner)
	case len(models) > 0:
		p.warn(line, "Its models are "+strings.Join(models[:min(len(models), 10)], ", "),
			"the runner %s has no model %s: its runs will be refused", p.a.Runner, task.Quote(name))
	}
}

// uniqueMatch returns the only name that contains a word, "" if there are none or
// several.
func uniqueMatch(names []string, word string) (found string) {
	for _, n := range names {
		if strings.Contains(strings.ToLower(n), word) {
			if found != "" {
				return ""
			}
			found = n
		}
	}
	return found
}
