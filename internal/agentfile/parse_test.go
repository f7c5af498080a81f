package agentfile

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taskyard/runner"
	"taskyard/task"
)

const headings = `# Code Helper

## Description

Helps with code.

## Allowed Tools

- read
- list

## System Prompt

You help.
`

var testOptions = Options{Runners: runners(map[string]string{"builtin": "builtin", "shell": "command"})}

// runners returns runners of these kinds, by name.
func runners(kinds map[string]string) map[string]task.RunnerKind {
	list := map[string]task.RunnerKind{}
	for name, kind := range kinds {
		k, _ := runner.FindKind(kind)
		list[name] = k.RunnerKind
	}
	return list
}

// front returns a definition in front matter notation with extra lines.
func front(lines ...string) string {
	return "---\ndescription: Helps.\ntools: read\n" + strings.Join(lines, "\n") + "\n---\nYou help.\n"
}

func parse(t *testing.T, text string) task.Agent {
	t.Helper()
	return Parse("helper", text, testOptions)
}

func wantValid(t *testing.T, a task.Agent) {
	t.Helper()
	if a.Status != task.AgentValid || !a.Serving || len(a.Problems) != 0 {
		t.Fatalf("got status %s, serving %v, problems %+v; want a valid agent", a.Status, a.Serving, a.Problems)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func wantTools(t *testing.T, a task.Agent, want ...string) {
	t.Helper()
	if !slices.Equal(a.Tools, want) {
		t.Errorf("got tools %v, want %v", a.Tools, want)
	}
}

func TestHeadingNotation(t *testing.T) {
	t.Parallel()
	t.Run("every section is read", func(t *testing.T) {
		a := parse(t, headings)
		wantValid(t, a)
		equal(t, "name", a.Name, "Code Helper")
		equal(t, "description", a.Description, "Helps with code.")
		equal(t, "prompt", a.Prompt, "You help.")
		equal(t, "runner", a.Runner, "builtin")
		equal(t, "max parallel", a.MaxParallel, 1)
		equal(t, "approval", a.Approval, "")
		equal(t, "can tasks", a.Can(task.CapabilityTasks), true)
		wantTools(t, a, "read", "list")
		sum := sha256.Sum256([]byte(headings))
		equal(t, "hash", a.Hash, hex.EncodeToString(sum[:]))
		equal(t, "file hash", a.FileHash, a.Hash)
		equal(t, "text", a.Text, headings)
	})
	same := map[string]string{
		"Windows line endings do not matter": strings.ReplaceAll(headings, "\n", "\r\n"),
		"a byte order mark does not matter":  "\uFEFF" + headings,
		"blank lines do not matter":          "\n\n" + strings.ReplaceAll(headings, "\n\n", "\n\n\n"),
		"missing blank lines do not matter":  strings.ReplaceAll(headings, "\n\n", "\n"),
		"the case of headings does not matter": strings.NewReplacer("Allowed Tools", "ALLOWED tools",
			"## Description", "##   description:", "System Prompt", "system  prompt ##").
			Replace(headings),
		"section order does not matter": "# Code Helper\n## Allowed Tools\n* `read`\n* " +
			"**list**\n## Description\nHelps with code.\n## System Prompt\nYou help.",
		"tools may be on one line":                     strings.Replace(headings, "- read\n- list", "read, list", 1),
		"tools may be numbered":                        strings.Replace(headings, "- read\n- list", "1. Read\n2) LS", 1),
		"a block of extra keys at the top is read too": "---\nmax_turns: 5\n---\n" + headings,
	}
	want := parse(t, headings)
	for name, text := range same {
		t.Run(name, func(t *testing.T) {
			a := parse(t, text)
			wantValid(t, a)
			equal(t, "name", a.Name, want.Name)
			equal(t, "description", a.Description, want.Description)
			equal(t, "prompt", a.Prompt, want.Prompt)
			wantTools(t, a, want.Tools...)
		})
	}
}

func TestTheSystemPromptExtendsToTheEnd(t *testing.T) {
	t.Parallel()
	t.Run("its headings and code fences belong to it", func(t *testing.T) {
		prompt := "You help.\n\n### Constraints\n\n- none\n\n```md\n## Description\nnot mine\n```\n\n## Allowed Tools\n- bash\n\n    indented"
		a := parse(t, strings.Replace(headings, "You help.\n", prompt+"\n\n\n", 1))
		wantValid(t, a)
		equal(t, "prompt", a.Prompt, prompt)
		wantTools(t, a, "read", "list")
	})
	t.Run("a heading in a code fence above it is not a heading", func(t *testing.T) {
		a := parse(t, strings.Replace(headings, "Helps with code.", "Helps.\n\n~~~~\n## System Prompt\n~~~\n```\n~~~~", 1))
		wantValid(t, a)
		equal(t, "prompt", a.Prompt, "You help.")
		equal(t, "description ends with its fence", strings.HasSuffix(a.Description, "~~~~"), true)
	})
	t.Run("a section below it is reported if that section is missing", func(t *testing.T) {
		a := parse(t, "## Description\nd\n## System Prompt\np\n## Allowed Tools\n- bash\n")
		equal(t, "status", a.Status, task.AgentInvalid)
		wantTools(t, a)
		wantProblem(t, a, 5, false, "belongs to the system prompt")
	})
}

func TestFrontMatterNotation(t *testing.T) {
	t.Parallel()
	t.Run("the sub-agent file of a coding agent is valid as it is", func(t *testing.T) {
		b, err := os.ReadFile(filepath.Join("testdata", "code-reviewer.md"))
		if err != nil {
			t.Fatal(err)
		}
		a := Parse("code-reviewer", string(b), testOptions)
		wantValid(t, a)
		equal(t, "name", a.Name, "code-reviewer")
		equal(t, "model", a.Model, "") // inherit
		equal(t, "description begins", strings.HasPrefix(a.Description, "Expert code review"), true)
		equal(t, "prompt begins", strings.HasPrefix(a.Prompt, "You are a senior code reviewer"), true)
		equal(t, "prompt contains its headings", strings.Contains(a.Prompt, "## Description"), true)
		wantTools(t, a, "read", "grep", "glob", "bash")
	})
	t.Run("its harmless keys cause a warning", func(t *testing.T) {
		a := parse(t, front("color: blue", "permissionMode: plan"))
		equal(t, "status", a.Status, task.AgentWarning)
		wantProblem(t, a, 4, false, `"color" has no effect here`)
		wantProblem(t, a, 5, false, `"permissionMode" has no effect here`)
	})
	t.Run("a one-line description with colons is taken as it is, with a warning", func(t *testing.T) {
		a := parse(t, "---\ntools: read\ndescription: Use it so. Examples: user: 'do it' # now\n---\nYou help.")
		equal(t, "status", a.Status, task.AgentWarning)
		equal(t, "description", a.Description, "Use it so. Examples: user: 'do it' # now")
		wantProblem(t, a, 3, false, "not strict YAML")
	})
	t.Run("front matter wins over headings", func(t *testing.T) {
		a := parse(t, "---\nname: Other\ndescription: Another.\ntools: [grep]\n---\n"+headings)
		wantValid(t, a)
		equal(t, "name", a.Name, "Other")
		equal(t, "description", a.Description, "Another.")
		equal(t, "prompt", a.Prompt, "You help.")
		wantTools(t, a, "grep")
	})
	t.Run("headings fill what front matter leaves out", func(t *testing.T) {
		a := parse(t, "---\ntools: grep\n---\n"+headings)
		wantValid(t, a)
		equal(t, "name", a.Name, "Code Helper")
		equal(t, "description", a.Description, "Helps with code.")
		wantTools(t, a, "grep")
	})
	t.Run("text above the sections is reported", func(t *testing.T) {
		a := parse(t, "---\ndescription: d\ntools: read\n---\nYou are good.\n## System Prompt\nYou help.")
		wantProblem(t, a, 5, false, "not part of the prompt")
	})
	t.Run("Windows line endings and a byte order mark do not matter", func(t *testing.T) {
		a := parse(t, "\uFEFF"+strings.ReplaceAll(front("max_turns: 3"), "\n", "\r\n"))
		wantValid(t, a)
		equal(t, "max turns", a.MaxTurns, 3)
		equal(t, "prompt", a.Prompt, "You help.")
	})
	t.Run("the name defaults to the ID", func(t *testing.T) {
		equal(t, "name", parse(t, front()).Name, "helper")
	})
}

func TestExtraKeys(t *testing.T) {
	t.Parallel()
	t.Run("each is read", func(t *testing.T) {
		a := parse(t, front("runner: shell", "model: big", "models:", "  low: small", "  high: big",
			"max_turns: 7", "max_tokens: 50_000", "max_cost_usd: 1.5", "timeout: 300", "idle_timeout: 2m", "max_claims: 2",
			"max_parallel: 3", "approval: always", "capabilities: []", "workspace: worktree:/srv/repo", "network: on", "env: [GITHUB_TOKEN, HOME]",
			"task_tools: all"))
		wantValid(t, a)
		equal(t, "runner", a.Runner, "shell")
		equal(t, "model", a.Model, "big")
		equal(t, "models", a.Models["low"]+a.Models["medium"]+a.Models["high"], "smallbig")
		equal(t, "max turns", a.MaxTurns, 7)
		equal(t, "max tokens", a.MaxTokens, 50000)
		equal(t, "max cost", a.MaxCostUSD, 1.5)
		equal(t, "timeout", a.Timeout, 5*time.Minute)
		equal(t, "idle timeout", a.IdleTimeout, 2*time.Minute)
		equal(t, "max claims", a.MaxClaims, 2)
		equal(t, "max parallel", a.MaxParallel, 3)
		equal(t, "approval", a.Approval, task.ApproveAlways)
		equal(t, "can tasks", a.Can(task.CapabilityTasks), false)
		equal(t, "workspace", a.Workspace, "worktree:/srv/repo")
		equal(t, "network", a.Network, true)
		equal(t, "task tools", a.TaskTools, "all")
		equal(t, "env", strings.Join(a.Env, " "), "GITHUB_TOKEN HOME")
	})
	t.Run("access to its own tasks only is a capability", func(t *testing.T) {
		a := parse(t, front("capabilities: [tasks:own]"))
		wantValid(t, a)
		equal(t, "capabilities", strings.Join(a.Capabilities, " "), task.CapabilityOwn)
	})
	t.Run("other spellings of a key are the same key", func(t *testing.T) {
		a := parse(t, front("maxTurns: 7", "idle-timeout: 30s"))
		wantValid(t, a)
		equal(t, "max turns", a.MaxTurns, 7)
		equal(t, "idle timeout", a.IdleTimeout, 30*time.Second)
	})
}

func TestRunner(t *testing.T) {
	t.Parallel()
	opt := testOptions
	opt.DefaultRunner = "house"
	opt.PullOnly = func(r string) string {
		if r == "shell" {
			return "no shell here"
		}
		return ""
	}
	t.Run("a missing runner is the default runner", func(t *testing.T) {
		a := Parse("x", front(), opt)
		wantValid(t, a)
		equal(t, "runner", a.Runner, "house")
		equal(t, "pull-only", a.PullOnly, false)
	})
	t.Run("none makes a valid pull-only agent", func(t *testing.T) {
		a := Parse("x", front("runner: none"), opt)
		wantValid(t, a)
		equal(t, "pull-only", a.PullOnly, true)
		equal(t, "has a reason", a.PullReason != "", true)
	})
	t.Run("a runner that is not ready makes a valid pull-only agent", func(t *testing.T) {
		a := Parse("x", front("runner: shell"), opt)
		wantValid(t, a)
		equal(t, "pull-only", a.PullOnly, true)
		equal(t, "reason", a.PullReason, "no shell here")
	})
}

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../examples/agents/*.md")
	if err != nil || len(paths) != 3 {
		t.Fatalf("got %v, %v; want three examples", paths, err)
	}
	defaults, err := filepath.Glob("defaults/*.md")
	if err != nil || len(defaults) != 2 {
		t.Fatalf("got %v, %v; want two defaults", defaults, err)
	}
	for _, path := range append(paths, defaults...) {
		id := strings.TrimSuffix(filepath.Base(path), ".md")
		t.Run(id+" is valid", func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			a := Parse(id, string(b), Options{Runners: runners(map[string]string{"builtin": "builtin"})})
			wantValid(t, a)
			equal(t, "runner", a.Runner, "builtin")
			equal(t, "may delegate", a.HasTool("task"), false)
		})
	}
}

func TestDefaultTools(t *testing.T) {
	t.Parallel()
	want := map[string]string{"general-purpose": "read list fetch grep glob", "code-focused": "read list fetch grep glob create"}
	for id, tools := range want {
		text, err := defaults.ReadFile("defaults/" + id + ext)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "tools of "+id, strings.Join(parse(t, string(text)).Tools, " "), tools)
	}
}
