package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"taskyard/internal/agentfile"
	"taskyard/task"
)

// block is a code block in a page of the docs.
type block struct {
	language, text string
	line           int
}

// fencedBlocks returns the fenced blocks of a page, without their indentation.
func fencedBlocks(t *testing.T, file string) []block {
	t.Helper()
	page := read(t, file)
	var list []block
	open, indent := false, ""
	for i, line := range strings.Split(page, "\n") {
		bare := strings.TrimLeft(line, " ")
		switch {
		case strings.HasPrefix(bare, "```") && !open:
			open, indent = true, line[:len(line)-len(bare)]
			list = append(list, block{language: strings.TrimPrefix(bare, "```"), line: i + 1})
		case strings.HasPrefix(bare, "```"):
			open = false
		case open:
			list[len(list)-1].text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if open {
		t.Errorf("%s: a block is not closed", file)
	}
	return list
}

func TestTheExamplesForAgentsWork(t *testing.T) {
	t.Parallel()
	const file = "docs/agents.md"
	seen := map[string]int{}
	for _, b := range fencedBlocks(t, file) {
		seen[b.language]++
		switch b.language {
		case "markdown":
			a := agentfile.Parse("example", b.text, agentfile.Options{})
			if a.Status != task.AgentValid {
				t.Errorf("%s:%d: the definition is %s: %v", file, b.line, a.Status, a.Problems)
			}
		case "json":
			if !json.Valid([]byte(b.text)) {
				t.Errorf("%s:%d: not JSON: %s", file, b.line, b.text)
			}
		case "toml":
			if err := toml.Unmarshal([]byte(b.text), &map[string]any{}); err != nil {
				t.Errorf("%s:%d: %v", file, b.line, err)
			}
		case "sh":
		default:
			t.Errorf("%s:%d: a block in the unknown language %q", file, b.line, b.language)
		}
	}
	if seen["markdown"] < 2 || seen["json"] < 3 || seen["toml"] < 1 {
		t.Errorf("got only %v", seen)
	}
}

// TestVariablesInTheDocsExist checks that every variable that a page names is read
// or set somewhere.
func TestVariablesInTheDocsExist(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/agents.md")
	var code strings.Builder
	for _, folder := range []string{
		"runner", "internal/app", "internal/cmd", "internal/worker",
		"internal/client", "internal/config", "internal/mcpserver",
	} {
		entries, _ := os.ReadDir(folder) // a missing folder has no names
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
				code.WriteString(read(t, folder+"/"+e.Name()))
			}
		}
	}
	for _, name := range regexp.MustCompile(`TASKYARD_[A-Z_]+`).FindAllString(page, -1) {
		if !strings.Contains(code.String(), `"`+name+`"`) {
			t.Errorf("nothing reads or sets %s", name)
		}
	}
}

// pageHeadings returns the anchors of a page.
func pageHeadings(t *testing.T, file string) map[string]bool {
	t.Helper()
	page := read(t, file)
	names := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		names[regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(h[1]), "")] = true
	}
	for name := range names {
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

func TestLinksInTheDocsWork(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md") {
		text := read(t, page)
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			name, anchor, within := strings.Cut(link[1], "#")
			to := page
			if name != "" {
				to = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if within && !pageHeadings(t, to)[anchor] {
				t.Errorf("%s: there is no heading %s", page, link[1])
			}
		}
	}
}

// Nobody reads a paragraph of more than 100 words: the pages have lists and tables
// for facts.
func TestNoLineInTheDocsIsOver100Words(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "README.md", "AGENTS.md", "CONTRIBUTING.md") {
		text := read(t, page)
		for i, line := range strings.Split(text, "\n") {
			if n := len(strings.Fields(line)); n > 100 && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d has %d words: split it, or make it a list", page, i+1, n)
			}
		}
	}
}
