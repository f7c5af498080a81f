package views

import "testing"

func TestASummaryInAListHasNoMarkdown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A **token bucket** for each caller.":                                  "A token bucket for each caller.",
		"## Summary\n\n- [x] Fixed `limit.go`, see [the run](/runs/7).\nMore.": "Fixed limit.go, see the run.",
		"# Done\n":                       "Done",
		"---\n\n> **`x` works** now":     "x works now",
		"Matches `src/**/a` and `**/b`":  "Matches src/**/a and **/b",
		"2 * 3 * 4 and snake_case_names": "2 * 3 * 4 and snake_case_names",
		"#12 is done\nand #13 not":       "#12 is done",
		"```\ncode\n```":                 "code",
		"":                               "",
	} {
		if got := summaryLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
