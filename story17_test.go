package main

import (
	"fmt"
	"os"
	"testing"

	"taskyard/cli"
	"taskyard/task"
)

// makeTasks creates tasks one after the other and returns their ids; each is
// acknowledged.
func (s *server) makeTasks(api *cli.Client, n int) (ids []string) {
	s.t.Helper()
	for i := range n {
		made := call[task.Task](s.t, api, "POST", "/api/tasks", map[string]any{"title": fmt.Sprintf("Task %d", i), "owner": "general-purpose"})
		ids = append(ids, made.ID.String())
	}
	return ids
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
