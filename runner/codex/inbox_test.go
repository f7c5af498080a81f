//go:build linux

package codex

import (
	"slices"
	"strings"
	"testing"

	"taskyard/runner/runnertest"
	"taskyard/task"
)

// thread is a script of a Codex whose conversation can be resumed: its message
// contains its arguments and input.
const thread = `in=$(cat | tr '\n' ' '); mkdir -p "$CODEX_HOME/sessions/a/b/c"
f="$CODEX_HOME/sessions/a/b/c/rollout-x-11111111-2222.jsonl"; was=new; [ -f "$f" ] && was=kept; echo {} > "$f"
echo '{"type":"thread.started","thread_id":"11111111-2222"}'
echo "{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"$was $(echo "$*" | grep -o 'resume [0-9-]*'): $in\"}}"
echo '` + codexEnd + `'`

func TestAMessageIsTheNextPromptOfTheThread(t *testing.T) {
	t.Parallel()
	in := runnertest.NewInbox("use tabs")
	spec := runnertest.NewSpec(t)
	spec.Inbox, spec.Plan.Limits.MaxTokens = in.Spec(), 10_000
	spec.Plan.Tools = []string{"read"}
	out, rec := runnertest.Run(t, codexSays(thread), spec)
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	said := rec.Texts("text")
	if len(said) != 2 || !strings.HasPrefix(said[0], "new : You are terse.") ||
		said[1] != "kept resume 11111111-2222: Message from Ann, a person who follows this run:  use tabs " {
		t.Errorf("got the messages %q", said)
	}
	if out.Usage.TokensIn != 400 || !slices.Equal(in.Delivered(), []string{"use tabs"}) {
		t.Errorf("got usage %+v, delivered %q", out.Usage, in.Delivered())
	}
	t.Run("within the remaining limits", func(t *testing.T) {
		t.Parallel()
		in := runnertest.NewInbox("use tabs")
		spec := runnertest.NewSpec(t)
		spec.Inbox, spec.Plan.Limits.MaxTokens = in.Spec(), 300
		spec.Plan.Tools = []string{"read"}
		out, _ := runnertest.Run(t, codexSays(thread), spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseTokens, "of at most 86")
	})
}
