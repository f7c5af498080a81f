//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"taskyard/task"
)

func TestTheWhitelistIsCheckedAtTheCall(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Granted = []string{"read", "list"} })
	for _, tt := range []struct{ name, tool, want string }{
		{"a tool that is not granted", "bash", "agent coder may not use bash: its tools are read, list"},
		{"an unknown tool", "teleport", `there is no tool "teleport": the tools of agent coder are read, list`},
		{"case matters", "Read", `there is no tool "Read"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := call(t, b, tt.tool, args{"command": "echo x > made"})
			if !r.IsError || !r.Denied || !strings.Contains(r.Text, tt.want) {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("the run continues", func(t *testing.T) { has(t, ok(t, b, "list", args{}), "is empty") })
	t.Run("another error is not a denial", func(t *testing.T) {
		if r := call(t, b, "read", args{"path": "missing"}); r.Denied || !r.IsError {
			t.Errorf("%+v", r)
		}
	})
	t.Run("nothing is granted by default", func(t *testing.T) {
		b := newBox(t, func(o *Options) { o.Granted = nil })
		refused(t, b, "read", args{"path": "x"}, "agent coder may not use read: its tools are none")
	})
}

func TestOnlyGrantedToolsAreDeclared(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) {
		o.Granted, o.kernel = []string{"bash", "read", "edit"}, &kernel{}
	})
	var names []string
	for _, tool := range b.Declared([]string{"edit", "read", "bash", "fetch", "task"}) {
		names = append(names, tool.Name)
		var schema struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil || schema.Type != "object" ||
			len(schema.Properties) == 0 || tool.Description == "" {
			t.Errorf("%s: %s %v", tool.Name, tool.Schema, err)
		}
	}
	if got := strings.Join(names, " "); got != "read edit" {
		t.Errorf("got the declared tools %s; bash cannot be confined here and must not be declared", got)
	}
}

func TestArgumentsAreCheckedAndTheFieldIsNamed(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	file(t, b, "f", "x\n")
	for _, tt := range []struct{ name, tool, args, want string }{
		{"one is missing", "read", `{}`, `the arguments of read are wrong: required: missing properties: ["path"]`},
		{"no arguments at all", "read", ``, `missing properties: ["path"]`},
		{"one is unknown", "read", `{"path":"f","lines":3}`, `"lines"`},
		{"case matters", "read", `{"Path":"f"}`, `["Path"]`},
		{"another type", "read", `{"path":7}`, `path: type: 7 has type "integer", want "string"`},
		{"a number that is a text", "read", `{"path":"f","limit":"3"}`, `limit: type`},
		{"a fraction", "read", `{"path":"f","limit":1.5}`, `limit`},
		{"a number too small", "read", `{"path":"f","offset":0}`, `offset: minimum: 0 is less than 1`},
		{"a number too large", "bash", `{"command":"true","timeout":601}`, `timeout: maximum: 601 is greater than 600`},
		{"a huge number", "read", `{"path":"f","limit":1e99}`, `limit: maximum`},
		{"not an object", "read", `["f"]`, `type`},
		{"null", "read", `null`, `type`},
		{"not JSON", "read", `{"path":`, `they are no JSON`},
		{"more than one value", "read", `{"path":"f"} {}`, `they are no JSON`},
		{"arguments that are too long", "create", `{"path":"f","content":"` + strings.Repeat("x", maxArgs) + `"}`, `bytes long, at most`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := b.Call(t.Context(), tt.tool, json.RawMessage(tt.args))
			if !r.IsError || r.Denied || !strings.Contains(r.Text, tt.want) || len(r.Text) > 2000 {
				t.Errorf("got %+v, want %q", r, tt.want)
			}
		})
	}
	t.Run("a whole number may be written as a fraction", func(t *testing.T) {
		if r := b.Call(t.Context(), "read", json.RawMessage(`{"path":"f","limit":5.0}`)); strings.Contains(r.Text, "internal") ||
			r.IsError && !strings.Contains(r.Text, "limit: want a whole number") {
			t.Errorf("%+v", r)
		}
	})
}

func TestArgumentNamesOfOtherAgentsAreAccepted(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.AcceptUnconfinedShell = true })
	place := file(t, b, "f", "one\n")
	t.Run("file_path is accepted as path", func(t *testing.T) {
		has(t, ok(t, b, "read", args{"file_path": "f"}), "one")
		has(t, ok(t, b, "grep", args{"file_path": "f", "pattern": "o.e"}), "one")
	})
	t.Run("old_string and new_string are accepted as old_text and new_text", func(t *testing.T) {
		ok(t, b, "edit", args{"file_path": "f", "old_string": "one", "new_string": "two <&>"})
		if got := content(t, place); got != "two <&>\n" {
			t.Errorf("the file contains %q", got)
		}
	})
	t.Run("a description of a command is ignored", func(t *testing.T) {
		has(t, ok(t, b, "bash", args{"command": "echo built", "description": "Build it", "timeout": 20}), "built")
	})
	t.Run("both names of an argument together are refused", func(t *testing.T) {
		refused(t, b, "read", args{"path": "f", "file_path": "g"}, "file_path")
	})
	t.Run("values are checked under either name", func(t *testing.T) {
		refused(t, b, "read", args{"file_path": 7}, "path: type")
	})
	t.Run("other unknown arguments are refused", func(t *testing.T) {
		refused(t, b, "bash", args{"command": "true", "run_in_background": true}, "run_in_background")
		refused(t, b, "read", args{"path": "f", "description": "x"}, "description")
	})
}

func TestAStoppedRunStopsItsTools(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tool := range []string{"read", "list", "glob", "grep", "create", "bash"} {
		raw, _ := json.Marshal(args{"path": "f", "pattern": "x", "content": "x", "command": "true"}.only(tool))
		if tool == "read" {
			raw = []byte(`{"path":"f"}`)
		}
		if tool == "bash" {
			raw = []byte(`{"command":"true"}`)
		}
		if r := b.Call(ctx, tool, raw); !r.IsError || !strings.Contains(r.Text, "stopped") {
			t.Errorf("%s: %+v", tool, r)
		}
	}
}

func TestAnUnusableWorkspaceIsReportedImmediately(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"", "relative", filepath.Join(t.TempDir(), "missing")} {
		if b, err := Open(Options{Root: root}); err == nil {
			_ = b.Close()
			t.Errorf("%q was accepted", root)
		}
	}
}

func TestCutsDoNotSplitCharacters(t *testing.T) {
	t.Parallel()
	if got := task.CutText("aää", 4); got != "aä" {
		t.Errorf("got %q", got)
	}
	var o output
	for range 50_000 {
		_, _ = o.Write([]byte("äö"))
	}
	if text := o.text(); !utf8.ValidString(text) || strings.Contains(text, "\uFFFD") {
		t.Error("a character was split")
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d: got %s", n, got)
		}
	}
}
