//go:build !windows

package cmd

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/worker"
)

func TestAWorkerTakesItsTokenFromAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("ty_of_a_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	with := func(file string) (worker.Options, error) {
		vars := map[string]string{"TASKYARD_TOKEN_FILE": file}
		c := workerCmd{URL: "http://127.0.0.1:1", Exec: "true", Dir: filepath.Join(t.TempDir(), "runs"), Parallel: 1, Keep: time.Hour}
		return c.options(&Env{Ctx: t.Context(), Getenv: func(k string) string { return vars[k] }, Stderr: io.Discard})
	}
	if c, err := with(file); err != nil || c.Token != "ty_of_a_file" {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := with(file + ".none"); err == nil || !strings.Contains(err.Error(), "TASKYARD_TOKEN_FILE") {
		t.Errorf("a file that is not there: %v", err)
	}
}
