package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "taskyard"

// mayImport is the only table of allowed imports. A folder without an entry
// inherits from the nearest folder above; packages below one top folder may
// import each other. Files that end in _test.go may import anything, because
// they are not in the binary.
var mayImport = map[string][]string{
	"task":      {},
	"static":    {},
	"docs":      {},
	"examples":  {},
	"runner":    {"task"},
	"db":        {"task"},
	"db/dbtest": {"task", "internal/testkit"},
	"service":   {"task", "db", "internal/agentfile", "internal/exchange"},
	"views":     {"task", "static", "docs"},
	"handlers":  {"task", "service", "views", "static", "docs", "internal/buildinfo"},
	"jobs":      {"task", "service", "runner"},

	lazyregexp:             {},
	sleep:                  {},
	"internal/archive":     {},
	"internal/buildinfo":   {},
	"internal/roots":       {},
	"internal/config":      {"task"},
	"internal/systemd":     {},
	"internal/notify":      {},
	"internal/frontmatter": {"task"},
	"internal/agentfile":   {"task", "internal/frontmatter"},
	"internal/exchange":    {"task", "internal/frontmatter"},
	"internal/mcpserver":   {"task", "service"},
	"internal/client":      {"task"},
	"internal/worker":      {"task", "runner", "internal/client"},
	"internal/app": {
		"task", "db", "service", "views", "handlers", "jobs", "runner",
		"internal/agentfile", "internal/archive", "internal/buildinfo", "internal/config", "internal/mcpserver", "internal/notify",
		"internal/systemd",
	},
	"internal/cmd":     everything,
	"internal/testkit": everything,

	".":     {"internal/cmd", "internal/client", "internal/config", "runner"},
	"e2e":   everything,
	"bench": everything,
	"tools": {},

	"runner/runnertest": {"task", "internal/testkit"},
	"views/ui":          {"task", "static"},
	"views/chart":       {},
}

var everything = []string{"*"}

// These import none of our packages, and any package may import them, like
// regexp and time.
const (
	lazyregexp = "internal/lazyregexp"
	sleep      = "internal/sleep"
)

// mayImportInRunner lists the allowed imports below runner. Only the registry,
// in runner itself, knows the kinds, so they have no entry on the right.
var mayImportInRunner = map[string][]string{
	"runner": everything,

	"runner/checkout": {"runner/git"},

	"runner/acp":     {"runner/enforce", "runner/supervise"},
	"runner/builtin": {"runner/builtin/model", "runner/builtin/tools", "runner/enforce", "runner/supervise"},
	"runner/claude":  {"runner/confine", "runner/enforce", "runner/supervise"},
	"runner/codex":   {"runner/enforce", "runner/supervise"},
	"runner/command": {"runner/enforce", "runner/supervise"},
	"runner/webhook": {"runner/egress", "runner/enforce", "runner/retryafter", "runner/supervise"},

	"runner/builtin/model": {"runner/retryafter"},
	"runner/builtin/tools": {"runner/confine", "runner/egress", "runner/instance", "runner/scratch", "runner/tree"},
	"runner/runnertest":    {"runner/confine/escape", "runner/supervise", "runner/tree"},
	"runner/scratch":       {"runner/remove"},
	"runner/supervise": {
		"runner/confine", "runner/enforce", "runner/instance", "runner/remove", "runner/scratch", "runner/tree",
	},
	"runner/check": {"runner/builtin/tools", "runner/remove", "runner/textdiff"},
	"runner/git":   {"runner/textdiff", "runner/tree"},
	"runner/repository": {
		"runner/check", "runner/git", "runner/instance", "runner/remove", "runner/scratch", "runner/textdiff", "runner/workspace",
	},
	"runner/workspace": {"runner/git", "runner/instance", "runner/remove", "runner/textdiff"},
}

// kindsOfRunners may be imported only by the registry.
var kindsOfRunners = []string{"runner/acp", "runner/builtin", "runner/claude", "runner/codex", "runner/command", "runner/webhook"}

// soleUsers lists the only packages that may import each library.
var soleUsers = map[string][]string{
	"database/sql":                    {"db"},
	"github.com/mattn/go-sqlite3":     {"db"},
	"github.com/jackc/pgx":            {"db", "bench"},
	"github.com/pressly/goose":        {"db"},
	"github.com/labstack/echo":        {"handlers"},
	"github.com/danielgtaylor/huma":   {"handlers"},
	"github.com/alexedwards/scs":      {"handlers"},
	"github.com/go-co-op/gocron":      {"jobs"},
	"github.com/modelcontextprotocol": {"internal/mcpserver"},
	"github.com/a-h/templ":            {"views", "handlers"},
	"github.com/pelletier/go-toml":    {"internal/config"},
	"github.com/nicholas-fedor":       {"internal/notify"},
	"github.com/alecthomas/kong":      {"internal/cmd", "internal/client"},
	"golang.org/x/crypto/acme":        {"internal/app"},
	"os/signal":                       {".", "internal/cmd", "runner", "bench"},
	"flag":                            {"bench", "internal/testkit"},
	"os/exec":                         {"runner", "bench", "internal/testkit", "tools"}, // runner/tree must know every process of the server
}

// Split longer files by meaning.
const (
	maxGoLines    = 500
	maxTestLines  = 600
	maxTemplLines = 150
)

// Columns of a line, with each tab counting as one. Lines that cannot be broken
// may be longer: the tag of a field, and in a test a long literal.
const (
	maxGoColumns    = 140
	maxTemplColumns = 160
)

var (
	fieldTag    = regexp.MustCompile("`.*:\".*\"`")
	longLiteral = regexp.MustCompile("`[^`]{80,}|\"([^\"\\\\]|\\\\.){80,}\"")
)

// source contains what the rules check in one file.
type source struct {
	folder  string // slash-separated, "." for the root
	name    string
	imports []string
	clock   []int // lines that read the time
	wide    []int // lines that are too long
	lines   int
}

func (s source) path() string { return path.Join(s.folder, s.name) }
func (s source) test() bool   { return strings.HasSuffix(s.name, "_test.go") }
func (s source) top() string  { return topFolder(s.folder) }

// topFolder returns the folder whose packages belong together: the first
// element of a path, or the first two below internal.
func topFolder(folder string) string {
	top, below, _ := strings.Cut(folder, "/")
	if top == "internal" {
		next, _, _ := strings.Cut(below, "/")
		return path.Join(top, next)
	}
	return top
}

func TestLayering(t *testing.T) {
	t.Parallel()
	sources, err := readSources(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) < 10 {
		t.Fatalf("only %d files were found", len(sources))
	}
	for _, s := range sources {
		for _, v := range violations(s) {
			t.Error(v)
		}
	}
}

func TestLayeringCatchesPlantedViolations(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\n", maxTestLines)
	tests := []struct{ name, path, text, want string }{
		{"task imports none of our packages", "task/x.go", `import "taskyard/db"`, "task may not import taskyard/db"},
		{"db does not import service", "db/x.go", `import "taskyard/service"`, "db may not import taskyard/service"},
		{"service does not import handlers", "service/x.go", `import "taskyard/handlers"`, "may not import"},
		{"handlers does not import db", "handlers/x.go", `import "taskyard/db"`, "may not import"},
		{
			"a subfolder has the rules of its parent", "runner/builtin/model/x.go", `import "taskyard/internal/config"`,
			"runner/builtin/model may not import",
		},
		{"a kind of runner does not import another", "runner/acp/x.go", `import "taskyard/runner/codex"`, "only runner may import"},
		{"nor packages of another", "runner/acp/x.go", `import "taskyard/runner/builtin/tools"`, "runner/acp may not import"},
		{"supervise imports no kind", "runner/supervise/x.go", `import "taskyard/runner/command"`, "only runner may import"},
		{"the registry may import the kinds", "runner/registry.go", `import "taskyard/runner/codex"`, ""},
		{"other packages use the registry", "internal/app/x.go", `import "taskyard/runner/codex"`, "only runner may import"},
		{"an unknown package may import nothing", "extra/x.go", `import "fmt"`, "extra is not in the table"},
		{"nobody imports main", "internal/client/x.go", `import "taskyard"`, "may not import"},
		{"only db has SQL", "service/x.go", `import "database/sql"`, "only db may import database/sql"},
		{"only db has SQL drivers", "bench/x.go", `import _ "github.com/mattn/go-sqlite3"`, "only db may import"},
		{"echo is only in handlers", "main.go", `import "github.com/labstack/echo/v4/middleware"`, "only handlers may import"},
		{"huma is only in handlers", "service/x.go", `import "github.com/danielgtaylor/huma/v2"`, "only handlers"},
		{"scs is only in handlers", "db/x.go", `import "github.com/alexedwards/scs/v2"`, "only handlers"},
		{"gocron is only in jobs", "service/x.go", `import "github.com/go-co-op/gocron/v2"`, "only jobs"},
		{
			"the MCP SDK is only in internal/mcpserver", "handlers/x.go",
			`import "github.com/modelcontextprotocol/go-sdk/mcp"`, "only internal/mcpserver",
		},
		{"only runner starts processes", "handlers/x.go", `import "os/exec"`, "only runner, bench"},
		{"templ is only in views and handlers", "service/x.go", `import "github.com/a-h/templ"`, "only views, handlers"},
		{"service does not read the clock", "service/x.go", "import \"time\"\nvar x = time.Now()", "reads the time"},
		{"nor the time since another", "service/x.go", "import \"time\"\nvar x = time.Since(time.Time{})", "reads the time"},
		{"files are short", "db/x.go", long[:maxGoLines], "lines"},
		{"tests are short", "db/x_test.go", long, "lines"},
		{"templates are short", "views/x.templ", long[:maxTemplLines+1], "lines"},

		{"lines are short", "db/x.go", "//" + strings.Repeat("x", maxGoColumns), "x.go:2: the line is too long"},
		{"lines of templates are short", "views/x.templ", strings.Repeat("x", maxTemplColumns+1), "too long"},
		{"lines of tests are short", "db/x_test.go", "//" + strings.Repeat("x", maxGoColumns), "too long"},

		{"a literal in a test may be long", "db/x_test.go", "var x = `" + strings.Repeat("x", maxGoColumns) + "`", ""},
		{"the tag of a field may be long", "db/x.go", "type x struct {\n\tF int `doc:\"" + strings.Repeat("x", maxGoColumns) + "\"`\n}", ""},
		{"tests may import more", "service/x_test.go", `import "database/sql"`, ""},
		{"tests may read the clock", "service/x_test.go", "import \"time\"\nvar x = time.Now()", ""},
		{"a clock may be passed as a value", "service/x.go", "import \"time\"\nvar x = time.Now", ""},
		{"packages below one folder may import each other", "db/dbtest/x.go", `import "taskyard/db"`, ""},
		{"a longer name is a different library", "internal/client/x.go", `import "flagged"`, ""},
		{"generated files may be long", "views/x_templ.go", long, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parse(tt.path, []byte("package x\n"+tt.text))
			if strings.HasSuffix(tt.path, ".templ") {
				s, err = parse(tt.path, []byte(tt.text))
			}
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(violations(s), "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// violations lists the rules that a file breaks.
func violations(s source) []string {
	var out []string
	if limit := maxLines(s); s.lines > limit {
		out = append(out, fmt.Sprintf("%s has %d lines, at most %d are allowed: split it", s.path(), s.lines, limit))
	}
	for _, line := range s.wide {
		out = append(out, fmt.Sprintf("%s:%d: the line is too long: break it", s.path(), line))
	}
	if s.test() {
		return out
	}
	for _, imported := range s.imports {
		if why := refuse(s, imported); why != "" {
			out = append(out, s.path()+": "+why)
		}
	}
	if _, ok := rule(s.folder); !ok {
		out = append(out, fmt.Sprintf("%s: package %s is not in the table mayImport", s.path(), s.folder))
	}
	if s.top() == "service" {
		for _, line := range s.clock {
			out = append(out, fmt.Sprintf("%s:%d: reads the time: use the transaction's time or the service's clock", s.path(), line))
		}
	}
	return out
}

// refuse returns why a file may not import a path, or "".
func refuse(s source, imported string) string {
	for library, users := range soleUsers {
		if within(imported, library) && !slices.Contains(users, s.top()) {
			return fmt.Sprintf("only %s may import %s", strings.Join(users, ", "), library)
		}
	}
	if !within(imported, module) {
		return ""
	}
	folder := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	if folder == lazyregexp || folder == sleep {
		return ""
	}
	if slices.Contains(kindsOfRunners, folder) && s.folder != "runner" {
		return fmt.Sprintf("only runner may import %s", imported)
	}
	if s.top() == "runner" && within(folder, "runner") {
		if allowed := mayImportInRunner[s.folder]; !slices.Contains(allowed, folder) && !slices.Contains(allowed, "*") {
			return fmt.Sprintf("%s may not import %s: see the table mayImportInRunner", s.folder, imported)
		}
	}
	top := topFolder(folder)
	allowed, _ := rule(s.folder)
	if top != "" && (top == s.top() || slices.Contains(allowed, top) || slices.Contains(allowed, "*")) {
		return ""
	}
	return fmt.Sprintf("%s may not import %s: see the table mayImport", s.folder, imported)
}

// rule finds the entry of a folder or of the nearest one above.
func rule(folder string) ([]string, bool) {
	for f := folder; ; f = path.Dir(f) {
		if allowed, ok := mayImport[f]; ok && (f != "." || folder == ".") {
			return allowed, true
		}
		if f == "." {
			return nil, false
		}
	}
}

func within(imported, prefix string) bool {
	return imported == prefix || strings.HasPrefix(imported, prefix+"/")
}

func maxLines(s source) int {
	switch {
	case strings.HasSuffix(s.name, ".templ"):
		return maxTemplLines
	case strings.HasSuffix(s.name, "_templ.go"):
		return 1 << 30 // generated
	case s.test():
		return maxTestLines
	}
	return maxGoLines
}

// readSources reads every Go and templ file of this module.
func readSources(root string) ([]source, error) {
	var out []source
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, file, d.Name())
		}
		if ext := filepath.Ext(file); ext != ".go" && ext != ".templ" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(file), text)
		out = append(out, s)
		return err
	})
	return out, err
}

// skip leaves out hidden folders, test data, the data of a running server and
// other modules.
func skip(root, folder, name string) error {
	if folder == root {
		return nil
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	if err == nil || strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || folder == "data" {
		return filepath.SkipDir
	}
	return nil
}

func parse(file string, text []byte) (source, error) {
	s := source{folder: path.Dir(file), name: path.Base(file), lines: strings.Count(string(text), "\n")}
	s.wide = wideLines(s, string(text))
	if strings.HasSuffix(file, ".templ") {
		return s, nil
	}
	mode := parser.ImportsOnly
	if s.top() == "service" {
		mode = parser.SkipObjectResolution // function bodies are checked too
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, mode)
	if err != nil {
		return s, err
	}
	for _, i := range tree.Imports {
		if imported, err := strconv.Unquote(i.Path.Value); err == nil {
			s.imports = append(s.imports, imported)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && readsTime(call) {
			s.clock = append(s.clock, set.Position(call.Pos()).Line)
		}
		return true
	})
	return s, nil
}

func wideLines(s source, text string) (wide []int) {
	if strings.HasSuffix(s.name, "_templ.go") {
		return nil // generated
	}
	limit := maxGoColumns
	if strings.HasSuffix(s.name, ".templ") {
		limit = maxTemplColumns
	}
	n, quotes := 0, 0 // quotes: backquotes before the line; odd within a literal
	for line := range strings.Lines(text) {
		n++
		literal := s.test() && (quotes%2 == 1 || longLiteral.MatchString(line))
		quotes += strings.Count(line, "`")
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) <= limit || fieldTag.MatchString(line) || literal {
			continue
		}
		wide = append(wide, n)
	}
	return wide
}

func readsTime(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Now", "Since", "Until"}, sel.Sel.Name) {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}
