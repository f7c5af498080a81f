package e2e

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"taskyard/internal/buildinfo"
	"taskyard/internal/cmd"
	"taskyard/internal/testkit"
)

// testBuild is the build of commands in this process.
var testBuild = buildinfo.Info{
	Version: "v9.8.7", Commit: "c0ffee5eed", Date: "2026-10-01T10:00:00Z", Go: "go1.99 linux/riscv64", SQLite: "3.99.9",
}

func TestEverySurfaceNamesTheSameVersion(t *testing.T) {
	t.Parallel()
	in := serveInside(t)
	b := newBrowser(t)
	b.setUp(in.first, in.url)
	t.Run("healthz", func(t *testing.T) {
		var got struct {
			Status string
			buildinfo.Info
		}
		_, text := b.get(in.url + "/healthz")
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Status != "ok" || got.Info != testBuild {
			t.Errorf("%v: %s", err, text)
		}
	})
	t.Run("the About page", func(t *testing.T) {
		_, text := b.get(in.url + "/settings/about")
		wants(t, text, testBuild.Version, testBuild.Commit, testBuild.Date, testBuild.Go, testBuild.SQLite)
	})
	t.Run("the API document", func(t *testing.T) {
		var got struct{ Info struct{ Version string } }
		_, text := b.get(in.url + "/api/openapi.json")
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Info.Version != testBuild.Version {
			t.Errorf("%v: version %q", err, got.Info.Version)
		}
	})
	t.Run("the MCP server", func(t *testing.T) {
		token := must(t, "", "token", "create", "--data", in.data, "--agent", "general-purpose")
		var out testkit.Buffer
		environ := map[string]string{"TASKYARD_URL": in.url, "TASKYARD_TOKEN": token}
		if stderr, code := bridge(t, strings.NewReader(hello), &out, environ); code != exitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		var got struct {
			Result struct{ ServerInfo struct{ Version string } }
		}
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got.Result.ServerInfo.Version != testBuild.Version {
			t.Errorf("%v: %s", err, out.String())
		}
	})
	t.Run("the command line", func(t *testing.T) {
		for _, args := range [][]string{{"version"}, {"--version"}, {"-v"}} {
			if got := must(t, "", args...); got != strings.TrimSpace(testBuild.String()) {
				t.Errorf("taskyard %v printed %q", args, got)
			}
		}
		e := &cmd.Env{
			Ctx: t.Context(), Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""),
			Stdout: failing{}, Stderr: io.Discard, Build: testBuild,
		}
		if code := cmd.Run(e, []string{"version"}); code == exitOK {
			t.Error("got success for a version that could not be printed")
		}
	})
}

// failing is a writer that always fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
