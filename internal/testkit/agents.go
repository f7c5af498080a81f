package testkit

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"taskyard/internal/agentfile"
	"taskyard/task"
)

// WriteAgents writes definitions, by agent ID, to a folder.
func WriteAgents(t testing.TB, dir string, definitions map[string]string) {
	t.Helper()
	for id, text := range definitions {
		if err := os.WriteFile(filepath.Join(dir, id+".md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// OpenAgents opens a folder of definitions. Without options, the only runners are
// script, the default of all agents, and other.
func OpenAgents(t testing.TB, dir string, opt *agentfile.Options) *agentfile.Folder {
	t.Helper()
	if opt == nil {
		opt = &agentfile.Options{Runners: map[string]task.RunnerKind{"script": {}, "other": {}}, DefaultRunner: "script"}
	}
	agents, err := agentfile.Open(dir, func() *agentfile.Options { return opt }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return agents
}
