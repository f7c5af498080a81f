package handlers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/task"
)

const goodAgent = "---\ndescription: writes prose\ntools: read, edit\nrunner: script\n---\nWrite.\n"

// agentFile returns the definition of an agent in the folder.
func (s *site) agentFile(id string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, id+".md"))
	s.ok(err)
	return string(b)
}

// writeAgentFile changes a definition outside the server.
func (s *site) writeAgentFile(id, text string) {
	s.t.Helper()
	s.ok(os.WriteFile(filepath.Join(s.dir, id+".md"), []byte(text), 0o600))
}

func TestTheEditorChecksWithoutSaving(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	before := inst.agentFile("coder")

	t.Run("the editor shows the meaning of the file", func(t *testing.T) {
		b.get("/agents/coder/edit").is(200).shows("Valid", "writes code",
			"It is told to use only read, edit, but nothing enforces it.", `id="L4"`, `class="caution"`)
	})
	t.Run("each problem names its line, and the typed text is kept", func(t *testing.T) {
		p := b.post("/agents/new/check", "id", "coder", "hash", "h", "base", before, "text",
			"---\ndescription: x\ntools: read, telepathy\nrunner: nowhere\n---\nGo.\n")
		p.is(200).shows("1 error and 1 warning", `data-line="3"`, `data-line="4"`,
			`<li id="L4" class="bad">`, "runner: nowhere", `name="hash" value="h"`)
	})
	t.Run("a new definition is checked before it has a name", func(t *testing.T) {
		b.post("/agents/new/check", "new", "1", "id", "", "text", goodAgent).is(200).shows("Valid", "writes prose").hides("new-agent")
		b.post("/agents/new/check", "new", "1", "id", "Über", "text", goodAgent).is(200).shows("must be 1 to 63 of a-z", `value="Über"`)
		b.post("/agents/new/check", "new", "1", "id", "coder", "text", goodAgent).is(200).shows("There is already an agent coder")
	})
	t.Run("any input gets a response", func(t *testing.T) {
		for _, s := range []string{
			"", "---\n", "\x00", "\xff\xfe", "---\n: [\n---\n",
			strings.Repeat("x", 300<<10), "</textarea><script>alert(1)</script>\u202e",
		} {
			b.post("/agents/new/check", "id", "coder", "text", s).is(200).hides("<script>alert")
		}
		b.post("/agents/new/check").is(200)
	})
	t.Run("people who cannot vote are named, and saving is refused", func(t *testing.T) {
		text := strings.Replace(goodAgent, "runner: script", "runner: script\nreview: {from: [myra]}", 1)
		b.post("/agents/new/check", "id", "coder", "text", text).is(200).shows("no reviewer or admin is called myra", `data-line="5"`)
		b.post("/agents/coder", "hash", "", "base", before, "text", text).is(422).
			shows("no reviewer or admin is called myra").hides("Save although it is invalid")
	})
	t.Run("nothing was written", func(t *testing.T) {
		if got := inst.agentFile("coder"); got != before {
			t.Errorf("got file %q", got)
		}
	})
	t.Run("other roles are refused", func(t *testing.T) {
		inst.person("oleg", task.RoleOperator).post("/agents/new/check", "text", goodAgent).is(403)
	})
}

func TestNewAgentsStartFromATemplate(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	t.Run("a blank template, the defaults and one per runner are offered", func(t *testing.T) {
		b.get("/agents/new").is(200).shows("Blank", "General Purpose", "Code Focused", "Runner script", "You are …")
		b.get("/agents/new?from=code-focused").is(200).shows("You are a programmer who adds", `value="code-focused"`, "create")
		b.get("/agents/new?from=runner-script").is(200).shows("runner: script", "Valid")
		b.get("/agents/new?from=<b>").is(200).shows("You are …")
	})
	t.Run("a taken or missing name keeps the text", func(t *testing.T) {
		b.post("/agents", "id", "coder", "text", goodAgent).is(409).shows("There is already an agent coder", "writes prose")
		b.post("/agents", "id", "new", "text", goodAgent).is(422).shows("is taken by a page", "writes prose").hides("was not saved.")
		b.post("/agents/new/check", "new", "1", "id", "new", "text", goodAgent).is(200).shows("is taken by a page")
		b.post("/agents", "id", "../x", "text", goodAgent).is(422).shows("must be 1 to 63 of a-z", "writes prose")
	})
	t.Run("an invalid definition is saved only on request", func(t *testing.T) {
		b.post("/agents", "id", "draft", "text", "nothing").is(422).shows("was not saved", "Save the invalid definition anyway")
		b.post("/agents", "id", "draft", "text", "nothing", "force", "1").redirectsTo("/agents/draft").is(200).shows("Saved draft")
	})
	t.Run("a valid definition is available at once", func(t *testing.T) {
		b.post("/agents", "id", "writer", "text",
			strings.ReplaceAll(goodAgent, "\n", "\r\n")).redirectsTo("/agents/writer").is(200).shows("writes prose")
		if got := inst.agentFile("writer"); got != goodAgent {
			t.Errorf("got file %q", got)
		}
	})
}

func TestTwoEditorsOfOneAgent(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b, other := inst.maya(), inst.person("ada", task.RoleAdmin)
	edit := b.get("/agents/coder/edit").is(200)
	hash, base := edit.field("/agents/coder", "hash"), inst.agentFile("coder")
	mine := strings.Replace(base, "writes code", "writes <b>good</b> code", 1)
	theirs := strings.Replace(base, "tools: read, edit", "tools: read", 1)

	t.Run("the second editor sees who changed what and keeps the typed text", func(t *testing.T) {
		other.post("/agents/coder", "hash", hash, "base", base, "text", theirs).redirectsTo("/agents/coder")
		p := b.post("/agents/coder", "hash", hash, "base", base, "text", mine).is(409)
		p.shows("ada changed this file while you edited it", "Use mine", "Use theirs",
			`<del class="del">tools: read, edit</del>`, `<ins class="add">tools: read</ins>`,
			`<ins class="add">description: writes &lt;b&gt;good&lt;/b&gt; code</ins>`, "writes &lt;b&gt;good&lt;/b&gt; code")
		if got := inst.agentFile("coder"); got != theirs {
			t.Errorf("got file %q", got)
		}
		if hash = p.field("/agents/coder", "hash"); hash == "" {
			t.Fatal("the form has no hash")
		}
	})
	t.Run("a change by another program is a conflict too", func(t *testing.T) {
		theirs = strings.Replace(theirs, "Do what", "Do all that", 1)
		inst.writeAgentFile("coder", theirs)
		p := b.post("/agents/coder", "hash", hash, "base", base, "text",
			mine).is(409).shows("Another program changed this file while you edited it", "Do all that").hides("ada changed")
		hash = p.field("/agents/coder", "hash")
	})
	t.Run("use mine replaces the file", func(t *testing.T) {
		b.post("/agents/coder", "hash", hash, "base", base, "text", mine).redirectsTo("/agents/coder").is(200)
		if got := inst.agentFile("coder"); got != mine {
			t.Errorf("got file %q", got)
		}
	})
	t.Run("submitting the same form twice is not a conflict", func(t *testing.T) {
		b.post("/agents/coder", "hash", hash, "base", base, "text", mine).redirectsTo("/agents/coder")
	})
	t.Run("use theirs opens the editor again", func(t *testing.T) {
		b.get("/agents/coder/edit").is(200).shows("&lt;b&gt;good").hides("conflict")
	})
}

func TestAnAgentDeletedWhileItWasEdited(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	base := inst.agentFile("pull")
	hash := b.get("/agents/pull/edit").field("/agents/pull", "hash")
	b.post("/agents/pull/delete").redirectsTo("/agents")
	p := b.post("/agents/pull", "hash", hash, "base", base, "text", base).is(409).shows("maya deleted this file while you edited it",
		"Use mine: create it again", "claims itself")
	if p.field("/agents", "id") != "pull" {
		t.Error("the form does not create pull again")
	}
	b.post("/agents", "id", "pull", "hash", "", "text", base).redirectsTo("/agents/pull").is(200)
	b.post("/agents/ghost", "text", base).is(404)
}
