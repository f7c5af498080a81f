package task_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taskyard/task"
)

// marked returns the text of spans with brackets around the matches.
func marked(list []task.Span) string {
	var b strings.Builder
	for _, s := range list {
		if s.Match {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestSearchWordsAreHighlighted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ q, text, want string }{
		"a word":                             {"limit", "The limit of it", "The [limit] of it"},
		"in upper or lower case":             {"LIMIT", "Limit, limit", "[Limit], [limit]"},
		"with or without accents":            {"munchen cafe", "München: Café", "[München]: [Café]"},
		"with combining accents":             {"cafe", "cafe\u0301", "[cafe\u0301]"},
		"the last word as a prefix":          {"rate lim", "rate limiter", "[rate] [limiter]"},
		"other words not as prefixes":        {"lim rate", "limiter rate", "limiter [rate]"},
		"not within a word":                  {"imit", "limit", "limit"},
		"each word on its own":               {"pisa tower", "the tower leans", "the [tower] leans"},
		"words separated by punctuation":     {"api.go", "internal/api.go:41", "internal/[api].[go]:41"},
		"nothing for a search without words": {"--", "a -- b", "a -- b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := marked(task.NewMatcher(c.q).Mark(c.text)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestExcerptsShowWhereMostWordsMatch(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("one limit here. ", 40) + "The rate\n\n\tlimit is 60." + strings.Repeat(" And so on.", 40)
	list, words := task.NewMatcher("rate limit").Excerpt(text, 80)
	if got := marked(list); words != 2 || !strings.Contains(got, "The [rate] [limit] is 60.") ||
		!strings.HasPrefix(got, "… ") || !strings.HasSuffix(got, " …") {
		t.Errorf("got %d words in %q, want 2", words, got)
	}
	if list, words := task.NewMatcher("nowhere").Excerpt(text, 80); len(list) != 0 || words != 0 {
		t.Errorf("got %d words in %v, want none", words, list)
	}
}

func TestExcerptsAreShortAndLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text, q := rapid.String().Draw(rt, "text"), rapid.String().Draw(rt, "query")
		m := task.NewMatcher(q + " a")
		var b strings.Builder
		for _, s := range m.Mark(text) {
			b.WriteString(s.Text)
		}
		if b.String() != text {
			rt.Fatalf("highlighting %q changed it to %q", text, b.String())
		}
		list, _ := m.Excerpt(strings.Repeat(text, 20)+" a", 60)
		n := 0
		for _, s := range list {
			n += len(s.Text)
		}
		if n > 60+80+400+20 {
			rt.Fatalf("got %d bytes in %v", n, list)
		}
	})
}

func TestATextMatchesASearchWithAllItsWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q, text string
		want    bool
	}{
		{"restore backup", "A backup, and far behind it how to restore one", true},
		{"restore back", "restoring needs a backup", false}, // only the last word may be a prefix
		{"restore", "A backup", false},
		{"", "anything", false},
	} {
		if got := task.NewMatcher(c.q).Fits(c.text); got != c.want {
			t.Errorf("%q in %q: got %v, want %v", c.q, c.text, got, c.want)
		}
	}
}
