package agentfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// foundOptions describe an instance whose built-in agent has three models.
var foundOptions = Options{
	Runners: runners(map[string]string{"builtin": "builtin", "claude": "claude"}),
	Models: func(runner string) []string {
		if runner == "builtin" {
			return []string{"claude-sonnet-4-5", "claude-haiku-4-5", "claude-haiku-3-5"}
		}
		return nil
	},
}

// TestFilesOfOtherProgramsWork reads files as Claude Code, opencode, Gemini CLI
// and similar programs have them.
func TestFilesOfOtherProgramsWork(t *testing.T) {
	tests := []struct {
		file, name string
		status     string
		tools      string
		model      string
		problems   []string // "line! part of the message | part of the hint"; ! where it is fatal
	}{
		{"debugger.md", "an ordinary sub-agent of Claude Code is valid", "valid", "read edit bash grep glob", "", nil},
		{
			"frontend-developer.md", "a description with examples that is not strict YAML is accepted",
			"warning", "create read edit bash grep glob", "",
			[]string{
				`3 the description is not strict YAML | quotes`, `4 the key "color" has no effect here | does no harm`,
			},
		},
		{"test-runner.md", "without a list of tools, an agent has every tool there, and none here", "invalid", "", "", []string{
			"1! the list of allowed tools is missing | Coding agents take that for: every tool. Here " +
				"each is named: add a line `tools: read, list, glob, grep, fetch`",
		}},
		{
			"committer.md", "a partly allowed tool is not granted as a whole; neither of two models is guessed",
			"warning", "read", "",
			[]string{
				`4 only the part "(git add:*)" of bash is allowed, which cannot be enforced: the tool is not granted | grant the whole tool`,
				`4 only the part "(git commit:*)"`, `4 only the part "(git status)"`,
				`5 the model "haiku" is a short name of Claude Code that the runner builtin does not know | uses its own default model. Name one that it has: claude-sonnet-4-5, claude-haiku-4-5`,
			},
		},
		{"docs-researcher.md", "unknown servers and tools are left out, each with a replacement; a short name " +
			"of a configured model is that model", "warning", "read fetch", "claude-sonnet-4-5", []string{
			`4 the tool "WebSearch" is unknown | fetch`,
			`4 the tool "mcp__context7__resolve-library-id" is unknown | no MCP servers but Taskyard's own`,
			`4 the tool "mcp__context7__get-library-docs"`, `4 the tool "TodoWrite" is unknown | not needed`,
			`5 the model "sonnet" is a short name of Claude Code; "claude-sonnet-4-5" is used`, `6 the key "color"`,
		}},
		{"coordinator.md", "keys that restrict an agent there name the equivalent here", "warning", "read task", "", []string{
			`5 only the part "(worker, researcher)" of task`,
			`9 the key "permissionMode" has no effect here | A mode plan means: leave create, edit and bash out`,
			`11 the key "skills" | into its prompt`, `13 the key "memory"`,
		}},
		{"db-reader.md", "hooks and servers are left out, and reported", "warning", "bash", "", []string{
			`5 the key "permissionMode" | the list of tools alone decides`,
			`6 the key "hooks" | what a hook forbids there is not forbidden here`, `12 the key "mcpServers" | No MCP server`,
		}},
		{"review.md", "a list of forbidden tools, as in opencode, grants none", "invalid", "", "anthropic/claude-sonnet-4-20250514", []string{
			`3 the key "mode"`, `4 the runner builtin has no model "anthropic/claude-sonnet-4-20250514": its runs will be refused | Its models are claude-sonnet-4-5`,
			`5 the key "temperature"`, "6! tools are forbidden here, and none is allowed | Write `tools: read, list, glob, grep, fetch`",
		}},
		{"build.md", "a tool that opencode denies or asks about is not granted", "warning", "read create", "", []string{
			`3 the key "mode"`, `12 the tool "bash" is allowed only in part or after asking, which cannot be kept: it is not granted`,
		}},
		{"security-auditor.md", "the tool names of Gemini CLI are known", "warning", "read grep list bash", "gemini-2.5-pro", []string{
			`4 the key "kind"`, `10 the tool "google_web_search" is unknown | fetch`, `11 the runner builtin has no model "gemini-2.5-pro"`,
			`12 the key "temperature"`, "14 the key \"timeout_mins\" has no effect here | Write `timeout: 5m`",
		}},
		{"spaces.md", "tools separated by spaces are split", "warning", "read grep glob", "", []string{`7 the key "allowed" is unknown`}},
		{
			"everything.md", "an asterisk never grants all tools", "warning", "", "",
			[]string{`4 the tool "*" is unknown | Here each tool is named: read, list`},
		},
		{
			"skill.md", "a BOM, Windows line endings and allowed-tools are accepted", "warning",
			"read grep", "",
			[]string{`5 the key "license"`, `6 the key "metadata"`},
		},
		{"plain.md", "a file with only a prompt is told what is missing", "invalid", "", "", []string{
			"1! the description is missing", "1! the list of allowed tools is missing | ## Allowed Tools",
			"1! the prompt is missing | ## System Prompt",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.file+": "+tt.name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "found", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			a := Parse(strings.TrimSuffix(tt.file, ".md"), string(text), foundOptions)
			equal(t, "status", string(a.Status), tt.status)
			equal(t, "tools", strings.Join(a.Tools, " "), tt.tools)
			equal(t, "model", a.Model, tt.model)
			var got []string
			for _, p := range a.Problems {
				mark := ""
				if p.Fatal {
					mark = "!"
				}
				got = append(got, fmt.Sprintf("%d%s %s\x00%s", p.Line, mark, p.Message, p.Hint))
			}
			for _, want := range tt.problems {
				message, hint, _ := strings.Cut(want, " | ")
				found := false
				for i, g := range got {
					m, h, _ := strings.Cut(g, "\x00")
					if !found && strings.HasPrefix(m, message) && strings.Contains(h, hint) {
						found = true
						got[i] = "\x00"
					}
				}
				if !found {
					t.Errorf("got no problem %q", want)
				}
			}
			for _, g := range got {
				if g != "\x00" {
					t.Errorf("got unexpected problem %q", g)
				}
			}
		})
	}
	t.Run("a Claude Code runner accepts the short model names", func(t *testing.T) {
		a := Parse("x", "---\ndescription: d\ntools: Read\nrunner: claude\nmodel: opus\n---\nWork.\n", foundOptions)
		wantValid(t, a)
		equal(t, "model", a.Model, "opus")
	})
}
