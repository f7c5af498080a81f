package agentfile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"taskyard/internal/frontmatter"
	"taskyard/internal/lazyregexp"
	"taskyard/task"
)

// setters handle the supported keys.
var setters map[string]func(*parser, field)

func init() { // avoids an initialization cycle: the setters' hints list the keys
	setters = map[string]func(*parser, field){
		"name":                 (*parser).setName,
		"description":          (*parser).setDescription,
		"tools":                (*parser).setTools,
		"disallowed_tools":     (*parser).setDisallowed,
		"permission":           (*parser).setPermission,
		"runner":               (*parser).setRunner,
		"model":                (*parser).setModel,
		"models":               (*parser).setModels,
		"max_turns":            func(p *parser, f field) { p.number(f, &p.a.MaxTurns) },
		"max_tokens":           func(p *parser, f field) { p.number(f, &p.a.MaxTokens) },
		"max_claims":           func(p *parser, f field) { p.number(f, &p.a.MaxClaims) },
		"max_parallel":         func(p *parser, f field) { p.number(f, &p.a.MaxParallel) },
		"max_cost_usd":         func(p *parser, f field) { p.cost(f, &p.a.MaxCostUSD) },
		"max_tokens_per_day":   func(p *parser, f field) { p.number(f, &p.a.MaxTokensPerDay) },
		"max_cost_usd_per_day": func(p *parser, f field) { p.cost(f, &p.a.MaxCostUSDPerDay) },
		"timeout":              func(p *parser, f field) { p.duration(f, &p.a.Timeout) },
		"idle_timeout":         func(p *parser, f field) { p.duration(f, &p.a.IdleTimeout) },
		"approval":             (*parser).setApproval,
		"capabilities":         (*parser).setCapabilities,
		"task_tools":           (*parser).setTaskTools,
		"workspace":            (*parser).setWorkspace,
		"network":              func(p *parser, f field) { p.flag(f, "network", &p.a.Network) },
		"env":                  (*parser).setEnv,
		"projects":             (*parser).setProjects,
		"checks":               (*parser).setChecks,
		"review":               (*parser).setReview,
	}
}

// ignoredKeys belong to the subagent files of coding agents and have no meaning
// here.
var ignoredKeys = []string{
	"color", "permission_mode", "mcp_servers", "hooks", "skills", "memory", "background", "effort",
	"isolation", "initial_prompt", "version", "author", "license", "tags", "category", "metadata", "mode", "temperature", "top_p",
	"kind", "hidden", "priority", "domain", "display_name", "icon", "examples", "target", "argument_hint",
	"timeout_mins", "steps", "prompt", "disable",
}

func knownKeys() []string { return slices.Sorted(maps.Keys(setters)) }

func (p *parser) set(f field) {
	if set := setters[f.key]; set != nil {
		set(p, f)
		return
	}
	if slices.Contains(ignoredKeys, f.key) {
		hint := cmp.Or(keyHints[f.key], "It does no harm; remove it to avoid this warning")
		p.warn(f.line, hint, "the key %s has no effect here and is ignored", task.Quote(f.name))
		return
	}
	hint := "Known keys are " + strings.Join(knownKeys(), ", ")
	if near := task.Nearest(f.key, knownKeys()); near != "" {
		hint = "Did you mean `" + near + "`?"
	}
	p.warn(f.line, hint, "the key %s is unknown and is ignored", task.Quote(f.name))
}

func (p *parser) setName(f field) {
	s, ok := p.text(f)
	if name := strings.Join(strings.Fields(s), " "); ok && name != "" {
		p.a.Name = name
	}
}

func (p *parser) setDescription(f field) { p.a.Description, _ = p.text(f) }

func (p *parser) setTools(f field) {
	entries, ok := p.toolItems(f)
	if ok {
		p.tools(f.line, entries)
	}
}

func (p *parser) setDisallowed(f field) {
	entries, _ := p.list(f)
	for _, entry := range entries {
		p.disallow(entry.text)
	}
}

func (p *parser) setRunner(f field) {
	s, ok := p.word(f)
	if !ok || s == "" {
		return
	}
	if _, known := p.opt.Runners[s]; known || s == RunnerNone || s == p.opt.defaultRunner() {
		p.a.Runner = s
		return
	}
	if p.opt.AnyRunner {
		p.a.Runner = s
		p.warn(f.line, "Name the data folder, such as --data ./data, to have it checked",
			"the runner %s was not checked: no configuration was found", task.Quote(s))
		return
	}
	names := append(slices.Sorted(maps.Keys(p.opt.Runners)), RunnerNone)
	if !slices.Contains(names, p.opt.defaultRunner()) {
		names = append(names, p.opt.defaultRunner())
	}
	hint := "Configured runners are " + strings.Join(names, ", ") +
		"; a new one is a section [runners.NAME] of taskyard.toml, read when the server starts and at SIGHUP"
	if near := task.Nearest(s, names); near != "" {
		hint = "Did you mean `" + near + "`? " + hint
	}
	p.fatal(f.line, hint, "the runner %s is not configured", task.Quote(s))
}

func (p *parser) setModel(f field) {
	// In coding agents, "inherit" means the caller's model.
	if s, ok := p.word(f); ok && s != "inherit" {
		p.a.Model = s
	}
}

func (p *parser) setModels(f field) {
	m, ok := f.node.(*ast.MappingNode)
	if !ok {
		if s, isText := frontmatter.Scalar(f.node); !isText || s != "" {
			p.fatal(f.line, "Write low, medium and high below it, indented, each with a model", "models must map low, medium and high to models")
		}
		return
	}
	for _, v := range m.Values {
		level, line := v.Key.GetToken().Value, f.at(v.Key)
		model, isText := frontmatter.Scalar(v.Value)
		switch {
		case !slices.Contains([]string{"low", "medium", "high"}, level):
			p.warn(line, "Levels are low, medium and high", "the level %s of models is unknown and is ignored", task.Quote(level))
		case !isText || strings.TrimSpace(model) == "":
			p.fatal(line, "Write the model's name after the colon", "models: %s must name a model", level)
		default:
			if p.a.Models == nil {
				p.a.Models = map[string]string{}
			}
			p.a.Models[level] = strings.TrimSpace(model)
		}
	}
}

func (p *parser) setApproval(f field) {
	s, ok := p.word(f)
	if !ok || s == "" {
		return
	}
	switch policy := task.Policy(strings.ToLower(s)); policy {
	case task.ApproveAlways, task.ApproveDelegated, task.ApproveNever:
		p.a.Approval = policy
	default:
		p.fatal(f.line, "Write always, delegated or never", "the approval policy %s is unknown", task.Quote(s))
	}
}

func (p *parser) setCapabilities(f field) {
	entries, ok := p.list(f)
	if !ok {
		return
	}
	p.a.Capabilities = []string{}
	for _, entry := range entries {
		if !slices.Contains(task.Capabilities, entry.text) {
			p.warn(entry.line, "The capabilities are tasks, or tasks:own for only its own tasks and their families",
				"the capability %s is unknown and is not granted", task.Quote(entry.text))
		} else if !p.a.Can(entry.text) {
			p.a.Capabilities = append(p.a.Capabilities, entry.text)
		}
	}
}

func (p *parser) setWorkspace(f field) {
	s, ok := p.word(f)
	if !ok {
		return
	}
	if err := task.CheckWorkspace(s); err != nil {
		p.fatal(f.line, "Leave the key out for a private folder of each run; /absolute/path for one folder; "+
			"worktree:/absolute/path of a Git repository for a worktree of each run", "workspace: %s", err)
		return
	}
	p.a.Workspace = s
}

func (p *parser) setTaskTools(f field) {
	s, ok := p.word(f)
	if !ok {
		return
	}
	switch strings.ToLower(s) {
	case task.AllTaskTools:
		p.a.TaskTools = task.AllTaskTools
	case "few", "":
	default:
		p.fatal(f.line, "Write all or few, or leave the key out", "task_tools must be all or few, not %s", task.Quote(s))
	}
}

var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

func (p *parser) setEnv(f field) {
	entries, _ := p.list(f)
	for _, entry := range entries {
		if !envName().MatchString(entry.text) {
			// Do not show the text: it may be a secret.
			p.fatal(entry.line, "Write only names, such as GITHUB_TOKEN; the values come from the server's environment",
				"env contains something that is not the name of a variable")
		} else if !slices.Contains(p.a.Env, entry.text) {
			p.a.Env = append(p.a.Env, entry.text)
		}
	}
}

// finish checks the required parts of the file.
func (p *parser) finish() {
	if p.a.Description == "" {
		p.missing("description", "## Description", "the description is missing")
	}
	if p.seen["tools"] == 0 {
		p.noTools()
	}
	p.removeDisallowed()
	p.settleModel()
	p.checkWorkspace()
	if p.a.Runner == RunnerNone {
		p.a.PullOnly, p.a.PullReason = true, "its definition says `runner: none`"
		return
	}
	p.a.PullReason = pullReason(p.a.Runner, p.opt)
	p.a.PullOnly = p.a.PullReason != ""
}

// checkWorkspace rejects a workspace in which its runner cannot execute runs.
func (p *parser) checkWorkspace() {
	if p.a.Workspace == "" || p.opt.Workspace == nil {
		return
	}
	if err := p.opt.Workspace(p.a.Runner, p.a.Workspace); err != nil {
		p.fatal(p.seen["workspace"], "Leave the key out for a private folder of each run, or name a folder "+
			"that is neither inside nor above the data folder", "workspace: %s", err)
	}
}

func pullReason(runner string, opt Options) string {
	if opt.PullOnly == nil {
		return ""
	}
	return opt.PullOnly(runner)
}

// noTools explains a missing list. Coding agents grant such a subagent every
// tool; here, every grant must be explicit.
func (p *parser) noTools() {
	if p.headings {
		p.missing("tools", "## Allowed Tools", "the list of allowed tools is missing")
		return
	}
	p.fatal(0, "Coding agents take that for: every tool. Here each is named: add a line `tools: "+strings.Join(p.remainingTools(), ", ")+
		"` to the front matter, and what else it needs of create, edit, bash and task", "the list of allowed tools is missing")
}

// missing reports something that neither notation contains, at its empty key or
// section if there is one.
func (p *parser) missing(key, heading, message string) {
	hint := "Add a line `" + key + ": …` to the front matter"
	switch {
	case p.seen[key] > 0:
		hint = "Write it there, in a sentence or two"
	case p.headings:
		hint = "Add a section `" + heading + "` above `## System Prompt`"
	}
	p.fatal(p.seen[key], hint, "%s", message)
}
