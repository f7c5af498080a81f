package e2e

import (
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"taskyard/internal/config"
	"taskyard/internal/testkit"
)

// addKeys adds the dotted names of the keys of a table to names; for a table of
// sections that the user names, only the keys of one section.
func addKeys(t reflect.Type, prefix string, names map[string]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		switch {
		case name == "":
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct && f.Type.Elem() != reflect.TypeFor[config.Price]():
			addKeys(f.Type.Elem(), name+".*.", names)
		case f.Type.Kind() == reflect.Struct:
			addKeys(f.Type, prefix+name+".", names)
		default:
			names[prefix+name] = true
		}
	}
}

func TestEveryKeyOfTheConfigurationIsInTheDocs(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	addKeys(reflect.TypeFor[config.Config](), "", names)
	if len(names) < 40 {
		t.Fatalf("got only %v", names)
	}
	var all map[string]any
	for _, b := range fencedBlocks(t, "docs/operations.md") {
		if b.language == "toml" && strings.Contains(b.text, "\n[scheduler]\n") {
			var err error
			if err = toml.Unmarshal([]byte(b.text), &all); err != nil {
				t.Fatal(err)
			}
			sameAsDefault(t, b.text)
		}
	}
	pages := read(t, "docs/runners.md") + read(t, "docs/operations.md")
	for name := range names {
		group, own, grouped := strings.Cut(name, ".*.")
		table, key, inTable := strings.Cut(name, ".")
		section, _ := all[table].(map[string]any)
		_, here := section[key]
		_, top := all[name]
		switch {
		case grouped && !regexp.MustCompile(`\b`+own+`\b`).MatchString(pages):
			t.Errorf("the docs do not mention %s in [%s.NAME]", own, group)
		case name == "data": // cannot be in a file in that folder
		case !grouped && inTable && !here, !grouped && !inTable && !top:
			t.Errorf("docs/operations.md does not show %s", name)
		}
	}
}

// sameAsDefault compares what a page says about defaults to them.
func sameAsDefault(t *testing.T, text string) {
	t.Helper()
	data := t.TempDir()
	put(t, filepath.Join(data, config.FileName), text)
	shown := strings.Split(must(t, "", "config", "--data", data), "\n")
	for i, line := range strings.Split(must(t, "", "config", "--data", t.TempDir()), "\n") {
		want, _, _ := strings.Cut(line, " #")
		if got, _, _ := strings.Cut(shown[i], " #"); got != want && !strings.HasPrefix(want, "data =") {
			t.Errorf("got the default %[2]s in the page, want %[1]s", want, got)
		}
	}
}

// TestTheDocsNameTheKeysThatNeedARestart is about keys that are neither settings nor
// in sections that SIGHUP applies.
func TestTheDocsNameTheKeysThatNeedARestart(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	addKeys(reflect.TypeFor[config.Config](), "", names)
	c, _, err := config.Load(config.LoadOptions{Flags: map[string]string{"data": t.TempDir()}})
	testkit.NoError(t, err)
	for _, s := range c.Settings() {
		delete(names, s.Key)
	}
	text := read(t, "docs/operations.md")
	line := regexp.MustCompile(`These need a restart: (.*?)\. After`).FindStringSubmatch(text)
	if line == nil {
		t.Fatal("docs/operations.md does not say which keys need a restart")
	}
	said := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line[1], -1) {
		said[m[1]] = true
	}
	for name := range names {
		table, _, _ := strings.Cut(name, ".")
		if table != "notify" && !config.OfRunners(name) && !said[name] && !said[table+".*"] {
			t.Errorf("%s needs a restart, but the docs do not say so", name)
		}
	}
	for name := range said {
		if table, all := strings.CutSuffix(name, ".*"); !names[name] && (!all || !hasTable(names, table)) {
			t.Errorf("%s needs no restart or does not exist, but the docs say that it needs one", name)
		}
	}
}

func hasTable(names map[string]bool, table string) bool {
	for name := range names {
		if strings.HasPrefix(name, table+".") {
			return true
		}
	}
	return false
}
