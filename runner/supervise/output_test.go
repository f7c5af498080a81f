//go:build linux

package supervise_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestAFloodOfOutputGoesToAFile(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	out, r := runnertest.Run(t, play("lines", "50000000"), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	runnertest.CheckEvents(t, r)
	if out.Summary != "all said" {
		t.Errorf("got summary %.80q", out.Summary)
	}
	if logs := r.Texts(supervise.EventLog); len(logs) != 1 || !strings.Contains(logs[0], supervise.OverflowName) {
		t.Errorf("got notes %q", logs)
	}
	overflow, err := os.ReadFile(filepath.Join(spec.Dir, supervise.OverflowName))
	if lines := r.Lines() + bytes.Count(overflow, []byte("\n")); err != nil || lines != 50000000/80 {
		t.Errorf("got %d lines in total, %v", lines, err)
	}
}

func TestALineOfManyMegabytes(t *testing.T) {
	for _, begin := range []string{"y", "{"} {
		t.Run("a line that begins with "+begin+" neither fills memory nor is lost", func(t *testing.T) {
			spec, size := runnertest.NewSpec(t), 64<<20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, r := runnertest.Run(t, play("line", "67108864", begin), spec)
			runtime.ReadMemStats(&after)
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			runnertest.CheckEvents(t, r)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
				t.Errorf("allocated %d bytes", grown)
			}
			texts := r.Texts(supervise.EventText)
			head, note, _ := strings.Cut(texts[0], "\n")
			if len(texts) != 2 || texts[1] != "the end" || !strings.Contains(note, supervise.OverflowName) {
				t.Errorf("got %d texts, note %q", len(texts), note)
			}
			info, err := os.Stat(filepath.Join(spec.Dir, supervise.OverflowName))
			if err != nil || int64(len(head))+info.Size() != int64(size+2) { // the first byte and the newline
				t.Errorf("got head %d, file %v, %v", len(head), info.Size(), err)
			}
		})
	}
}

func TestAProgramCannotReplaceTheOverflowFile(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	for name, plant := range map[string]string{
		"a pipe, which would block":     `mkfifo ../output.log`,
		"a pipe that the program reads": `mkfifo ../output.log; sleep 600 <>../output.log &`,
		"a link to a file outside":      `ln -s ` + outside + ` ../output.log`,
		"a hard link":                   `ln ` + outside + ` ../output.log`,
	} {
		t.Run(name, func(t *testing.T) {
			testkit.NoError(t, os.WriteFile(outside, []byte("kept"), 0o600))
			out, r := runnertest.Run(t, sh(plant+"\n"+`head -c 200000 /dev/zero | tr '\0' x`), runnertest.NewSpec(t))
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if note := strings.Join(r.Texts(supervise.EventLog), "\n"); !strings.Contains(note, "could not be written") {
				t.Errorf("got the note %q", note)
			}
			if b, err := os.ReadFile(outside); string(b) != "kept" {
				t.Errorf("the other file has %d bytes, %v", len(b), err)
			}
		})
	}
}

func TestOutputThatIsNotText(t *testing.T) {
	t.Parallel()
	out, r := runnertest.Run(t, sh(`printf 'a\377b\000c \303\n'; printf '{"type":"log","text":"x\\u0000y","data":{"k":"\\u0000"}}\n'; printf '\342\202\254\n'`), runnertest.NewSpec(t))
	runnertest.CheckEvents(t, r)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if got, want := r.Texts(supervise.EventText), []string{"a\uFFFDb\uFFFDc \uFFFD", "€"}; !slices.Equal(got, want) {
		t.Errorf("got text %q", got)
	}
	if got := r.Texts(supervise.EventLog); !slices.Equal(got, []string{"x\uFFFDy"}) {
		t.Errorf("got log %q", got)
	}
}

func TestAPartialLineIsEmittedDuringAPause(t *testing.T) {
	t.Parallel()
	ctx, r := runnertest.CancelAt(t, "50 %", supervise.ErrCanceled)
	out := runnertest.RunWith(t, ctx, sh(`printf '50 %%'; sleep 600`), runnertest.NewSpec(t), r)
	runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "")
	if e := r.Events[0]; string(e.Data) != `{"partial":true}` {
		t.Errorf("got event %+v", e)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	spec.Secrets = []string{"", `qu"ote/secret`, "line one\nline two"}
	out, r := runnertest.Run(t, sh(`
echo "token $TASKYARD_TOKEN!"
echo "token $TASKYARD_TOKEN" >&2
printf 'ty_token-of-'; sleep 0.6; echo 'this-run in two parts'
printf 'line one\nline two\n'
echo '{"type":"tool_call","text":"use qu\"ote/secret","data":{"qu\"ote\/secret":["qu\u0022ote/secret"]}}'
echo '{"summary":"it is qu\"ote/secret","success":true,"artifacts":["ty_token-of-this-run"]}'`), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	all, err := json.Marshal([]any{r.Events, out})
	for _, secret := range []string{"token-of", "ote/secret", "line two"} {
		if err != nil || bytes.Contains(all, []byte(secret)) {
			t.Errorf("%q is in %s, %v", secret, all, err)
		}
	}
	if out.Summary != "it is [redacted]" || !slices.Contains(r.Texts(supervise.EventText), "token [redacted]!") ||
		!slices.Contains(r.Texts(supervise.EventText), "[redacted] in two parts") {
		t.Errorf("got summary %q, text %q", out.Summary, r.Texts(supervise.EventText))
	}
}

func TestASecretIsRedactedWhereverTheStreamIsSplit(t *testing.T) {
	t.Parallel()
	const text = "a key-one b key-one-long c key- d"
	for cut := range len(text) {
		r := task.NewRedactor("key-one", "key-one-long")
		got := string(r.Write([]byte(text[:cut])))
		got += string(r.Write([]byte(text[cut:])))
		got += string(r.Close())
		if want := "a [redacted] b [redacted] c key- d"; got != want {
			t.Errorf("split at %d: got %q", cut, got)
		}
	}
}
