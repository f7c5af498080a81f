//go:build linux

package runner

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"taskyard/runner/model/modeltest"
	"taskyard/task"
)

// The variable that a definition's env names. Its name does not say that it
// holds a secret.
const (
	loginName = "TEST_DEPLOY_LOGIN"
	login     = `hun"ter/zebra-crossing <9> ü&`
)

// leaks returns the form of the secret that a text holds, or "".
func leaks(t *testing.T, all ...any) string {
	t.Helper()
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{
		"zebra-crossing", "token-of-this",
		base64.RawStdEncoding.EncodeToString([]byte(login)), hex.EncodeToString([]byte(login)),
	} {
		if bytes.Contains(b, []byte(form)) {
			return form
		}
	}
	return ""
}

// jsonText is a text as JSON.
func jsonText(s string) string {
	b, _ := json.Marshal(s) // never fails
	return string(b)
}

// TestNoRunnerTellsASecret has an agent of every kind say the values of a
// variable that its definition names, and its token, in every place where it
// can say something: text, tools, results, log, summary, error.
func TestNoRunnerTellsASecret(t *testing.T) {
	t.Setenv(loginName, login)
	both := login + " and ty_token-of-this-run"
	spec := func(t *testing.T) Spec {
		s := newSpec(t)
		s.Plan.Env = []string{loginName}
		return s
	}
	inTwo := `printf '%s' "$TEST_DEPLOY_LOGIN" | head -c 7; sleep 0.4; printf '%s' "$TEST_DEPLOY_LOGIN" | tail -c +8; echo`
	says := `echo "plain $TEST_DEPLOY_LOGIN"; echo "on stderr $TEST_DEPLOY_LOGIN $TASKYARD_TOKEN" >&2; printf '%s' "$TEST_DEPLOY_LOGIN" | base64 -w0; echo; printf 'user:%s' "$TEST_DEPLOY_LOGIN" | base64 -w0; echo; ` + inTwo + "\ncat <<'EOF'\n" +
		`{"type":"tool_call","text":` + jsonText(both) + `,"data":{"command":` + jsonText(both) + `}}` + "\nEOF\n"
	for _, tt := range []struct {
		name string
		run  func(t *testing.T) (Outcome, *recorder)
	}{
		{"command", func(t *testing.T) (Outcome, *recorder) {
			return playOut(t, sh(says+"cat <<'EOF'\n"+`{"summary":`+jsonText(both)+
				`,"success":true,"artifacts":[`+jsonText(both)+`]}`+"\nEOF"), spec(t))
		}},
		{"command that fails", func(t *testing.T) (Outcome, *recorder) { return playOut(t, sh(says+"exit 3"), spec(t)) }},
		{"worker, which executes the same runners", func(t *testing.T) (Outcome, *recorder) {
			rec := &recorder{}
			out, err := Execute(t.Context(), sh(says+`echo "$TEST_DEPLOY_LOGIN" > left.txt; echo done`), spec(t), rec)
			if err != nil {
				t.Fatal(err)
			}
			if out.Work != nil && leaks(t, out.Work.Patch()) != "" {
				t.Errorf("the diff tells it: %s", out.Work.Patch())
			}
			return out, rec
		}},
		{"claude", func(t *testing.T) (Outcome, *recorder) {
			s := claudeSpec(t)
			s.Plan.Env = []string{loginName}
			return playOut(t, fake("say "+fakeInit,
				`say {"type":"assistant","message":{"id":"a","content":[{"type":"text","text":`+jsonText(both)+
					`},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":`+jsonText(both)+`}}]}}`,
				`say {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":`+
					jsonText(both)+`}]}]}}`,
				"say "+strings.Replace(fakeDone, `" All done. "`, jsonText(both), 1), "eof"), s)
		}},
		{"claude that fails", func(t *testing.T) (Outcome, *recorder) {
			s := claudeSpec(t)
			s.Plan.Env = []string{loginName}
			return playOut(t, fake("say "+fakeInit, `say {"type":"result","subtype":"error_during_execution","is_error":true,"result":`+
				jsonText(both)+`,"errors":[`+jsonText(both)+`]}`, "exit 1"), s)
		}},
		{"codex", func(t *testing.T) (Outcome, *recorder) {
			s := readingSpec(t)
			s.Plan.Env = []string{loginName}
			return playOut(t, codexSays(lines(codexBegin,
				`{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":`+jsonText(both)+
					`,"aggregated_output":`+jsonText(both)+`,"exit_code":3,"status":"failed"}}`,
				`{"type":"item.completed","item":{"id":"i3","type":"file_change","changes":[{"path":`+
					jsonText(both)+`,"kind":"add"}],"status":"completed"}}`,
				`{"type":"item.completed","item":{"id":"i9","type":"agent_message","text":`+jsonText(both)+`}}`, codexEnd)), s)
		}},
		{"codex that fails", func(t *testing.T) (Outcome, *recorder) {
			s := readingSpec(t)
			s.Plan.Env = []string{loginName}
			return playOut(t, codexSays(lines(codexBegin, `{"type":"turn.failed","error":{"message":`+jsonText(both)+`}}`)+"exit 1"), s)
		}},
		{"acp, in chunks", func(t *testing.T) (Outcome, *recorder) { return playOut(t, acpPlays("leak"), spec(t)) }},
		{"acp that fails", func(t *testing.T) (Outcome, *recorder) { return playOut(t, acpPlays("leak", "error"), spec(t)) }},
		{"built-in", func(t *testing.T) (Outcome, *recorder) {
			l := newLoop(t, "anthropic",
				modeltest.Step{
					Text:  "It is " + both,
					Calls: []modeltest.Call{{Name: "create", Args: `{"path":"key.txt","content":` + jsonText(both) + `}`}},
				},
				calls("read", `{"path":"key.txt"}`), calls("read", `{"path":`+jsonText(both)+`}`),
				modeltest.Step{Text: both}, modeltest.Step{Text: "I found " + both},
			)
			s := newBuiltinSpec(t)
			s.Plan.Env = []string{loginName}
			return l.play(t, s)
		}},
		{"webhook", func(t *testing.T) (Outcome, *recorder) {
			s := hookSpec(t)
			s.Plan.Env = []string{loginName}
			return hook(t, t.Context(), receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(rw, `{"summary":`+jsonText(both)+`,"success":true,"artifacts":[`+jsonText(both)+`]}`)
			}), s)
		}},
		{"webhook that fails", func(t *testing.T) (Outcome, *recorder) {
			s := hookSpec(t)
			s.Plan.Env = []string{loginName}
			return hook(t, t.Context(), receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(http.StatusBadGateway)
				fmt.Fprint(rw, both)
			}), s)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, rec := tt.run(t)
			if form := leaks(t, rec.events, out); form != "" {
				t.Errorf("%s is in %+v %+v", form, rec.events, out)
			}
			if all := fmt.Sprintf("%+v %+v", rec.events, out); !strings.Contains(all, task.Redacted) {
				t.Errorf("nothing was said at all: %s", all)
			}
		})
	}
}
