package task_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taskyard/task"
)

// marked writes spans with brackets around what matched.
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

func TestWordsOfASearchAreMarked(t *testing.T) {
	for name, c := range map[string]struct{ q, text, want string }{
		"a word":                          {"limit", "The limit of it", "The [limit] of it"},
		"in either case":                  {"LIMIT", "Limit, limit", "[Limit], [limit]"},
		"with accents or without":         {"munchen cafe", "München: Café", "[München]: [Café]"},
		"with separate accents":           {"cafe", "cafe\u0301", "[cafe\u0301]"},
		"the last as a beginning":         {"rate lim", "rate limiter", "[rate] [limiter]"},
		"but not the others":              {"lim rate", "limiter rate", "limiter [rate]"},
		"not within a word":               {"imit", "limit", "limit"},
		"any word on its own":             {"pisa tower", "the tower leans", "the [tower] leans"},
		"words separated by signs":        {"api.go", "internal/api.go:41", "internal/[api].[go]:41"},
		"nothing for a search of no word": {"--", "a -- b", "a -- b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := marked(task.NewMatcher(c.q).Mark(c.text)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestExcerptsShowWhereMostWordsStand(t *testing.T) {
	text := strings.Repeat("one limit here. ", 40) + "The rate\n\n\tlimit is 60." + strings.Repeat(" And so on.", 40)
	list, words := task.NewMatcher("rate limit").Excerpt(text, 80)
	if got := marked(list); words != 2 || !strings.Contains(got, "The [rate] [limit] is 60.") ||
		!strings.HasPrefix(got, "… ") || !strings.HasSuffix(got, " …") {
		t.Errorf("%d words in %q", words, got)
	}
	if list, words := task.NewMatcher("nowhere").Excerpt(text, 80); len(list) != 0 || words != 0 {
		t.Errorf("%d words in %v", words, list)
	}
}

func TestExcerptsOfAnyTextAreShortAndWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text, q := rapid.String().Draw(rt, "text"), rapid.String().Draw(rt, "query")
		m := task.NewMatcher(q + " a")
		var b strings.Builder
		for _, s := range m.Mark(text) {
			b.WriteString(s.Text)
		}
		if b.String() != text {
			rt.Fatalf("marking %q changed it to %q", text, b.String())
		}
		list, _ := m.Excerpt(strings.Repeat(text, 20)+" a", 60)
		n := 0
		for _, s := range list {
			n += len(s.Text)
		}
		if n > 60+80+400+20 {
			rt.Fatalf("%d bytes in %v", n, list)
		}
	})
}

func TestATextFitsASearchWithAllOfItsWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q, text string
		want    bool
	}{
		{"restore backup", "A backup, and far behind it how to restore one", true},
		{"restore back", "restoring needs a backup", false}, // only the last word may be a beginning
		{"restore", "A backup", false},
		{"", "anything", false},
	} {
		if got := task.NewMatcher(c.q).Fits(c.text); got != c.want {
			t.Errorf("%q in %q: %v", c.q, c.text, got)
		}
	}
}
