package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// phrase is a wording that does not appear in code, pages and documents.
type phrase struct {
	forms   []string // in lower case, between word boundaries unless within is set
	write   string
	within  bool     // also in the middle of a word
	allowed []string // texts that contain a form and are fine
}

// yardNames are the names with "yard" that files, programs and clients rely
// on: the product, an environment variable, files of an instance, event kinds.
var yardNames = []string{
	"taskyard_yard_id", "taskyard", "yard-id", "demo-yard",
	"yard.paused", "yard.stopped", "yard.resumed",
}

var phrases = []phrase{
	{forms: []string{"tells whether", "tell whether"}, write: "reports whether"},
	{forms: []string{"mend", "mends", "mended", "mending"}, write: "fix"},
	{forms: []string{"anew"}, write: "again, start over"},
	{forms: []string{"bear", "bears"}, write: "has"},
	{
		forms: []string{"stand", "stands", "stood"}, write: "is, appears, shows",
		allowed: []string{"stands for", "stand for", "stands in for", "stand in for", "stand-in"},
	},
	{forms: []string{"by way of"}, write: "through, indirectly"},
	{forms: []string{"go on", "goes on", "going on", "gone on", "went on"}, write: "continue, resume, keep …ing"},
	{forms: []string{"parted"}, write: "separated"},
	{forms: []string{"put away", "puts away", "putting away"}, write: "dismiss"},
	{forms: []string{"sign of life", "signs of life"}, write: "heartbeat"},
	{forms: []string{"carry out", "carries out", "carried out", "carrying out"}, write: "execute, run"},
	{forms: []string{"colour", "colours", "coloured"}, write: "color"},
	{
		forms: []string{"take back", "takes back", "taken back", "taking back", "take it back", "takes it back", "take that back"},
		write: "undo, cancel",
	},
	{forms: []string{"yard"}, within: true, write: "server or instance", allowed: yardNames},
}

// TestLanguage enforces the terms of CONTRIBUTING.md: one word per thing, and the
// one that the field uses.
func TestLanguage(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), "vendor") {
				return filepath.SkipDir
			}
			return skip(".", file, d.Name())
		}
		name := filepath.ToSlash(file)
		if !written(name) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		files++
		for _, found := range slices.Concat(wordings(name, string(text)), fileName(name), functionNames(name, string(text))) {
			t.Error(found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were found", files)
	}
}

func TestLanguageCatchesPlantedWordings(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, text, want string }{
		{
			"a phrase in a comment, with its line", "runner/x.go", "package runner\n\n// f tells whether",
			`runner/x.go:3: "tells whether": write reports whether`,
		},
		{"in a name", "runner/x.go", "func newYardOf()", `runner/x.go:1: "yard": write server or instance`},
		{"at the start of a text", "bench/x.md", "<p>Mend it.</p>", `bench/x.md:1: "mend": write fix`},
		{"in a document", "docs/x.md", "It stands there.", `docs/x.md:1: "stands": write is`},
		{"the name of the product is allowed", "docs/x.md", "TASKYARD_URL, taskyard and Taskyard's", ""},
		{"so is a word that contains one", "docs/x.md", "standard, bearer, renewed, departed", ""},
		{"so is what stands for another", "docs/x.md", "$ stands for the end", ""},
		{"released changes stay as they are", "CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n- fixed\n## [0.1.0]\n- mended", ""},
		{"unreleased ones do not", "CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n- mended", `CHANGELOG.md:4: "mended"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(wordings(tt.file, tt.text), "\n")
			if (tt.want == "") != (got == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// cutByLength are words in file names that do not say what the file contains:
// they say that a long file was split, or repeat the name of another file.
var cutByLength = []string{"more", "parts", "small", "lone", "kept", "look", "says", "held", "words", "doing", "asked", "strip"}

// fileName lists what is wrong with the name of a file of code.
func fileName(file string) []string {
	if ext := path.Ext(file); ext != ".go" && ext != ".templ" || strings.HasPrefix(file, "bench/") ||
		strings.HasPrefix(file, "jobs/trials/") || strings.HasPrefix(file, "db/dbfill/") {
		return nil // there, these words name parts of a benchmark, or words to fill a database with
	}
	base, _, _ := strings.Cut(path.Base(file), ".")
	for _, word := range strings.Split(base, "_") {
		if slices.Contains(cutByLength, word) {
			return []string{fmt.Sprintf("%s: a file name must say what the file contains, not %q", file, word)}
		}
	}
	return nil
}

func TestFileNamesCatchPlantedNames(t *testing.T) {
	t.Parallel()
	for file, wrong := range map[string]bool{
		"views/small.templ": true, "db/url_more.go": true, "e2e/client_words_test.go": true,
		"views/smallest.go": false, "docs/more.md": false, "bench/parts.go": false,
	} {
		if got := len(fileName(file)) > 0; got != wrong {
			t.Errorf("%s: refused = %t, want %t", file, got, wrong)
		}
	}
}

// declared finds the declarations of functions and methods named xOf or xWords.
var declared = regexp.MustCompile(`(?m)^(?:func|templ) (?:\([^)]*\) )?(of|\w*(?:Of|Words))[\[(]`)

// aboutWords are functions that are about the words of a text or of a search.
var aboutWords = []string{"SearchWords", "contextWords", "fitsWords", "separatesWords"}

// functionNames lists the functions and methods of a file whose names do not say
// what they return or do. The names of tests are sentences.
func functionNames(file, text string) []string {
	if ext := path.Ext(file); ext != ".go" && ext != ".templ" {
		return nil
	}
	var out []string
	for _, at := range declared.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		if strings.HasPrefix(name, "Test") || slices.Contains(aboutWords, name) {
			continue
		}
		write := "a constructor newX or xFromY, a converter toX, otherwise what it returns or does"
		if strings.HasSuffix(name, "Words") {
			write = "xText or describeX"
		}
		out = append(out, fmt.Sprintf("%s:%d: %s: write %s", file, 1+strings.Count(text[:at[2]], "\n"), name, write))
	}
	return out
}

func TestFunctionNamesCatchPlantedNames(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, text, want string }{
		{"a function, with its line", "task/x.go", "package task\n\nfunc TimeOf(t time.Time) Time", "task/x.go:3: TimeOf: write a constructor"},
		{"a method", "views/x.go", "func (m *Model) saveWords() string", "views/x.go:1: saveWords: write xText"},
		{"a method that is only called of", "db/x.go", "func (p dual) of(rx *Rx) string", "db/x.go:1: of: write"},
		{"a generic function", "db/x.go", "func rowsOf[T any](s string) []T", "db/x.go:1: rowsOf: write"},
		{"a component", "views/x.templ", "templ stateOf(t *task.Task) {", "views/x.templ:1: stateOf: write"},
		{"a function that is about words", "task/x.go", "func SearchWords(q string) []string", ""},
		{"the name of a test is a sentence", "task/x_test.go", "func TestATextFitsAllOfItsWords(t *testing.T)", ""},
		{"a call is not a declaration", "task/x.go", "\tat := reflect.TypeOf(x)", ""},
		{"a name may start or continue with it", "task/x.go", "func StartOfDay(t Time) Time", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(functionNames(tt.file, tt.text), "\n")
			if (tt.want == "") != (got == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// written reports whether people write a file: not generated, not vendored.
// This file has the phrases themselves.
func written(file string) bool {
	switch path.Ext(file) {
	case ".go", ".templ", ".md", ".js", ".css":
		return !strings.HasSuffix(file, "_templ.go") && file != "language_test.go"
	}
	return false
}

// wordings lists the phrases of a file, by line.
func wordings(file, text string) []string {
	var out []string
	text = strings.ToLower(unreleased(file, text))
	for _, p := range phrases {
		out = append(out, p.in(file, text)...)
	}
	return out
}

// unreleased returns the part of a file that may still change: for the
// changelog, what comes before the first release.
func unreleased(file, text string) string {
	if file == "CHANGELOG.md" {
		if parts := strings.SplitAfterN(text, "\n## [", 3); len(parts) == 3 {
			return parts[0] + parts[1]
		}
	}
	return text
}

// in lists where a text in lower case has the phrase.
func (p phrase) in(file, text string) []string {
	if !slices.ContainsFunc(p.forms, func(form string) bool { return strings.Contains(text, form) }) {
		return nil
	}
	var out []string
	for i, line := range strings.Split(text, "\n") {
		for _, a := range p.allowed {
			line = strings.ReplaceAll(line, a, "·")
		}
		for _, form := range p.forms {
			if has(line, form, p.within) {
				out = append(out, fmt.Sprintf("%s:%d: %q: write %s", file, i+1, form, p.write))
			}
		}
	}
	return out
}

// has reports whether a line has a form as separate words, or anywhere if within is set.
func has(line, form string, within bool) bool {
	for {
		before, after, found := strings.Cut(line, form)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		if within || !unicode.IsLetter(last) && !unicode.IsLetter(first) {
			return true
		}
		line = after
	}
}
