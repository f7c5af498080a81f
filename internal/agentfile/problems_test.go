package agentfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"taskyard/task"
)

func wantProblem(t *testing.T, a task.Agent, line int, fatal bool, part string) {
	t.Helper()
	for _, p := range a.Problems {
		if p.Line == line && p.Fatal == fatal && strings.Contains(p.Message, part) {
			return
		}
	}
	t.Errorf("got no problem on line %d (fatal %v) with %q in %+v", line, fatal, part, a.Problems)
}

func TestProblems(t *testing.T) {
	t.Parallel()
	cut := func(from, to string) string { return strings.Replace(headings, from, to, 1) }
	tests := []struct {
		name, text string
		line       int
		fatal      bool
		message    string
		hint       string
	}{
		{"no description is fatal", cut("## Description\n\nHelps with code.\n", ""), 1, true, "description is missing", "## Description"},
		{"an empty description is fatal", cut("Helps with code.", ""), 3, true, "description is missing", "Write it there"},
		{"no tools are fatal", cut("## Allowed Tools\n\n- read\n- list\n", ""), 1, true, "allowed tools is missing", "## Allowed Tools"},
		{"an empty tool list is fatal", cut("- read\n- list\n", ""), 7, true, "list of tools is empty", "at least one"},
		{"no prompt is fatal", cut("## System Prompt\n", ""), 1, true, "prompt is missing", "## System Prompt"},
		{"an empty prompt is fatal", cut("You help.\n", ""), 12, true, "prompt is empty", "instructions"},
		{"an empty file is fatal", "", 1, true, "prompt is missing", "## System Prompt"},
		{"a section twice is fatal", cut("## System", "## Description\n\nx\n\n## System"), 12, true, "appears twice, first on line 3", "Merge"},
		{
			"an unknown section is a warning", cut("## System", "## Descripton\n\nx\n\n## System"),
			12, false, "is unknown and is ignored", "`## Description`",
		},
		{
			"a key as a section is a warning that says where it belongs", cut("## System", "## Max Turns\n\n5\n\n## System"),
			12, false, "is unknown", "`max_turns: …`",
		},
		{"an unknown tool is a warning", cut("- list", "- lst"), 10, false, `tool "lst" is unknown`, "`list`"},
		{"text among the tools is a warning", cut("- list", "and whatever you need"), 10, false, "not a list item", "- read"},
		{"a fenced tool is a warning", cut("- list", "```\n- bash\n```"), 11, false, "code fence", "without"},
		{"disallowing a tool that is not allowed is fine", front("disallowedTools: edit"), 0, false, "", ""},

		{"front matter without description is fatal", "---\ntools: read\n---\nYou help.", 1, true, "description is missing", "`description: …`"},
		{
			"front matter with an empty description is fatal", "---\ntools: read\ndescription:\n---\nYou help.",
			3, true, "description is missing", "Write it there",
		},
		{
			"front matter with only a name gets a message for front matter", "---\nname: x\n---\nYou help.",
			1, true, "description is missing", "front matter",
		},
		{
			"front matter without tools is fatal", "---\ndescription: d\n---\nYou help.", 1, true, "tools is missing",
			"every tool. Here each is named: add a line `tools: read, list, glob, grep, fetch`",
		},
		{
			"front matter with no tool is fatal", "---\ndescription: d\ntools: []\n---\nYou help.",
			3, true, "list of tools is empty", "at least one",
		},
		{
			"front matter with a null tool list is fatal", "---\ndescription: d\ntools:\n---\nYou help.",
			3, true, "list of tools is empty", "at least one",
		},
		{"front matter without a body is fatal", "---\ndescription: d\ntools: read\n---\n\n", 4, true, "prompt is missing", "below the closing"},
		{"tools that are all disallowed are fatal", front("disallowedTools: Read, Write"), 4, true, "every allowed tool is disallowed", "Allow"},
		{
			"a pattern after a tool is a warning", "---\ndescription: d\ntools: Bash(git add:*, git log:*), Read\n---\nYou help.",
			3, false, "cannot be enforced: the tool is not granted", "`bash`",
		},
		{
			"a pattern in a list is reported on its own line", "---\ndescription: d\ntools:\n  - Read\n  - Bash(git:*)\n---\nYou help.",
			5, false, "cannot be enforced: the tool is not granted", "`bash`",
		},

		{"a workspace that is not absolute is fatal", front("workspace: src"), 4, true, "not an absolute path", "worktree:/absolute/path"},
		{"a worktree without a repository is fatal", front("workspace: worktree"), 4, true, "needs its repository", "worktree:/absolute/path"},
		{
			"a worktree with a relative path is fatal", front("workspace: worktree:src"), 4, true,
			"not the absolute path of a repository", "worktree:/absolute/path",
		},
		{"a worktree of a repository is fine", front("workspace: worktree:/srv/repo"), 0, false, "", ""},

		{"front matter that is not closed is fatal", "---\ndescription: d\n", 1, true, "not closed", "three dashes"},
		{"broken YAML is fatal", front("model: [a"), 4, true, "YAML front matter is broken", "quotes"},
		{"a list instead of keys is fatal", "---\n- a\n---\nYou help.", 2, true, "not a list of keys", "key: value"},
		{"deep YAML is fatal", front("model: " + strings.Repeat("[", 20000)), 4, true, "nested too deeply", "short lists"},
		{"deeply nested list dashes are fatal", front("model:", strings.Repeat("- ", 10000)), 5, true, "nested too deeply", "short lists"},
		{"large front matter is fatal", front("model: " + strings.Repeat("a", 40000)), 4, true, "larger than 32 KiB", "body"},
		{"long front matter is fatal", front(strings.Repeat("#\n", 2000)), 1001, true, "more than 1000 lines", "body"},
		{"a key twice is fatal", front("model: a", "model: b"), 5, true, `"model" appears twice, first on line 4`, "Keep one"},
		{"a key twice in two spellings is fatal", front("maxTurns: 1", "max_turns: 2"), 5, true, "appears twice", "Keep one"},
		{"anchors are fatal", front("model: &a b"), 4, true, "model must be text", "anchors"},
		{"an unknown key is a warning that names the nearest key", front("max_turn: 5"), 4, false, `"max_turn" is unknown`, "`max_turns`"},
		{"an unknown key without a near one is a warning that lists all keys", front("xyzzy: 5"), 4, false, `"xyzzy" is unknown`, "idle_timeout"},

		{"an unknown runner is fatal", front("runner: shel"), 4, true, `runner "shel" is not configured`, "`shell`"},
		{"a negative limit is fatal", front("max_turns: -1"), 4, true, "between 1 and", "positive"},
		{"a limit of zero is fatal", front("max_parallel: 0"), 4, true, "between 1 and", "default"},
		{"a limit that is not a number is fatal", front("max_tokens: many"), 4, true, "whole number", "positive"},
		{"a limit that overflows is fatal", front("max_tokens: 99999999999999999999"), 4, true, "whole number", "positive"},
		{"a fraction of a turn is fatal", front("max_claims: 1.5"), 4, true, "whole number", "positive"},
		{"a cost of zero is fatal", front("max_cost_usd: 0"), 4, true, "positive amount", "default"},
		{"an infinite cost is fatal", front("max_cost_usd: .inf"), 4, true, "US dollars", "default"},
		{"a cost that is not a number is fatal", front("max_cost_usd: NaN"), 4, true, "US dollars", "default"},
		{"a bad duration is fatal", front("timeout: soon"), 4, true, "must be a duration", "300s"},
		{"a negative duration is fatal", front("timeout: -5s"), 4, true, "whole seconds", "300s"},
		{"a duration under a second is fatal", front("idle_timeout: 10ms"), 4, true, "whole seconds", "300s"},
		{"a bad approval policy is fatal", front("approval: sometimes"), 4, true, "approval policy", "delegated"},
		{"a bad choice of task tools is fatal", front("task_tools: some"), 4, true, "all or few", "all or few"},
		{"a bad network value is fatal", front("network: maybe"), 4, true, "true or false", "true or false"},
		{"an unknown capability is a warning", front("capabilities: [tasks, admin]"), 4, false, `capability "admin"`, "tasks:own"},
		{
			"a value in env is fatal", front("env:", "  - HOME", "  - TOKEN=geheim"),
			6, true, "not the name of a variable", "only names",
		},
		{"an unknown model level is a warning", front("models:", "  huge: x"), 5, false, `level "huge"`, "low, medium"},
		{"models that are not a map are fatal", front("models: big"), 4, true, "must map", "low"},

		{"a NUL is fatal", "a\nb\x00", 2, true, "NUL", "binary"},
		{"text that is not UTF-8 is fatal", "a\nb\n\xff", 3, true, "not UTF-8", "UTF-8"},
		{"a large file is fatal", strings.Repeat("a", MaxFile+1), 1, true, "larger than 256 KiB", "Shorten"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := parse(t, tt.text)
			if tt.line == 0 {
				wantValid(t, a)
				return
			}
			wantProblem(t, a, tt.line, tt.fatal, tt.message)
			wantVerdict(t, a, tt.fatal)
			if !slices.ContainsFunc(a.Problems, func(p task.Problem) bool { return p.Line == tt.line && strings.Contains(p.Hint, tt.hint) }) {
				t.Errorf("got no hint with %q in %+v", tt.hint, a.Problems)
			}
		})
	}
}

func wantVerdict(t *testing.T, a task.Agent, fatal bool) {
	t.Helper()
	if fatal != (a.Status == task.AgentInvalid) || a.Serving == fatal {
		t.Errorf("got status %s, serving %v; fatal is %v", a.Status, a.Serving, fatal)
	}
}

func TestInvalidID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "Big", "-a", "a.b", "a/b", "..", strings.Repeat("a", 64)} {
		t.Run(fmt.Sprintf("%q is refused", id), func(t *testing.T) {
			wantProblem(t, Parse(id, headings, testOptions), 1, true, "cannot be the id")
		})
	}
}

func TestSecretsInEnvAreNotRepeated(t *testing.T) {
	t.Parallel()
	a := parse(t, front("env: [TOKEN=geheim]"))
	if strings.Contains(fmt.Sprint(a.Problems), "geheim") {
		t.Errorf("the problems repeat the value: %v", a.Problems)
	}
}

func TestUnknownToolsAreNeverGranted(t *testing.T) {
	t.Parallel()
	a := parse(t, "---\ndescription: d\ntools: [Read, WebSearch, mcp__db__query, '*', read, WebSearch]\n---\nYou help.")
	wantTools(t, a, "read")
	equal(t, "unknown tools", strings.Join(a.UnknownTools, " "), "WebSearch mcp__db__query *")
	equal(t, "status", a.Status, task.AgentWarning)
}

func TestDisallowedToolsAreRemoved(t *testing.T) {
	t.Parallel()
	a := parse(t, "---\ndescription: d\ntools: Read, Bash, Edit\ndisallowedTools: Bash\n---\nYou help.")
	wantValid(t, a)
	wantTools(t, a, "read", "edit")
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"Read": "read", "LS": "list", "List": "list", "WebFetch": "fetch", "Fetch": "fetch", "Write": "create", "Create": "create",
		"Edit": "edit", "MultiEdit": "edit", "Bash": "bash", "Glob": "glob", "Grep": "grep", "Task": "task", "BASH": "bash",
		"Bash(git:*)": "bash", "Read(./src/**)": "read",
		"bash: never": "", "no bash": "", "[ ] bash": "", "bash(": "", "(bash)": "", "*": "", "NotebookEdit": "", "mcp__x__read": "",
	}
	for text, want := range tests {
		t.Run(fmt.Sprintf("%q is %q", text, want), func(t *testing.T) {
			got, _ := tool(text)
			equal(t, "name", got, want)
		})
	}
}

func TestProblemsAreCapped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "- tool%d\n", i)
	}
	a := parse(t, strings.Replace(headings, "- list\n", b.String(), 1)+"\n")
	equal(t, "status", a.Status, task.AgentWarning)
	equal(t, "problems", len(a.Problems), task.MaxProblems)
	equal(t, "unknown tools", len(a.UnknownTools), maxUnknown)
	equal(t, "last", a.Problems[task.MaxProblems-1].Message, "481 more problems are not shown")
}

func TestAWorkspaceThatItsRunnerMayNotUseIsRefused(t *testing.T) {
	t.Parallel()
	opt := testOptions
	opt.Workspace = func(runner, workspace string) error {
		if runner == "builtin" {
			return errors.New(workspace + " contains the data folder")
		}
		return nil
	}
	a := Parse("coder", "---\ndescription: x\ntools: read\nworkspace: /\n---\nYou help.\n", opt)
	wantProblem(t, a, 4, true, "workspace: / contains the data folder")
	if a.Status != task.AgentInvalid {
		t.Errorf("got status %s", a.Status)
	}
}
