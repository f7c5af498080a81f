package views

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestAbilityText(t *testing.T) {
	tests := []struct {
		name  string
		tools []string
		agent *task.Agent
		want  string
	}{
		{
			"an agent with read only reads",
			[]string{"read", "grep"},
			nil,
			"This run may only read what is in its workspace. It may not execute shell " +
				"commands, write files, read web pages or create further tasks.",
		},
		{
			"a shell comes first and its network is stated",
			[]string{"read", "bash", "create"},
			&task.Agent{},
			"This run may execute shell commands in its workspace and write files. Its shell has no network. It may not create further tasks.",
		},
		{
			"a shell with network access",
			[]string{"bash"},
			&task.Agent{Network: true},
			"This run may execute shell commands in its workspace and write files. Its shell " +
				"may reach the network. It may not create further tasks.",
		},
		{
			"a shell alone does not rule out web pages",
			[]string{"bash"},
			nil,
			"This run may execute shell commands in its workspace and write files. It may not create further tasks.",
		},
		{
			"fetch reads web pages",
			[]string{"fetch"},
			nil,
			"This run may read web pages. It may not execute shell commands, write files or create further tasks.",
		},
		{
			"an unknown tool counts as the most dangerous",
			[]string{"launch"},
			nil,
			"This run may execute shell commands in its workspace and write files. It may not create further tasks.",
		},
		{
			"delegation is mentioned",
			[]string{"edit", "task"},
			nil,
			"This run may write files in its workspace and create further tasks. It may not execute shell commands or read web pages.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := abilityFromSpec(task.Spec{Tools: tt.tools}, tt.agent)
			if got := a.Bold + a.Rest; got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestToolChipsAreSortedByRisk(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range toolChips([]string{"bash", "launch", "create", "read"}) {
		if !c.Granted {
			c.Name = "-" + c.Name
		}
		names = append(names, c.Name)
	}
	if got, want := strings.Join(names, " "), "read create bash launch -list -glob -grep -fetch -edit -task"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRunStrip(t *testing.T) {
	t.Parallel()
	at := task.Time(1_795_185_082_000)
	run := func(s task.RunStatus, d time.Duration) task.Run {
		return task.Run{Status: s, StartedAt: at.Add(-d), EndedAt: at}
	}
	runs := []task.Run{run(task.RunCompleted, time.Minute), run(task.RunFailed, 2*time.Minute), run(task.RunCompleted, 192*time.Second)}
	t.Run("the oldest run comes first and the longest is highest", func(t *testing.T) {
		bars := stripBars(runs, at)
		if len(bars) != 3 || bars[0].H != stripHeight-2 || bars[1].Class != "fill-bad" || bars[2].H >= bars[1].H || bars[2].X <= bars[0].X {
			t.Errorf("got bars %+v", bars)
		}
	})
	t.Run("the strip has a text alternative", func(t *testing.T) {
		if got, want := stripText(runs, at), "2 ok, 1 failed, median 2m 00s"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := stripText(nil, at); got != "no runs yet" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("the number of bars is bounded", func(t *testing.T) {
		if n := len(stripBars(make([]task.Run, 40), at)); n != stripRuns {
			t.Errorf("got %d bars", n)
		}
	})
}

func TestTranscriptEntries(t *testing.T) {
	t.Parallel()
	msg := func(id task.ID, typ string) task.TranscriptLine {
		return task.TranscriptLine{Message: task.Message{ID: id, Type: typ}}
	}
	t.Run("a result joins the call directly before it", func(t *testing.T) {
		list := entriesFromLines([]task.TranscriptLine{msg(1, "text"), msg(2, "tool_call"), msg(3, "tool_result"), msg(4, "tool_call")})
		if len(list) != 3 || list[1].Result == nil || list[1].lastID() != 3 || list[2].Result != nil || list[2].lastID() != 4 {
			t.Errorf("got entries %+v", list)
		}
	})
	t.Run("a result without a call is a separate entry", func(t *testing.T) {
		if list := entriesFromLines([]task.TranscriptLine{msg(3, "tool_result")}); len(list) != 1 || list[0].Msg.ID != 3 {
			t.Errorf("got entries %+v", list)
		}
	})
	t.Run("each item names its last message", func(t *testing.T) {
		var b strings.Builder
		if err := TranscriptItems(TranscriptView{}, []task.TranscriptLine{
			msg(2, "tool_call"),
			msg(3, "tool_result"),
		}).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`<li id="m2"`, `data-last="3"`, `<div id="m3">`} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s is missing in %s", want, b.String())
			}
		}
	})
}

func TestReadToolCall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content, data string
		want                toolCall
	}{
		{"arguments as an object", "", `{"tool":"read","args":{"path":"a.go"}}`, toolCall{"read", "a.go", "{\n  \"path\": \"a.go\"\n}", false}},
		{
			"arguments as a JSON string", "", `{"name":"bash","arguments":"{\"command\":\"ls\\nrm\"}"}`,
			toolCall{"bash", "ls", "{\n  \"command\": \"ls\\nrm\"\n}", false},
		},
		{"arguments that are not JSON", "", `{"name":"x","input":"plain words"}`, toolCall{"x", "plain words", "plain words", false}},
		{"a refusal", "", `{"tool":"fetch","isError":true}`, toolCall{"fetch", "", "", true}},
		{"no data", "grep\nfoo", ``, toolCall{"grep", "", "", false}},
		{"invalid data", "grep", `{"tool":`, toolCall{"grep", "", "", false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := readToolCall(task.Message{Content: tt.content, Data: json.RawMessage(tt.data)}); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestHistoryByDay(t *testing.T) {
	t.Parallel()
	at := func(s string) task.Time {
		when, err := time.Parse(time.RFC3339, s)
		testkit.NoError(t, err)
		return task.TimeFromStd(when)
	}
	m := HistoryModel{Zone: time.FixedZone("east", 3600), Tasks: []task.Task{
		{Status: task.Done, ArchivedAt: at("2026-11-20T10:00:00Z")},
		{Status: task.Canceled, ArchivedAt: at("2026-11-19T23:30:00Z")},
		{Status: task.Done, ArchivedAt: at("2026-11-19T22:30:00Z")},
		{Status: task.Done, ArchivedAt: at("2025-12-31T12:00:00Z")},
	}}
	t.Run("days follow the person's time zone", func(t *testing.T) {
		var got []string
		for _, d := range m.days(at("2026-11-20T12:00:00Z")) {
			got = append(got, d.Label+": "+d.counts())
		}
		if want := "Today, 20 November: 1 done, 1 canceled|Yesterday, 19 November: 1 done|Wednesday, " +
			"31 December 2025: 1 done"; strings.Join(got, "|") != want {
			t.Errorf("got %s", strings.Join(got, "|"))
		}
	})
	t.Run("a chip removes its own filter and keeps the others", func(t *testing.T) {
		chips := HistoryQuery{Query: "a b", Agent: "coder", Before: "9"}.chips()
		if len(chips) != 2 || chips[0].Without != "/history?agent=coder" || chips[1].Without != "/history?q=a+b" {
			t.Errorf("got chips %+v", chips)
		}
	})
}

func TestLimitBarsShowLimitedUsage(t *testing.T) {
	t.Parallel()
	at := task.Time(1_795_185_082_000)
	r := task.Run{
		StartedAt: at.Add(-5 * time.Minute), EndedAt: at, Usage: task.Usage{TokensIn: 900, TokensOut: 300},
		Limits: task.Limits{TimeoutSeconds: 900, MaxTokens: 1000},
	}
	r.Limits.MaxTurns, r.Usage.Estimated = 8, true
	bars := limitBars(&r, 7, at)
	if len(bars) != 3 || bars[0].Hot || !bars[1].Hot || bars[1].Value != bars[1].Full || bars[1].Used != "≈ 1.2k" ||
		bars[2].Name != "Turns" || bars[2].Used != "7" || !bars[2].Hot {
		t.Errorf("got bars %+v", bars)
	}
}

func TestCodeLinesMarkFindings(t *testing.T) {
	t.Parallel()
	lines := codeLines("a\r\nb\nc\n", []task.Problem{{Line: 2}, {Line: 2, Fatal: true}, {Line: 3}, {Line: 0, Fatal: true}})
	if len(lines) != 3 || lines[0] != (codeLine{1, "a", ""}) || lines[1].Mark != "bad" || lines[2].Mark != "warn" {
		t.Errorf("got lines %+v", lines)
	}
}

func TestDelegationText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ changes, want string }{
		"a step":                    {`{"step":1,"subtask":"43","owner":"worker"}`, "delegated step 2 to worker as #43"},
		"a part that is not a step": {`{"subtask":"43","owner":"worker"}`, "delegated a part to worker as #43"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := EventSentence(&task.Event{Kind: task.EvSubtaskCreated, Changes: json.RawMessage(c.changes)}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestARetryNamesWhoOrWhatAskedForIt(t *testing.T) {
	t.Parallel()
	retry := task.Run{Cause: task.CauseRetry, RetryOf: 7}
	for by, want := range map[string]string{
		"user:maya": "as a retry, asked by maya", task.System: "automatically because run 7 failed",
	} {
		retry.AskedBy = by
		if got := startedText(&retry); got != want {
			t.Errorf("requested by %s: got %q, want %q", by, got, want)
		}
	}
}
