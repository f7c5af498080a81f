//go:build !windows

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/app"
)

func TestADemoOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"taskyard.toml", "agents/planner.md"} {
		for _, fresh := range []bool{false, true} {
			dir := t.TempDir()
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := (&demoCmd{Data: dir, Fresh: fresh}).prepare()
			if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "give another folder with --data") {
				t.Errorf("with %s: %v", name, err)
			}
			if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
				t.Errorf("%s now contains %q, %v", name, b, err)
			}
			list, err := os.ReadDir(dir)
			if err != nil || len(list) != 1 {
				t.Errorf("besides %s, the folder contains %v, %v", name, list, err)
			}
		}
	}
	t.Run("a demo that was interrupted during setup continues", func(t *testing.T) {
		c := &demoCmd{Data: t.TempDir()}
		for range 2 {
			if err := c.prepare(); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(c.Data, app.DemoMark)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
