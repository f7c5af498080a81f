package e2e

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/cmd"
	"taskyard/internal/config"
	"taskyard/internal/testkit"
)

// A person who has connected a shell, or a run, can still use the commands on a data
// folder.
func TestCommandsAcceptVariablesOfClientsAndRuns(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`"(TASKYARD_[A-Z_]+)[="]`)
	found := 0
	for _, pattern := range []string{
		"internal/client/*.go", "runner/*.go", "runner/*/*.go", "runner/*/*/*.go", "internal/worker/*.go", "internal/cmd/*.go",
	} {
		files, err := filepath.Glob(pattern)
		testkit.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text := read(t, file)
			for _, m := range name.FindAllStringSubmatch(text, -1) {
				found++
				if !slices.Contains(config.ClientVariables, m[1]) {
					t.Errorf("%s reads or sets %s, which commands on a data folder refuse as unknown", file, m[1])
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("got only %d names", found)
	}
}

// full is a device without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestACommandFailsIfItsOutputCannotBeWritten(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for name, args := range map[string][]string{
		"a token that is lost":          {"token", "create", "--data", data, "--scope", "read"},
		"a truncated configuration":     {"config", "--data", data},
		"a truncated completion script": {"completion", "bash"},
		"a version that is lost":        {"version"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs testkit.Buffer
			e := &cmd.Env{Ctx: t.Context(), Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &errs}
			if code := cmd.Run(e, args); code != exitRefused || !strings.Contains(errs.String(), "no space left on device") {
				t.Errorf("%d %q", code, errs.String())
			}
		})
	}
}

func TestUnknownCommandsAreReported(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"tsk":     `there is no command tsk; taskyard --help lists them`,
		"approve": `there is no command approve; taskyard --help lists them`,
	} {
		if _, errs, code := do(t, "", word, "list"); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%d %q, want %q", code, errs, want)
		}
	}
	if _, errs, code := do(t, "", "task", "done", "42"); code != exitUsage || !strings.Contains(errs, `did you mean "complete"?`) {
		t.Errorf("task done: got %d %q, want a hint to complete", code, errs)
	}
	if _, errs, _ := do(t, "", "task", "mvoe", "42"); !strings.Contains(errs, `did you mean "move"?`) {
		t.Errorf("for a typo, got %q, want a hint to move", errs)
	}
	for _, words := range [][]string{{"help"}, {"help", "task", "claim"}} {
		want, _, _ := do(t, "", append(words[1:], "--help")...)
		if got, errs, code := do(t, "", words...); code != exitOK || got != want || want == "" {
			t.Errorf("%q: %d %q %q", words, code, errs, got)
		}
	}
	if _, errs, code := do(t, "", "help", "tsk"); code != exitUsage || !strings.Contains(errs, "tsk") {
		t.Errorf("help tsk: got %d %q", code, errs)
	}
	if _, errs, _ := do(t, "", "serve", "extra"); !strings.Contains(errs, "unexpected argument extra") {
		t.Errorf("an argument of serve is reported as a command: %q", errs)
	}
}

func TestCtrlCDuringARequestIsReportedAsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		interrupt()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	vars := map[string]string{"TASKYARD_TOKEN": "ty_x", "TASKYARD_URL": server.URL}
	var out, errs testkit.Buffer
	e := &cmd.Env{Ctx: ctx, Getenv: func(k string) string { return vars[k] }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	if code := cmd.Run(e, []string{"run", "wait", "3"}); code != exitRefused || strings.TrimSpace(errs.String()) != "taskyard: interrupted" {
		t.Errorf("%d %q", code, errs.String())
	}
}

func TestCommandsOnAFolderWithoutAnInstanceNameTheFlag(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	for name, args := range map[string][]string{
		"backup": {"backup", filepath.Join(t.TempDir(), "b.tar.zst")},
		"export": {"export", t.TempDir()},
		"check":  {"check"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs, code := do(t, "", append(args, "--data", none)...)
			if code != exitRefused || !strings.Contains(errs, "no database") || !strings.Contains(errs, none) || !strings.Contains(errs, "--data") {
				t.Errorf("%d %q", code, errs)
			}
		})
	}
}
