package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTextsComeFromAnArgumentStdinOrAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("from `file`\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, arg, file, stdin, want, bad string }{
		{"an argument is the text", "plain", "", "", "plain", ""},
		{"- is stdin, without its last newline", "-", "", "one\ntwo\n", "one\ntwo", ""},
		{"a Windows line ending is removed", "-", "", "one\r\n", "one", ""},
		{"a file loses one newline", "", file, "", "from `file`\n", ""},
		{"--file - is stdin", "", "-", "in", "in", ""},
		{"two sources are refused", "x", file, "", "", "once"},
		{"a missing file", "", file + "x", "", "", "no such file"},
		{"text that is not UTF-8 is refused", "-", "", "a\xff", "", "UTF-8"},
		{"a long text is refused", "-", "", strings.Repeat("x", maxText+1), "", "1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Env{Ctx: t.Context(), Stdin: strings.NewReader(c.stdin)}
			got, err := e.text(c.arg, c.file)
			if got != c.want || (err == nil) != (c.bad == "") {
				t.Fatalf("%q, %v", got, err)
			}
			if err != nil && (ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), c.bad)) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTheTaskMayBeLeftOutWithinARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, run, id, text, file, wantID, want string }{
		{"id and text", "", "5", "hello", "", "5", "hello"},
		{"an ID takes precedence over the run's task", "9", "#5", "hello", "", "5", "hello"},
		{"only a text", "9", "hello", "", "", "9", "hello"},
		{"only stdin", "9", "-", "", "", "9", "from stdin"},
		{"an id and stdin", "9", "5", "", "-", "5", "from stdin"},
		{"only stdin by --file", "9", "", "", "-", "9", "from stdin"},
		{"what looks like an ID is not a text", "9", "43", "", "", "", ""},
		{"a text outside a run has no task", "", "hello", "", "", "", ""},
		{"nothing at all", "9", "", "", "", "", ""},
		{"a bad id", "9", "5a", "hello", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Env{Ctx: t.Context(), Stdin: strings.NewReader("from stdin\n"), Getenv: func(string) string { return c.run }}
			id, text, err := e.taskAndText(c.id, c.text, TextFile{File: c.file})
			if id != c.wantID || text != c.want || (err == nil) != (c.want != "") || err != nil && ExitCode(err) != ExitUsage {
				t.Errorf("%q %q %v", id, text, err)
			}
		})
	}
}

func TestAPlanIsReadFromLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Read the code":  "Read the code",
		"- Read":         "Read",
		"* [ ] Read":     "Read",
		"- [x] Read":     "[x] Read",
		"[X] Read":       "[x] Read",
		" 12. Read [it]": "Read [it]",
		"3rd try":        "3rd try",
		"-v is a flag":   "-v is a flag",
		"- ":             "",
		"":               "",
	} {
		got := ""
		for _, s := range stepsFromLines([]string{in}) {
			if s["done"] == true {
				got = "[x] "
			}
			got += s["title"].(string)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTheEnvironmentIsChecked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("ty_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url, token, file, want, bad string
	}{
		{"the default address", "", "ty_x", "", "ty_x", ""},
		{"the token may be in a file", "", "", file, "ty_file", ""},
		{"the variable takes precedence", "", "ty_x", file, "ty_x", ""},
		{"no token at all", "", "", "", "", "TASKYARD_TOKEN"},
		{"a missing file", "", "", file + "x", "", "TASKYARD_TOKEN_FILE"},
		{"a token is one word", "", "ty_x ty_y", "", "", "more than one"},
		{"an address has a scheme", "localhost:8080", "ty_x", "", "", "TASKYARD_URL"},
		{"http or https", "ftp://x", "ty_x", "", "", "TASKYARD_URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := map[string]string{"TASKYARD_URL": c.url, "TASKYARD_TOKEN": c.token, "TASKYARD_TOKEN_FILE": c.file}
			e := &Env{Getenv: func(k string) string { return env[k] }}
			api, err := e.api()
			if c.bad != "" {
				if ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || api.Token != c.want || api.URL != DefaultURL {
				t.Errorf("%+v, %v", api, err)
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		ExitDone: nil, ExitRefused: &ResponseError{Status: 409}, ExitUsage: usagef("x"), ExitNothing: nothingError("x"),
		ExitUnreachable: &UnreachableError{Err: errors.New("x")},
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v: got %d, want %d", err, got, want)
		}
	}
	if got := ExitCode(&WaitError{"x"}); got != ExitRefused {
		t.Errorf("WaitError: got %d", got)
	}
}

func TestACommandWithoutAnAgentSaysHowToNameIt(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]interface{ Run(*Env) error }{
		"--owner":         &TaskCreate{Title: "x"},
		"--from":          &TaskMove{ID: "1", To: "coder", Comment: "x"},
		"--agent":         &TaskClaim{},
		"as the argument": &AgentShow{},
	} {
		e, _ := onPaper(t, map[string]string{"GET /api/me": `{"name":"user:maya","role":"admin"}`})
		if err := c.Run(e); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %s", c, err, want)
		}
	}
}
