package views

import (
	"strings"
	"testing"
	"time"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ src, want string }{
		"a task number is a link":          {"see #12, please", `<p>see <a href="/tasks/12" class="ref">#12</a>, please</p>`},
		"an agent is a link":               {"ask @code-x.", `<p>ask <a href="/agents/code-x" class="mention">@code-x</a>.</p>`},
		"a number in a word is not a link": {"a#12 and #12b", `<p>a#12 and #12b</p>`},
		"a reference in code is text":      {"`#12`", `<p><code>#12</code></p>`},
		"raw HTML is shown as text":        {"a <b>x</b>", `<p>a &lt;b&gt;x&lt;/b&gt;</p>`},
		"an image becomes a link": {
			"![cat](https://x.test/c.png)",
			`<p><a href="https://x.test/c.png" rel="nofollow noreferrer">cat</a></p>`,
		},
		"a javascript address is dropped":             {"[x](javascript:alert(1))", `<p>x</p>`},
		"a heading is not one of the page's headings": {"# Big", `<p class="md-heading">Big</p>`},
		"a task list shows boxes as text":             {"- [x] a\n- [ ] b", "<ul dir=\"auto\">\n<li>☑ a</li>\n<li>☐ b</li>\n</ul>"},
		"a quote has the direction of its script": {
			"> 1. שלום", "<blockquote dir=\"auto\"><ol dir=\"auto\">\n<li>שלום</li>\n</ol>\n</blockquote>",
		},
		"a table keeps alignment without style": {
			"|a|\n|:-:|\n|b|",
			"<table>\n<thead>\n<tr>\n<th align=\"center\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td " +
				"align=\"center\">b</td>\n</tr>\n</tbody>\n</table>",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.TrimSpace(RenderMarkdown(tc.src)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestMarkdownBombsBecomePlainText(t *testing.T) {
	t.Parallel()
	row := strings.Repeat("|", 200) + "\n"
	for name, src := range map[string]string{
		"a text over 64 KiB":          strings.Repeat("a", maxSource+1),
		"33 nested quotes":            strings.Repeat(">", 33) + " x",
		"33 nested lists":             strings.Repeat("- ", 33) + "x",
		"deep lists line by line":     "- a\n" + strings.Repeat(" ", 70) + "- b",
		"2,001 brackets":              strings.Repeat("[", 2001),
		"a table with too many cells": row + strings.Repeat("|-", 200) + "|\n" + strings.Repeat("|\n", 5000),
		"a table inside a quote":      "> " + row + "> " + strings.Repeat("|-", 200) + "|\n" + strings.Repeat("> |\n", 5000),
		"a table below text": "intro\n" + strings.Repeat("a|", 400) + "\n" +
			strings.Repeat("-|", 400) + "\n" + strings.Repeat("x\n", 4000),
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			got := RenderMarkdown(src)
			if !strings.HasPrefix(got, `<p class="plain">`) {
				t.Errorf("parsed into %d bytes: %.60s", len(got), got)
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestOrdinaryMarkdownIsParsed(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"a list of six levels": "- a\n  - b\n    - c\n      - d\n        - e\n          - f",
		"deeply indented code": "```\n" + strings.Repeat(" ", 90) + "x := 1\n```",
		"a table of 20 by 20": strings.Repeat("|a", 20) + "|\n" + strings.Repeat("|-", 20) +
			"|\n" + strings.Repeat(strings.Repeat("|b", 20)+"|\n", 20),
	} {
		t.Run(name, func(t *testing.T) {
			if got := RenderMarkdown(src); strings.HasPrefix(got, `<p class="plain">`) {
				t.Error("shown as plain text")
			}
		})
	}
}

func TestTheMarkdownCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c htmlCache
	big := strings.Repeat("x", 1<<20)
	for i := range 64 {
		c.put([32]byte{byte(i)}, big)
	}
	if n := len(c.young) + len(c.old); n > 12 {
		t.Errorf("got %d MiB, want at most 12", n)
	}
	if _, ok := c.get([32]byte{63}); !ok {
		t.Error("the newest text was evicted")
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n- [x] <script>alert(1)</script> #1 @b\n\n|a|\n|-|\n|b|")
	f.Add("[a](javascript:x) <a href=\"javascript:x\" onclick=y>")
	f.Fuzz(func(t *testing.T, src string) {
		wantNothingForbidden(t, "<body>"+RenderMarkdown(src))
	})
}
