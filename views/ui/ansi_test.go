package ui

import (
	"strings"
	"testing"
)

func ansi(s string) string {
	var b strings.Builder
	_ = writeANSI(&b, s, WriteVisible) // a builder takes everything
	return string(MarkHidden([]byte(b.String())))
}

func TestAnsiColors(t *testing.T) {
	const esc = "\x1b["
	for _, tt := range []struct{ name, in, want string }{
		{"plain text stays", "a <b> c", "a &lt;b&gt; c"},
		{"a color ends with a reset", esc + "32mok" + esc + "0m done", `<span class="fg-2">ok</span> done`},
		{"an empty sequence is a reset", esc + "1;31mbad" + esc + "mok", `<span class="fg-1 term-bold">bad</span>ok`},
		{"bright colors look like the others", esc + "91mx", `<span class="fg-1">x</span>`},
		{"a background decides on its letters", esc + "31;42mx", `<span class="bg-2">x</span>`},
		{"256 colors become the nearest of sixteen", esc + "38;5;196mx", `<span class="fg-1">x</span>`},
		{"24 bits too", esc + "38;2;0;120;0mx", `<span class="fg-2">x</span>`},
		{"colons part numbers as well", esc + "38:5:4mx", `<span class="fg-4">x</span>`},
		{"styles end one by one", esc + "1;3mx" + esc + "22my", `<span class="term-bold term-italic">x</span><span class="term-italic">y</span>`},
		{"erasing to the end of a line says nothing", "a" + esc + "Kb", "ab"},
		{"a line drawn over is a line of its own", "10%\r20%\r\nend", "10%\n20%\nend"},
		{
			"other sequences are shown for what they are", "a" + esc + "2Jb",
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
		{"numbers without bounds are no color", esc + "38;5;999mx" + esc + "99999999999999999999my", "x" +
			`<span class="nonprint" title="A character that does not print">‹U+001B›</span>[99999999999999999999my`},
		{
			"an override between colors is named", esc + "31ma\u202eb",
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
			t.Errorf("%q becomes %q", s, out)
		}
		if strings.Count(out, "<span") != strings.Count(out, "</span>") {
			t.Errorf("spans do not close in %q", out)
		}
	})
}
