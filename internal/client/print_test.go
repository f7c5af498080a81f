package client

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"taskyard/task"

	"taskyard/internal/testkit"
)

// onPaper returns the environment of a server that gives fixed responses, by
// method and path, and its output.
func onPaper(t *testing.T, answers map[string]string) (*Env, *bytes.Buffer) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			body = `{"status":404,"code":"not_found","detail":"No endpoint has this path"}`
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(web.Close)
	var out bytes.Buffer
	env := map[string]string{"TASKYARD_URL": web.URL, "TASKYARD_TOKEN": "ty_x"}
	return &Env{
		Ctx: t.Context(), Getenv: func(k string) string { return env[k] },
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
	}, &out
}

// hostile contains texts that could take control of a terminal.
const hostile = "a\x1b[2J\x1b]0;x\x07b\u0085c\u202ed\u2066e\u2028f\x7f"

const fullTask = `{"id":"42","title":"Fix the login page","description":"It accepts\nanything.\n","owner":"coder","createdBy":"user:maya","status":"active","workStatus":"working",
"priority":5,"version":7,"threadId":"42","parentTaskId":"41","blockedBy":["39","40"],"labels":["api","ui"],"waitingFor":"user",
"steps":[{"title":"Read","details":"the form\nand the handler","done":true},{"title":"Fix","done":false,"taskId":"43"}],
"resources":[{"type":"url","value":"https://example.org/x","label":"report"},{"type":"file","value":"/tmp/log"}],
"claim":{"id":3,"holder":"coder","since":"2026-01-31T12:00:00.000Z","expiresAt":"2026-01-31T14:00:00.000Z"},
"comments":[{"id":"1","author":"coder","kind":"comment","content":"Found it.","createdAt":"2026-01-31T12:05:00.000Z"},
{"id":"2","author":"coder","kind":"question","content":"Which\nname?","createdAt":"2026-01-31T12:06:00.000Z"}],
"createdAt":"2026-01-31T11:00:00.000Z","updatedAt":"2026-01-31T12:06:00.000Z"}`

func TestOutputForPeopleMatchesTheGoldenFiles(t *testing.T) {
	t.Parallel()
	evil, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	list := `{"tasks":[` + fullTask + `,{"id":"7","title":` + string(evil) +
		`,"owner":"general-purpose","status":"draft","priority":-1,"steps":[],"resources":[]},
{"id":"1007","title":"Runs","owner":"x","status":"active","workStatus":"idle","priority":10}],"inFlight":["1007"],"next":"abc"}`
	answers := map[string]string{
		"GET /api/tasks": list, "GET /api/tasks/42": fullTask,
		"GET /api/tasks/42/why": `{"reasons":[{"code":"question_open","message":"A question is open since 12:06."}]}`,
		"GET /api/agents": `{"agents":[{"id":"coder","description":` + string(evil) +
			`,"status":"warning","runner":"command","load":{"queued":3,"working":1}}]}`,
		"GET /api/runs/7": `{"id":"7","taskId":"42","taskTitle":"Fix","agent":"coder","status":"pending","phase":"approval","cause":"manual","askedBy":"user:maya","artifacts":[],
"createdAt":"2026-01-31T11:00:00.000Z","usage":{},"approval":{"version":"v1","expiresAt":"2026-02-01T11:00:00.000Z"},
"spec":{"runner":"demo","tools":["read","bash"],"systemPrompt":"You code.","prompt":"<Task>\n` +
			strings.Trim(string(evil), `"`) + `\n</Task>","limits":{"timeoutSeconds":300}},
"enforcement":[{"what":"read","asked":"allowed","enforced":"not_asked"},{"what":"edit","asked":"not allowed","enforced":"not_enforced","how":` + string(evil) + `},{"what":"timeout","asked":"300 s","enforced":"enforced","how":"its whole process tree is ended"}]}`,
	}
	for _, c := range []struct {
		name  string
		width int
		cmd   interface{ Run(e *Env) error }
	}{
		{"list.txt", 0, &TaskList{}},
		{"list-40.txt", 40, &TaskList{}},
		{"show.txt", 0, &TaskShow{OneTask{"42"}}},
		{"agents.txt", 0, AgentList{}},
		{"run.txt", 0, &RunShow{OneRun{"7"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, out := onPaper(t, answers)
			e.Width = c.width
			if err := c.cmd.Run(e); err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, c.name, out.String())
			for _, r := range out.String() {
				if r != '\n' && printable(string(r)) != string(r) {
					t.Errorf("%q reaches the terminal", r)
				}
			}
		})
	}
	t.Run("the JSON is exactly the server's", func(t *testing.T) {
		e, out := onPaper(t, answers)
		e.JSON = true
		if err := (&TaskList{}).Run(e); err != nil || out.String() != list+"\n" {
			t.Errorf("%v, %s", err, out)
		}
	})
}

func TestTextsAreCutToTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      string
		columns int
		want    string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"日本語", 6, "日本語"},
		{"日本語x", 6, "日本…"},
		{"日本語", 5, "日本…"},
		{"", 5, ""},
	} {
		if got := cut(c.in, c.columns); got != c.want {
			t.Errorf("%s in %d columns: got %s, want %s", c.in, c.columns, got, c.want)
		}
	}
}

func TestUnprintableCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain äöü 日本 👩‍💻":    "plain äöü 日本 👩‍💻",
		"a\u00a0b":            "a b",
		"a\nb\tc":             `a\nb\tc`,
		hostile:               `a\x1b[2J\x1b]0;x\ab\u0085c\u202ed\u2066e\u2028f\x7f`,
		"quote ' and \" stay": "quote ' and \" stay",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := printableLines("a\r\nb\tc\rd"); got != "a\nb\tc\\rd" {
		t.Errorf("%q", got)
	}
}

func TestAPermissionThatARunAsksForIsShown(t *testing.T) {
	t.Parallel()
	run := `{"id":"38","taskId":"30","taskTitle":"Fix it","agent":"coder","status":"running","phase":"permission","cause":"wake","askedBy":"system",
"createdAt":"2026-01-02T03:04:05Z","permission":{"runId":"38","n":1,"tool":"Bash","input":{"command":"cat /etc/hosts"},
"reason":"Path is outside the workspace","askedAt":"2026-01-02T03:04:05Z","expiresAt":"2026-01-03T03:04:05Z"}}`
	e, out := onPaper(t, map[string]string{
		"GET /api/inbox":   `{"permissions":[` + run + `],"totals":{"permissions":1}}`,
		"GET /api/runs/38": run,
	})
	for name, c := range map[string]interface{ Run(*Env) error }{"inbox": InboxList{}, "run show": &RunShow{OneRun{ID: "38"}}} {
		out.Reset()
		if err := c.Run(e); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []string{
			"run allow", "permission 1: asks to call Bash, until 2026-01-03 03:04Z", "Path is outside", `{"command":"cat /etc/hosts"}`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, out)
			}
		}
		if strings.Contains(out.String(), "not shown") {
			t.Errorf("%s says that something is left out:\n%s", name, out)
		}
	}
}

func TestAReasonKeepsItsLines(t *testing.T) {
	t.Parallel()
	const reason = `It ended with exit code 3: first\n\tat second\n  state  completed`
	e, out := onPaper(t, map[string]string{
		"GET /api/tasks/42/why": `{"reasons":[{"message":"Run 7 failed: ` + reason + `"}]}`,
		"GET /api/runs/7": `{"id":"7","taskId":"42","taskTitle":"Fix","agent":"coder","status":"failed","phase":"error","cause":"wake",
"askedBy":"user:maya","reason":"` + reason + `","createdAt":"2026-01-31T11:00:00.000Z"}`,
	})
	for name, c := range map[string]struct {
		cmd  interface{ Run(*Env) error }
		want string
	}{
		"run show": {&RunShow{OneRun{"7"}}, "\n  reason   It ended with exit code 3: first\n               at second\n             state  completed\n  agent "},
		"run wait": {&RunWait{OneRun: OneRun{"7"}}, "code 3: first\n  \tat second\n    state  completed"},
		"task why": {&TaskWhy{OneTask{"42"}}, "Run 7 failed: It ended with exit code 3: first\n  \tat second\n    state  completed\n"},
	} {
		out.Reset()
		if err := c.cmd.Run(e); err != nil {
			out.Reset()
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %q is not in\n%s", name, c.want, out)
		}
	}
}

func TestACheckNamesItsExitCodeOnce(t *testing.T) {
	t.Parallel()
	e, out := onPaper(t, nil)
	e.showChecks([]task.CheckRun{{Name: "test", Verdict: task.CheckFailed, ExitCode: 2, Reason: "exit code 2", Millis: 90, Required: true}})
	if got, want := out.String(), "  ✗ test failed: exit code 2, 90ms, required\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestARetryNamesWhoOrWhatAskedForIt(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{
		"user:maya": "  cause    retry of run 7, asked by user:maya\n", "system": "  cause    retry of run 7, automatic because that failed\n",
	} {
		e, out := onPaper(t, map[string]string{
			"GET /api/runs/8": `{"id":"8","taskId":"42","agent":"coder","status":"running","cause":"retry","retryOf":"7","askedBy":"` + by +
				`","createdAt":"2026-01-31T11:00:00.000Z"}`,
		})
		if err := (&RunShow{OneRun{"8"}}).Run(e); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, %q is not in\n%s", err, want, out)
		}
	}
}

func TestAResultIsShownWithoutItsRepository(t *testing.T) {
	t.Parallel()
	e, out := onPaper(t, map[string]string{
		"GET /api/tasks/42/results": `{"results":[{"number":1}]}`,
		"GET /api/tasks/42/results/1": `{"taskId":"42","number":1,"state":"review","author":"coder","summary":"It is fixed.","base":"b","head":"h",
"digest":"d","createdAt":"2026-01-31T11:00:00.000Z"}`,
		"GET /api/tasks/42/review-comments": `{"comments":[{"id":"1","author":"user:maya","text":"Close it","state":"open"}]}`,
	}) // the diff is refused
	err := (&ReviewShow{OneResult{OneTask: OneTask{"42"}}}).Run(e)
	if ExitCode(err) != ExitRefused || !strings.Contains(err.Error(), "the changed files of this result cannot be read now") {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"It is fixed.", "Close it", "taskyard review accept 42"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}
