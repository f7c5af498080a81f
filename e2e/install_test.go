package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestTheInstallationMatchesTheDocs(t *testing.T) {
	t.Parallel()
	const page = "docs/install.md"
	text := read(t, page)
	t.Run("the named files exist", func(t *testing.T) {
		for _, name := range regexp.MustCompile(`packaging/[A-Za-z.]+`).FindAllString(text, -1) {
			if _, err := os.Stat(name); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("its commands exist", func(t *testing.T) {
		known := regexp.MustCompile(`(?m)(?:^|-u taskyard |&& )taskyard ([a-z -]+)`)
		n := 0
		for _, b := range fencedBlocks(t, page) {
			if b.language != "sh" {
				continue
			}
			check := exec.CommandContext(t.Context(), "bash", "-n")
			check.Stdin = strings.NewReader(b.text)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %s", page, b.line, out)
			}
			for _, m := range known.FindAllStringSubmatch(b.text, -1) {
				n++
				must(t, "", append(strings.Fields(m[1]), "--help")...)
			}
		}
		if n < 3 {
			t.Errorf("got only %d commands", n)
		}
	})
	t.Run("its targets are those of the Makefile", func(t *testing.T) {
		makefile := read(t, "Makefile")
		for _, m := range regexp.MustCompile(`make ([a-z-]+) VERSION`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+": ##") {
				t.Errorf("there is no target %s", m[1])
			}
		}
	})
	t.Run("systemd accepts the unit, and the documented relaxations", func(t *testing.T) {
		installed(t, "systemd-analyze", "apt-get install systemd")
		dir := t.TempDir()
		unit := read(t, "packaging/taskyard.service")
		for _, b := range fencedBlocks(t, page) {
			if b.language == "ini" {
				unit += "\n" + b.text
			}
		}
		file := put(t, filepath.Join(dir, "taskyard.service"), unit)
		out, err := exec.CommandContext(t.Context(), "tools/check-unit.sh", file).CombinedOutput()
		if err != nil || strings.Contains(string(out), "ignoring") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// Without these calls in the filter, the server would believe that the kernel has no
// Landlock.
func TestTheUnitAllowsTheCallsForConfinement(t *testing.T) {
	t.Parallel()
	unit := read(t, "packaging/taskyard.service")
	for _, call := range []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"} {
		if !regexp.MustCompile(`(?m)^SystemCallFilter=[^~\n]*\b` + call + `\b`).MatchString(unit) {
			t.Errorf("the unit does not allow %s", call)
		}
	}
}

func TestPackagingFilesAreValid(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("packaging/scripts/*.sh")
	if err != nil || len(scripts) != 4 {
		t.Fatalf("%v: %v", err, scripts)
	}
	for _, name := range scripts {
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", name, out)
		}
	}
	list, err := filepath.Glob(".github/*/*.yml")
	if err != nil || len(list) < 5 {
		t.Fatalf("%v: %v", err, list)
	}
	for _, name := range append(list, "packaging/compose.yaml", "packaging/kubernetes.yaml", "packaging/nfpm.yaml") {
		text := read(t, name)
		for part := range strings.SplitSeq(text, "\n---\n") {
			var tree map[string]any
			if err := yaml.Unmarshal([]byte(part), &tree); err != nil || len(tree) == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	t.Run("the configuration of the package is valid", func(t *testing.T) {
		if out := must(t, "", "config", "check", "--config", "packaging/taskyard.toml"); !strings.Contains(out, "data in /var/lib/taskyard") {
			t.Error(out)
		}
	})
}
