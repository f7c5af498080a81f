//go:build linux

package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"taskyard/task"
)

func checkEvents(t *testing.T, r *recorder) {
	t.Helper()
	if r.bytes > maxRun {
		t.Errorf("the sink got %d bytes", r.bytes)
	}
	for _, e := range r.events {
		if len(e.Text)+len(e.Data) > maxEvent || !utf8.ValidString(e.Text) ||
			strings.ContainsRune(e.Text, 0) || len(e.Data) > 0 && !json.Valid(e.Data) {
			t.Fatalf("bad %s event of %d bytes, data %.80s", e.Type, len(e.Text), e.Data)
		}
	}
}

func TestFloodGoesToAFile(t *testing.T) {
	t.Parallel()
	spec := newSpec(t)
	out, r := run(t, play("lines", "50000000"), spec)
	wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	checkEvents(t, r)
	if out.Summary != "all said" {
		t.Errorf("summary %.80q", out.Summary)
	}
	if logs := r.texts(EventLog); len(logs) != 1 || !strings.Contains(logs[0], overflowName) {
		t.Errorf("notes %q", logs)
	}
	rest, err := os.ReadFile(filepath.Join(spec.Dir, overflowName))
	if lines := r.lines() + bytes.Count(rest, []byte("\n")); err != nil || lines != 50000000/80 {
		t.Errorf("%d lines in all, %v", lines, err)
	}
}

func TestLineOfManyMegabytes(t *testing.T) {
	for _, begin := range []string{"y", "{"} {
		t.Run("a line that begins with "+begin+" neither fills memory nor is lost", func(t *testing.T) {
			spec, size := newSpec(t), 64<<20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, r := run(t, play("line", "67108864", begin), spec)
			runtime.ReadMemStats(&after)
			wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			checkEvents(t, r)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
				t.Errorf("allocated %d bytes", grown)
			}
			texts := r.texts(EventText)
			head, note, _ := strings.Cut(texts[0], "\n")
			if len(texts) != 2 || texts[1] != "the end" || !strings.Contains(note, overflowName) {
				t.Errorf("%d texts, note %q", len(texts), note)
			}
			info, err := os.Stat(filepath.Join(spec.Dir, overflowName))
			if err != nil || int64(len(head))+info.Size() != int64(size+2) { // the first byte and the line end
				t.Errorf("head %d, file %v, %v", len(head), info.Size(), err)
			}
		})
	}
}

// A line whose beginning is given out while the program pauses is one line of
// the file as well.
func TestALineGivenOutInPartsIsOneLineOfTheFile(t *testing.T) {
	t.Parallel()
	p := &transcript{out: &emitter{sink: &recorder{}, dir: t.TempDir(), over: true}}
	for _, part := range []struct {
		kind lineKind
		text string
	}{{partialLine, "the begin"}, {wholeLine, "ning"}, {longLine, "a long "}, {longRest, "line"}, {longEnd, ""}, {wholeLine, "the end"}} {
		if part.kind == longRest || part.kind == longEnd {
			p.rest(part.kind, []byte(part.text))
			continue
		}
		p.line(EventText, part.kind, []byte(part.text))
	}
	p.out.Close()
	if got, err := os.ReadFile(filepath.Join(p.out.dir, overflowName)); err != nil || string(got) != "the beginning\na long line\nthe end\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestOverflowFileIsCapped(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	e := &emitter{sink: r, dir: t.TempDir(), written: maxOverflow - 5}
	e.Overflow([]byte("12345678"))
	e.Close()
	b, err := os.ReadFile(filepath.Join(e.dir, overflowName))
	if string(b) != "12345" || err != nil || len(r.events) != 1 || !strings.HasPrefix(r.events[0].Text, "3 bytes of output were discarded") {
		t.Errorf("%q %v %v", b, err, r.events)
	}
}

func TestAProgramCannotPutSomethingElseInThePlaceOfTheOverflowFile(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	for name, plant := range map[string]string{
		"a pipe, which would be waited for": `mkfifo ../output.log`,
		"a pipe that it reads":              `mkfifo ../output.log; sleep 600 <>../output.log &`,
		"a link to what is not its own":     `ln -s ` + outside + ` ../output.log`,
		"a second name of it":               `ln ` + outside + ` ../output.log`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}
			out, r := run(t, sh(plant+"\n"+`head -c 200000 /dev/zero | tr '\0' x`), newSpec(t))
			wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if note := strings.Join(r.texts(EventLog), "\n"); !strings.Contains(note, "could not be written") {
				t.Errorf("it is told %q", note)
			}
			if b, err := os.ReadFile(outside); string(b) != "kept" {
				t.Errorf("the other file holds %d bytes, %v", len(b), err)
			}
		})
	}
}

func TestOutputThatIsNoText(t *testing.T) {
	t.Parallel()
	out, r := run(t, sh(`printf 'a\377b\000c \303\n'; printf '{"type":"log","text":"x\\u0000y","data":{"k":"\\u0000"}}\n'; printf '\342\202\254\n'`), newSpec(t))
	checkEvents(t, r)
	wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if got, want := r.texts(EventText), []string{"a\uFFFDb\uFFFDc \uFFFD", "€"}; !slices.Equal(got, want) {
		t.Errorf("text %q", got)
	}
	if got := r.texts(EventLog); !slices.Equal(got, []string{"x\uFFFDy"}) {
		t.Errorf("log %q", got)
	}
}

func TestTypedEvents(t *testing.T) {
	t.Parallel()
	out, r := run(t, sh(`cat <<'END'
{"type":"tool_call","text":"read a","data":{"path":"a"}}
{"type":"tool_result","text":"10 lines"}
{"type":"tool_call","text":"read b"}
{"type":"usage","data":{"tokensIn":10,"tokensOut":5,"costUsd":0.25}}
{"type":"usage","data":{"tokensIn":1,"tokensOut":-5}}
{"type":"text","text":"looks good"}
{"type":"strange","text":"not an event"}
END
echo oops >&2`), newSpec(t))
	wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if want := (task.Usage{ToolCalls: 2, TokensIn: 11, TokensOut: 5, CostUSD: 0.25}); out.Usage != want {
		t.Errorf("usage %+v", out.Usage)
	}
	if out.Summary != "looks good\n"+`{"type":"strange","text":"not an event"}` {
		t.Errorf("summary %q", out.Summary)
	}
	if e := r.events[slices.IndexFunc(r.events, func(e Event) bool { return e.Type == EventToolCall })]; e.Text != "read a" ||
		string(e.Data) != `{"path":"a"}` {
		t.Errorf("event %+v", e)
	}
	if got := r.texts(EventLog); !slices.Equal(got, []string{"oops"}) {
		t.Errorf("log %q", got)
	}
}

func TestLargeTypedEventIsCutHonestly(t *testing.T) {
	t.Parallel()
	spec := newSpec(t)
	_, r := run(t, sh(`x=$(head -c 100000 /dev/zero | tr '\0' x); printf '{"type":"tool_result","text":"%s","data":"%s"}\n' "$x" "$x"`), spec)
	checkEvents(t, r)
	if len(r.events) != 1 || !strings.Contains(r.events[0].Text, overflowName) || string(r.events[0].Data) != `{"cut":true,"bytes":100002}` {
		t.Errorf("%d events, data %.80s", len(r.events), r.events[0].Data)
	}
	if info, err := os.Stat(filepath.Join(spec.Dir, overflowName)); err != nil || info.Size() < 200000 {
		t.Errorf("file %v %v", info, err)
	}
}

func TestBeginningOfALineComesWhenItIsQuiet(t *testing.T) {
	t.Parallel()
	ctx, r := cancelAt(t, "50 %", ErrCanceled)
	out := runWith(t, ctx, sh(`printf '50 %%'; sleep 600`), newSpec(t), r)
	wantState(t, out, task.RunCanceled, task.PhaseBy, "")
	if e := r.events[0]; string(e.Data) != `{"partial":true}` {
		t.Errorf("event %+v", e)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	spec := newSpec(t)
	spec.Secrets = []string{"", `qu"ote/secret`, "line one\nline two"}
	out, r := run(t, sh(`
echo "token $TASKYARD_TOKEN!"
echo "token $TASKYARD_TOKEN" >&2
printf 'ty_token-of-'; sleep 0.6; echo 'this-run in two parts'
printf 'line one\nline two\n'
echo '{"type":"tool_call","text":"use qu\"ote/secret","data":{"qu\"ote\/secret":["qu\u0022ote/secret"]}}'
echo '{"summary":"it is qu\"ote/secret","success":true,"artifacts":["ty_token-of-this-run"]}'`), spec)
	wantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	all, err := json.Marshal([]any{r.events, out})
	for _, secret := range []string{"token-of", "ote/secret", "line two"} {
		if err != nil || bytes.Contains(all, []byte(secret)) {
			t.Errorf("%q is in %s, %v", secret, all, err)
		}
	}
	if out.Summary != "it is [redacted]" || !slices.Contains(r.texts(EventText), "token [redacted]!") ||
		!slices.Contains(r.texts(EventText), "[redacted] in two parts") {
		t.Errorf("summary %q, text %q", out.Summary, r.texts(EventText))
	}
}

func TestSecretIsRedactedWhereverTheStreamIsCut(t *testing.T) {
	t.Parallel()
	const text = "a key-one b key-one-long c key- d"
	for cut := range len(text) {
		r := task.NewRedactor("key-one", "key-one-long")
		got := string(r.Write([]byte(text[:cut])))
		got += string(r.Write([]byte(text[cut:])))
		got += string(r.Close())
		if want := "a [redacted] b [redacted] c key- d"; got != want {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
}
