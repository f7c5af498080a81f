package views

import (
	"fmt"
	"strings"
	"testing"
)

func diffText(list []diffLine) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(string(l.Kind) + l.Text + "|")
	}
	return b.String()
}

func TestCompareLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x\n", 40)
	for _, tt := range []struct{ name, before, after, want string }{
		{"equal texts have no diff", "a\nb", "a\nb", ""},
		{"a changed line is removed and added", "a\nb\nc", "a\nB\nc", " a|-b|+B| c|"},
		{"a line is added at the end", "a", "a\nb", " a|+b|"},
		{"a line is removed at the start", "a\nb", "b", "-a| b|"},
		{"every line of a new text is added", "", "a\nb", "+a|+b|"},
		{"lines far from a change are omitted", long + "a", long + "b", "@38 unchanged lines| x| x|-a|+b|"},
		{"common lines are kept between changes", "1\n2\n3\n4", "0\n2\n3\n5", "-1|+0| 2| 3|-4|+5|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := diffText(compareLines(tt.before, tt.after)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("long texts without common lines are shown in full", func(t *testing.T) {
		a, b := strings.Repeat("a\n", 3000), strings.Repeat("b\n", 3000)
		if got := compareLines(a, b); len(got) != 6001 {
			t.Errorf("got %d lines, want 6001", len(got))
		}
	})
}

func FuzzDiffLosesNothing(f *testing.F) {
	f.Add("a\nb\nc", "b\nc\nd")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9", "0\n2\n3\n4\n5\n6\n7\n8\n10")
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == b {
			return
		}
		var before, after string
		rest := strings.SplitAfter(endLine(a), "\n")
		for _, l := range compareLines(a, b) {
			n, folded := 1, ""
			if l.Kind == '@' {
				if _, err := fmt.Sscan(l.Text, &n); err != nil {
					t.Fatal(err)
				}
				folded = strings.Join(rest[:n], "")
				before, after = before+folded, after+folded
			}
			if l.Kind == ' ' || l.Kind == '-' {
				before += l.Text + "\n"
			}
			if l.Kind == ' ' || l.Kind == '+' {
				after += l.Text + "\n"
			}
			if l.Kind != '+' {
				rest = rest[n:]
			}
		}
		if before != endLine(a) {
			t.Errorf("before: got %q, want %q", before, a)
		}
		if after != endLine(b) {
			t.Errorf("after: got %q, want %q", after, b)
		}
	})
}
