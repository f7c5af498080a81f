package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"taskyard/internal/client"
)

// written finds commands in texts, up to what ends a command in a shell.
var written = regexp.MustCompile("(?m)(?:^|[`(| ])taskyard ([a-z][^`|;<>()\n#·]*)")

// TestWrittenCommandsExist reads every command that the pages and the examples
// show: the command and its flags must be there.
func TestWrittenCommandsExist(t *testing.T) {
	t.Parallel()
	k, err := kong.New(&commands{}, kong.ExplicitGroups(groups))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{client.Examples("")}
	for _, file := range append(pages, "README.md", "AGENTS.md", "CONTRIBUTING.md") {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(page))
	}
	for _, path := range leaves(t) {
		texts = append(texts, client.Examples(strings.Join(path, " ")))
	}
	n := 0
	for _, m := range written.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		words := strings.Fields(m[1])
		if strings.HasPrefix(m[1], "http") || len(words) == 1 {
			continue // the name of the server in a client's configuration, or of a group of commands
		}
		n++
		p := &place{node: k.Model.Node}
		for _, w := range words {
			name, _, _ := strings.Cut(w, "=")
			if strings.HasPrefix(name, "-") && len(name) > 1 && name != "--help" && p.flagOf(name) == nil {
				t.Errorf("taskyard %s: there is no flag %s", m[1], name)
			}
			p.pass(w)
		}
		if p.node == k.Model.Node || len(p.node.Children) > 0 && p.node.DefaultCmd == nil {
			t.Errorf("taskyard %s is no command", m[1])
		}
	}
	if n < 80 {
		t.Errorf("only %d commands were found", n)
	}
}

// TestTheLoopOfThePageWorks runs the page's loop of an agent in a real shell.
func TestTheLoopOfThePageWorks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, loop, _ := strings.Cut(string(page), "## Work as an agent\n\n```sh\n")
	loop, _, found := strings.Cut(loop, "```")
	if !found {
		t.Fatal("the page has no loop")
	}
	in := serveInside(t)
	a := in.shellFor(t, "--agent", agentName)
	a.ok("", "task", "create", "one")
	a.ok("", "task", "create", "two")
	// When both are done it ends as at a server that is away.
	loop = strings.ReplaceAll(loop, "taskyard task claim", "next_task")
	script := `next_task() { [ "$(taskyard task history --json | grep -o '"status":"done"' | wc -l)" -lt 2 ] || return 4; taskyard task claim "$@"; }
echo "It is done." > summary.md
` + loop
	out, err := a.script(t, "sh", script)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, id := range []string{"1", "2"} {
		if k := a.read(id); k.Summary != "It is done." || len(k.Steps) != 2 || !k.Steps[0].Done {
			t.Errorf("task %s: %s", id, asJSON(k))
		}
	}
}
