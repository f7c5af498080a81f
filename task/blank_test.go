package task

import (
	"strings"
	"testing"
)

func TestInvisibleTextIsBlank(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		blank bool
	}{
		"spaces":                 {" \t ", true},
		"a no-break space":       {"\u00a0", true},
		"characters of no width": {"\u200b\u200d\ufeff", true},
		"direction marks":        {"\u202e\u202e", true},
		"a letter among them":    {"\u202ea", false},
		"an emoji":               {"👩‍👩‍👧‍👦", false},
		"a sign":                 {"-", false},
	} {
		t.Run(name, func(t *testing.T) {
			var p Problems
			p.CheckLine("title", c.text, MaxTitle)
			p.CheckComment("comment", c.text)
			if got := p.Err() != nil; got != c.blank {
				t.Errorf("%q: got blank %v, want %v", c.text, got, c.blank)
			}
		})
	}
}

// TestLineLengthIsMeasuredInCharacters also covers lines far over the limit, which used to
// be cut at 4 bytes per character.
func TestLineLengthIsMeasuredInCharacters(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		60:  "",
		239: "title: must be 1 to 60 characters, not 239",
		241: "title: must be 1 to 60 characters, not 241",
	} {
		var p Problems
		p.CheckLine("title", strings.Repeat("x", n), MaxStepTitle)
		got := ""
		if err := p.Err(); err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) || want == "" && got != "" {
			t.Errorf("%d characters: got %q, want %q", n, got, want)
		}
	}
}
