package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/config"
)

func TestTheCheckOfAConfigurationNamesMissingPrograms(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	text := "[backup]\nafter = [\"/nowhere/copy\", \"{file}\"]\n[runners.script]\nkind = \"command\"\ncommand = [\"/nowhere/agent\"]\n" +
		"[runners.shell]\nkind = \"command\"\ncommand = [\"/bin/sh\"]\n"
	if err := os.WriteFile(filepath.Join(data, config.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := config.Load(config.LoadOptions{Flags: map[string]string{"data": data}})
	if err != nil {
		t.Fatal(err)
	}
	errs, warnings := CheckConfig(c, func(string) string { return "" })
	if len(errs) != 0 || len(warnings) != 2 ||
		!strings.HasPrefix(warnings[0], "runners.script: the program /nowhere/agent cannot be started") ||
		!strings.HasPrefix(warnings[1], "backup.after: the program /nowhere/copy cannot be started") {
		t.Errorf("errors %v, warnings %q", errs, warnings)
	}
}
