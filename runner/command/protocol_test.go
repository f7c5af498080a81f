//go:build linux

package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

func TestTypedEvents(t *testing.T) {
	t.Parallel()
	out, r := runnertest.Run(t, sh(`cat <<'END'
{"type":"tool_call","text":"read a","data":{"path":"a"}}
{"type":"tool_result","text":"10 lines"}
{"type":"tool_call","text":"read b"}
{"type":"usage","data":{"tokensIn":10,"tokensOut":5,"costUsd":0.25}}
{"type":"usage","data":{"tokensIn":1,"tokensOut":-5}}
{"type":"text","text":"looks good"}
{"type":"strange","text":"not an event"}
END
echo oops >&2`), runnertest.NewSpec(t))
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if want := (task.Usage{ToolCalls: 2, TokensIn: 11, TokensOut: 5, CostUSD: 0.25}); out.Usage != want {
		t.Errorf("got usage %+v", out.Usage)
	}
	if out.Summary != "looks good\n"+`{"type":"strange","text":"not an event"}` {
		t.Errorf("got summary %q", out.Summary)
	}
	first := slices.IndexFunc(r.Events, func(e supervise.Event) bool { return e.Type == supervise.EventToolCall })
	if e := r.Events[first]; e.Text != "read a" ||
		string(e.Data) != `{"path":"a"}` {
		t.Errorf("got event %+v", e)
	}
	if got := r.Texts(supervise.EventLog); !slices.Equal(got, []string{"oops"}) {
		t.Errorf("got log %q", got)
	}
}

func TestALargeTypedEventIsCutAndMarked(t *testing.T) {
	t.Parallel()
	spec := runnertest.NewSpec(t)
	_, r := runnertest.Run(t, sh(`x=$(head -c 100000 /dev/zero | tr '\0' x); printf '{"type":"tool_result","text":"%s","data":"%s"}\n' "$x" "$x"`), spec)
	runnertest.CheckEvents(t, r)
	if len(r.Events) != 1 || !strings.Contains(r.Events[0].Text, "output.log") || string(r.Events[0].Data) != `{"cut":true,"bytes":100002}` {
		t.Errorf("got %d events, data %.80s", len(r.Events), r.Events[0].Data)
	}
	if info, err := os.Stat(filepath.Join(spec.Dir, "output.log")); err != nil || info.Size() < 200000 {
		t.Errorf("got file %v, %v", info, err)
	}
}
