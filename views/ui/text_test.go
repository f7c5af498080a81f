package ui

import (
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func TestDurationText(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		4200 * time.Millisecond: {"4s", "4.2s"}, 42 * time.Second: {"42s", "42s"}, 372 * time.Second: {"6m", "6m 12s"},
		3*time.Hour + 5*time.Minute: {"3h", "3h 05m"}, 52 * time.Hour: {"2d", "2d 4h"}, -time.Second: {"0s", "0.0s"},
	} {
		if got := [2]string{Short(d), Dur(d)}; got != want {
			t.Errorf("%v: got %v, want %v", d, got, want)
		}
	}
	now := task.Time(1_795_185_082_000)
	if got := Ago(now.Add(5*time.Minute), now); got != "in 5m" {
		t.Errorf("future: got %s", got)
	}
	if got := Tokens(48_100) + " " + Tokens(999) + " " + Tokens(2_000_000); got != "48.1k 999 2M" {
		t.Errorf("tokens: got %s", got)
	}
}

func TestTextBetweenBackticksIsCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"it says `runner: none`": "it says <code>runner: none</code>",
		"`a` & `<b>`, no `code":  "<code>a</code> &amp; <code>&lt;b&gt;</code>, no `code",
		"nothing <i>of it</i>":   "nothing &lt;i&gt;of it&lt;/i&gt;",
	} {
		var b strings.Builder
		if err := WithCode(text).Render(t.Context(), &b); err != nil || b.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, b.String(), err, want)
		}
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		LimitSpan(0): "none", LimitSpan(900): "15m", LimitSpan(7200): "2h", LimitSpan(90): "90s", LimitSpan(150): "2m 30s",
		Money(0.0042): "$0.0042", Money(4.5): "$4.50",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
