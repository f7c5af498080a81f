package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"taskyard/internal/client"
)

// written finds commands in texts, up to where a shell ends a command.
var written = regexp.MustCompile("(?m)(?:^|[`(| ])taskyard ([a-z][^`|;<>()\n#·]*)")

// TestWrittenCommandsExist reads every command that the pages and the examples
// show: the command and its flags must exist.
func TestWrittenCommandsExist(t *testing.T) {
	t.Parallel()
	k, err := kong.New(&Commands{}, kong.ExplicitGroups(Groups))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{client.Examples("")}
	for _, file := range append(pages, "../../README.md", "../../AGENTS.md", "../../CONTRIBUTING.md") {
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
			if strings.HasPrefix(name, "-") && len(name) > 1 && name != "--help" && p.findFlag(name) == nil {
				t.Errorf("taskyard %s: there is no flag %s", m[1], name)
			}
			p.advance(w)
		}
		if p.node == k.Model.Node || len(p.node.Children) > 0 && p.node.DefaultCmd == nil {
			t.Errorf("taskyard %s is not a command", m[1])
		}
	}
	if n < 80 {
		t.Errorf("only %d commands were found", n)
	}
}

// leaves returns the paths of the client commands.
func leaves(t *testing.T) (paths [][]string) {
	t.Helper()
	k, err := kong.New(&Commands{}, kong.ExplicitGroups(Groups))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range k.Model.Leaves(true) {
		if n.ClosestGroup().Key == "work" || n.Name == "completion" {
			paths = append(paths, strings.Fields(n.Path()))
		}
	}
	return paths
}
