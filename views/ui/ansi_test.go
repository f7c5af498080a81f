package ui

import (
	"strings"
	"testing"
)

func ansi(s string) string {
	var b strings.Builder
	_ = writeANSI(&b, s, WriteVisible) // a builder never fails
	return string(MarkHidden([]byte(b.String())))
}

func TestAnsiColors(t *testing.T) {
	t.Parallel()
	const esc = "\x1b["
	for _, tt := range []struct{ name, in, want string }{
		{"plain text is unchanged", "a <b> c", "a &lt;b&gt; c"},
		{"a color ends with a reset", esc + "32mok" + esc + "0m done", `<span class="fg-2">ok</span> done`},
		{"an empty sequence is a reset", esc + "1;31mbad" + esc + "mok", `<span class="fg-1 term-bold">bad</span>ok`},
		{"bright colors look like normal ones", esc + "91mx", `<span class="fg-1">x</span>`},
		{"a background determines the text color", esc + "31;42mx", `<span class="bg-2">x</span>`},
		{"256 colors become the nearest of sixteen", esc + "38;5;196mx", `<span class="fg-1">x</span>`},
		{"24-bit colors too", esc + "38;2;0;120;0mx", `<span class="fg-2">x</span>`},
		{"colons separate numbers too", esc + "38:5:4mx", `<span class="fg-4">x</span>`},
		{"styles end one by one", esc + "1;3mx" + esc + "22my", `<span class="term-bold term-italic">x</span><span class="term-italic">y</span>`},
		{"erasing to the end of a line is ignored", "a" + esc + "Kb", "ab"},
		{"an overwritten line is a separate line", "10%\r20%\r\nend", "10%\n20%\nend"},
		{
			"other sequences are made visible", "a" + esc + "2Jb",
			`a<span class="nonprint" title="A character that does not print">‹U+001B›</span>[2Jb`,
		},
		{
			"links of terminals are no links", "\x1b]8;;http://x\x07y",
			`<span class="nonprint" title="A character that does not print">‹U+001B›</span>]8;;http://x<span class="nonprint" title="A character that does not print">‹U+0007›</span>y`,
		},
		{
			"a sequence without an end is shown", "a" + esc + "31",
			`a<span class="nonprint" title="A character that does not print">‹U+001B›</span>[31`,
		},
		{"numbers out of range are not colors", esc + "38;5;999mx" + esc + "99999999999999999999my", "x" +
			`<span class="nonprint" title="A character that does not print">‹U+001B›</span>[99999999999999999999my`},
		{
			"an override between colors is made visible", esc + "31ma\u202eb",
			`<span class="fg-1">a<span class="nonprint" title="A character that does not print">‹U+202E›</span>b</span>`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ansi(tt.in); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func FuzzAnsiLetsNothingThrough(f *testing.F) {
	f.Add("\x1b[31m<script>\x1b[0m\x1b]8;;x\x07")
	f.Fuzz(func(t *testing.T, s string) {
		out := ansi(s)
		if strings.ContainsAny(out, "\x1b\r\x00\x07") || strings.Contains(out, "<script") {
			t.Errorf("%q: got %q", s, out)
		}
		if strings.Count(out, "<span") != strings.Count(out, "</span>") {
			t.Errorf("unclosed spans in %q", out)
		}
	})
}
