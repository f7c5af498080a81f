package ui

import (
	"strings"
	"testing"
)

func joinSegments(list []Segment) string {
	var b strings.Builder
	for _, s := range list {
		if s.Marked {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestVisibleText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain text is one segment", "read the file\n\tthen stop", "read the file\n\tthen stop"},
		{"an empty text has no segments", "", ""},
		{"letters of all scripts are unchanged", "naïve 日本 עברית ☃ 👍", "naïve 日本 עברית ☃ 👍"},
		{"an override is made visible in place", "a\u202ecod.exe", "a[‹U+202E›]cod.exe"},
		{"an isolate at the end is made visible", "a\u2066", "a[‹U+2066›]"},
		{"a zero-width space at the start is made visible", "\u200bx", "[‹U+200B›]x"},
		{"a carriage return cannot hide a line", "good\rbad", "good[‹U+000D›]bad"},
		{"escape and NUL are made visible", "\x1b[2J\x00", "[‹U+001B›][2J[‹U+0000›]"},
		{"C1 controls and DEL are made visible", "\u0085\u009b\x7f", "[‹U+0085›][‹U+009B›][‹U+007F›]"},
		{"tag characters are made visible", "ok\U000E0041", "ok[‹U+E0041›]"},
		{"an invalid UTF-8 byte is made visible", "a\xffb", "a[‹0xFF›]b"},
		{"a lone carriage return is made visible, a Windows line ending is not", "a\r\nb\r", "a\r\nb[‹U+000D›]"},
		{"an emoji of several characters is unchanged", "👨\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3", "👨\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3"},
		{
			"variation selectors after letters or repeated are made visible", "a\ufe0f❤\ufe0f\ufe00\U000E0100",
			"a[‹U+FE0F›]❤\ufe0f[‹U+FE00›][‹U+E0100›]",
		},
		{"joiners within Persian and Hindi words are unchanged", "می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"},
		{"joiners elsewhere are made visible", "ad\u200cmin pay\u200dpal", "ad[‹U+200C›]min pay[‹U+200D›]pal"},
		{"a byte order mark is made visible", "\ufeffa", "[‹U+FEFF›]a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := joinSegments(VisibleText(tt.in)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for _, rng := range [][2]rune{{0x202a, 0x202e}, {0x2066, 0x2069}, {0x200b, 0x200f}, {0x80, 0x9f}, {0, 8}} {
		for r := rng[0]; r <= rng[1]; r++ {
			if HiddenCount("a"+string(r)+"b") != 1 {
				t.Errorf("U+%04X is not marked", r)
			}
		}
	}
}

func FuzzVisibleTextLosesNothing(f *testing.F) {
	f.Add("a\u202eb\x00\xff")
	f.Fuzz(func(t *testing.T, s string) {
		rest := s
		for _, seg := range VisibleText(s) {
			if seg.Marked {
				if rest == "" {
					t.Fatal("more marks than characters")
				}
				_, rest = cutRune(rest)
				continue
			}
			var ok bool
			if rest, ok = strings.CutPrefix(rest, seg.Text); !ok {
				t.Fatalf("segment %q is not a prefix of %q", seg.Text, rest)
			}
		}
		if rest != "" {
			t.Fatalf("lost %q", rest)
		}
	})
}

func cutRune(s string) (string, string) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}
