//go:build linux

package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

func TestRead(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	var long strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	file(t, b, "long", long.String())
	t.Run("lines are numbered", func(t *testing.T) {
		file(t, b, "f", "a\r\n\nb")
		if got, want := ok(t, b, "read", args{"path": "f"}), "     1\ta\n     2\t\n     3\tb\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("500 lines are shown by default", func(t *testing.T) {
		out := ok(t, b, "read", args{"path": "long"})
		has(t, out, "   500\tline 500\n[lines 1 to 500 of 2,500; continue with offset=501]\n")
	})
	t.Run("at most 2,000 lines are shown", func(t *testing.T) {
		has(t, ok(t, b, "read", args{"path": "long", "limit": 2000}), "  2000\tline 2000\n[lines 1 to 2,000 of 2,500")
		refused(t, b, "read", args{"path": "long", "limit": 2001}, "limit: maximum: 2001")
	})
	t.Run("the rest is available by offset", func(t *testing.T) {
		out := ok(t, b, "read", args{"path": "long", "offset": 2499})
		if out != "  2499\tline 2499\n  2500\tline 2500\n" {
			t.Errorf("got %q", out)
		}
		refused(t, b, "read", args{"path": "long", "offset": 2501}, "has 2,500 lines, line 2,501 is past its end")
	})
	t.Run("long lines are cut, and can be read in parts", func(t *testing.T) {
		file(t, b, "wide", "x\n"+strings.Repeat("ä", 2000)+"öend\n")
		out := ok(t, b, "read", args{"path": "wide"})
		has(t, out, "ä…\n[lines are cut at 2,000 characters, line 2 first; continue with offset=2 limit=1 column=2001]")
		if got := ok(t, b, "read", args{"path": "wide", "offset": 2, "limit": 1, "column": 2001}); got != "     2\töend\n" {
			t.Errorf("got the rest %q", got)
		}
	})
	t.Run("an answer is bounded", func(t *testing.T) {
		file(t, b, "big", strings.Repeat(strings.Repeat("x", 1999)+"\n", 2000))
		out := ok(t, b, "read", args{"path": "big", "limit": 2000})
		if has(t, out, "continue with offset=100]"); len(out) > maxReadChars+200 {
			t.Errorf("got %d bytes", len(out))
		}
	})
	t.Run("binary files are refused", func(t *testing.T) {
		file(t, b, "bin", "ELF\x00\x01")
		refused(t, b, "read", args{"path": "bin"}, "is a binary file (5 bytes)")
	})
	t.Run("invalid UTF-8 is replaced", func(t *testing.T) {
		file(t, b, "latin", "a\xffb\n"+strings.Repeat("x", sniff)+"\x00\n")
		if got := ok(t, b, "read", args{"path": "latin", "limit": 1}); !strings.HasPrefix(got, "     1\ta\uFFFDb\n") {
			t.Errorf("got %q", got)
		}
		has(t, ok(t, b, "read", args{"path": "latin", "column": 7990}), "x\uFFFD\n")
	})
	t.Run("an empty file is reported", func(t *testing.T) {
		file(t, b, "empty", "")
		has(t, ok(t, b, "read", args{"path": "empty"}), "empty is empty")
	})
	t.Run("a huge file is refused", func(t *testing.T) {
		testkit.NoError(t, os.Truncate(file(t, b, "huge", ""), maxReadSize+1))
		refused(t, b, "read", args{"path": "huge"}, "16,777,217 bytes long")
	})
	t.Run("a folder is reported as such", func(t *testing.T) {
		refused(t, b, "read", args{"path": "."}, "is a folder: use list")
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	file(t, b, "d/b.txt", "12345")
	file(t, b, "d/a\nb", "")
	file(t, b, "d/sub/x", "")
	testkit.NoError(t, os.Symlink("b.txt", filepath.Join(b.opts.Root, "d/link")))
	t.Run("entries are sorted and say what they are", func(t *testing.T) {
		if got, want := ok(t, b, "list", args{"path": "d"}), "\"a\\nb\" (0 bytes)\nb.txt (5 bytes)\nlink -> b.txt\nsub/\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("the workspace is listed by default", func(t *testing.T) {
		if got := ok(t, b, "list", args{}); got != "d/\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("at most 1,000 entries are listed, the rest is available by offset", func(t *testing.T) {
		for i := range 1003 {
			file(t, b, fmt.Sprintf("many/%04d", i), "")
		}
		has(t, ok(t, b, "list", args{"path": "many"}), "0999 (0 bytes)\n[entries 1 to 1,000 of 1,003; continue with offset=1001]")
		if got := ok(t, b, "list", args{"path": "many", "offset": 1001}); got != "1000 (0 bytes)\n1001 (0 bytes)\n1002 (0 bytes)\n" {
			t.Errorf("got the rest %q", got)
		}
		refused(t, b, "list", args{"path": "many", "offset": 1004}, "has 1,003 entries")
	})
	t.Run("an empty folder is reported", func(t *testing.T) {
		testkit.NoError(t, os.Mkdir(filepath.Join(b.opts.Root, "none"), 0o777))
		has(t, ok(t, b, "list", args{"path": "none"}), "none is empty")
	})
	refused(t, b, "list", args{"path": "d/b.txt"}, "is not a folder")
}

func TestGlob(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, name := range []string{"a.go", "b.txt", "src/c.go", "src/deep/d.go", ".git/e.go", "src/.hidden.go"} {
		file(t, b, name, "")
	}
	testkit.NoError(t, os.Symlink("..", filepath.Join(b.opts.Root, "src/round")))
	for _, tt := range []struct{ pattern, path, want string }{
		{"*.go", "", "a.go\n"},
		{"**/*.go", "", "a.go\nsrc/.hidden.go\nsrc/c.go\nsrc/deep/d.go\n"},
		{"*.{txt,go}", "", "a.go\nb.txt\n"},
		{"src/*/*.go", "", "src/deep/d.go\n"},
		{"*.go", "src", "src/.hidden.go\nsrc/c.go\n"},
		{"*.rs", "", "no file matches\n"},
	} {
		t.Run(tt.pattern+" in "+tt.path, func(t *testing.T) {
			if got := ok(t, b, "glob", args{"pattern": tt.pattern, "path": tt.path}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("at most 200 files are listed, the rest is available by offset", func(t *testing.T) {
		for i := range 202 {
			file(t, b, fmt.Sprintf("many/%03d", i), "")
		}
		has(t, ok(t, b, "glob", args{"pattern": "many/*"}), "many/199\n[files 1 to 200 of 202; continue with offset=201")
		if got := ok(t, b, "glob", args{"pattern": "many/*", "offset": 201}); got != "many/200\nmany/201\n" {
			t.Errorf("got the rest %q", got)
		}
	})
	t.Run("endlessly nested folders are reported", func(t *testing.T) {
		file(t, b, "deep/"+strings.Repeat("d/", maxDepth)+"last", "")
		has(t, ok(t, b, "glob", args{"pattern": "deep/**"}), "no file matches\n[not all was looked at: 200,000 files and 100 folders")
		has(t, ok(t, b, "glob", args{"pattern": "**/last", "path": "deep/d"}), "d/last\n")
	})
	refused(t, b, "glob", args{"pattern": "[a"}, "pattern: a bracket or brace is not closed")
	refused(t, b, "glob", args{"pattern": "../*"}, "pattern: it is relative")
	refused(t, b, "glob", args{"pattern": "/etc/*"}, "pattern: it is relative")
	refused(t, b, "glob", args{"pattern": "*", "path": "missing"}, "missing does not exist")
}

func TestGrep(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	file(t, b, "a.go", "one\ntwo\nNeedle here\nfour\nfive\nsix\nneedle\n")
	file(t, b, "sub/b.txt", "no\r\nneedle\r\n")
	file(t, b, "bin", "needle\x00")
	file(t, b, ".git/x", "needle")
	testkit.NoError(t, os.Link(file(t, b, "h1", "needle"), filepath.Join(b.opts.Root, "h2")))
	skipped := "[not searched: 1 binary, 0 larger than 16 MiB, 2 hard links or unreadable]\n"
	for _, tt := range []struct {
		name string
		args args
		want string
	}{
		{"hits have file and line", args{"pattern": "^needle$"}, "a.go:7:needle\nsub/b.txt:2:needle\n" + skipped},
		{"case may be ignored", args{"pattern": "needle", "ignore_case": true, "path": "a.go"}, "a.go:3:Needle here\na.go:7:needle\n"},
		{"context is marked", args{"pattern": "Needle", "context": 1, "path": "a.go"}, "a.go-2-two\na.go:3:Needle here\na.go-4-four\n"},
		{
			"contexts that meet are one",
			args{"pattern": "(?i)needle", "context": 2, "path": "a.go"},
			"a.go-1-one\na.go-2-two\na.go:3:Needle here\na.go-4-four\na.go-5-five\na.go-6-six\na.go:7:needle\n",
		},
		{
			"contexts that do not meet are separated",
			args{"pattern": "one|needle", "context": 1, "path": "a.go"},
			"a.go:1:one\na.go-2-two\n--\na.go-6-six\na.go:7:needle\n",
		},
		{"files are chosen by name", args{"pattern": "needle", "glob": "*.txt"}, "sub/b.txt:2:needle\n"},
		{"or by path", args{"pattern": "needle", "glob": "sub/**"}, "sub/b.txt:2:needle\n"},
		{"missing matches are reported", args{"pattern": "absent", "path": "a.go"}, "nothing matches\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ok(t, b, "grep", tt.args); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("at most 100 hits are shown, the rest is available by offset", func(t *testing.T) {
		file(t, b, "many/f", strings.Repeat("hit\n", 103))
		has(t, ok(t, b, "grep", args{"pattern": "hit", "path": "many"}),
			"many/f:100:hit\n[hits 1 to 100, there are more; continue with offset=101")
		if got := ok(t, b, "grep", args{
			"pattern": "hit", "path": "many",
			"offset": 101,
		}); got != "many/f:101:hit\nmany/f:102:hit\nmany/f:103:hit\n" {
			t.Errorf("got the rest %q", got)
		}
		file(t, b, "exact/f", strings.Repeat("hit\n", 100))
		if got := ok(t, b, "grep", args{"pattern": "hit", "path": "exact"}); strings.Contains(got, "more") {
			t.Errorf("got more than all: %q", got)
		}
	})
	t.Run("long lines are cut", func(t *testing.T) {
		file(t, b, "wide", "needle"+strings.Repeat("x", 1000))
		has(t, ok(t, b, "grep", args{"pattern": "needle", "path": "wide"}), "x…\n[lines are cut at 500 characters; read shows them whole]")
	})
	t.Run("for a single file, the reason is reported why it is not searched", func(t *testing.T) {
		refused(t, b, "grep", args{"pattern": "x", "path": "bin"}, "binary")
		refused(t, b, "grep", args{"pattern": "x", "path": "h1"}, "2 names")
	})
	refused(t, b, "grep", args{"pattern": "(a"}, "pattern: error parsing regexp")
	refused(t, b, "grep", args{"pattern": `(a)\1`}, "pattern: error parsing regexp")
	refused(t, b, "grep", args{"pattern": "a", "context": 11}, "context: maximum")
	refused(t, b, "grep", args{"pattern": "a", "glob": "[a"}, "glob: a bracket")
}

func TestCreate(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	root := b.opts.Root
	t.Run("parent folders are created", func(t *testing.T) {
		r := call(t, b, "create", args{"path": "a/b/c.txt", "content": "x\ny"})
		if r.Text != "created a/b/c.txt (2 lines, 3 bytes)" || !slices.Equal(r.Files, []string{"a/b/c.txt"}) {
			t.Errorf("%+v", r)
		}
		if content(t, filepath.Join(root, "a/b/c.txt")) != "x\ny" {
			t.Error("the content is wrong")
		}
	})
	t.Run("nothing is overwritten", func(t *testing.T) {
		refused(t, b, "create", args{"path": "a/b/c.txt", "content": "z"}, "never overwrites")
		testkit.NoError(t, os.Symlink("nowhere", filepath.Join(root, "dangling")))
		refused(t, b, "create", args{"path": "dangling", "content": "z"}, "never overwrites")
		if _, err := os.Lstat(filepath.Join(root, "nowhere")); err == nil {
			t.Error("a file was created through a link")
		}
	})
	t.Run("at most 1 MiB is written", func(t *testing.T) {
		r := call(t, b, "create", args{"path": "full", "content": strings.Repeat("x", maxWrite)})
		if r.IsError || !slices.Equal(r.Files, []string{"full"}) {
			t.Errorf("%+v", r)
		}
		refused(t, b, "create", args{"path": "over", "content": strings.Repeat("x", maxWrite+1)}, "content: ")
		refused(t, b, "create", args{"path": "over", "content": strings.Repeat("ä", maxWrite/2+1)}, "content: it is 1,048,578 bytes long")
	})
	t.Run("a file cannot be a folder", func(t *testing.T) {
		refused(t, b, "create", args{"path": "full/x", "content": ""}, "full")
		refused(t, b, "create", args{"path": "d/", "content": ""}, "names a folder")
		refused(t, b, "create", args{"path": ".", "content": ""}, "names a folder")
	})
}

func TestEdit(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	path := file(t, b, "d/f.txt", "one\ntwo\ntwo and a half\nthree\n")
	testkit.NoError(t, os.Chmod(path, 0o750))
	edit := func(old, updated string) args { return args{"path": "d/f.txt", "old_text": old, "new_text": updated} }
	t.Run("a file must have been read", func(t *testing.T) {
		refused(t, b, "edit", edit("one", "1"), "d/f.txt was not read yet: read it first")
	})
	ok(t, b, "read", args{"path": "d/f.txt"})
	t.Run("one place is changed", func(t *testing.T) {
		r := call(t, b, "edit", edit("two\ntwo", "2\ntwo"))
		if r.Text != "edited d/f.txt at line 2 (27 bytes)" || !slices.Equal(r.Files, []string{"d/f.txt"}) {
			t.Errorf("%+v", r)
		}
		if got := content(t, path); got != "one\n2\ntwo and a half\nthree\n" {
			t.Errorf("got content %q", got)
		}
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o750 {
			t.Errorf("the mode is now %v", info.Mode())
		}
	})
	t.Run("a file need not be read again after an edit", func(t *testing.T) { ok(t, b, "edit", edit("three", "3")) })
	t.Run("a missing text is refused", func(t *testing.T) {
		refused(t, b, "edit", edit("absent", "x"), "old_text: not found in d/f.txt")
	})
	t.Run("more than one match is refused", func(t *testing.T) {
		refused(t, b, "edit", edit("\n", "x"), "more than once in d/f.txt (lines 1, 2, 3, 4)")
		file(t, b, "aaa", "aaa")
		ok(t, b, "read", args{"path": "aaa"})
		refused(t, b, "edit", args{"path": "aaa", "old_text": "aa", "new_text": "b"}, "more than once")
	})
	t.Run("no change is refused", func(t *testing.T) { refused(t, b, "edit", edit("one", "one"), "the same as old_text") })
	t.Run("an empty text is refused", func(t *testing.T) { refused(t, b, "edit", edit("", "x"), "old_text: minLength") })
	t.Run("a file changed since is refused", func(t *testing.T) {
		testkit.NoError(t, os.WriteFile(path, []byte("another\n"), 0o666))
		refused(t, b, "edit", edit("one", "1"), "was changed since it was read")
		ok(t, b, "read", args{"path": "d/f.txt"})
		ok(t, b, "edit", edit("another", "mine"))
	})
	t.Run("a file is replaced atomically", func(t *testing.T) {
		f, err := os.Open(path)
		testkit.NoError(t, err)
		defer func() { _ = f.Close() }()
		ok(t, b, "edit", edit("mine", "yours"))
		old := make([]byte, 100)
		if n, _ := f.Read(old); string(old[:n]) != "mine\n" {
			t.Errorf("a concurrent reader sees %q", old[:n])
		}
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
			t.Errorf("the folder contains %v", entries)
		}
	})
	t.Run("Windows line endings are kept", func(t *testing.T) {
		win := file(t, b, "win", "a\r\nb\r\nc\r\n")
		ok(t, b, "read", args{"path": "win"})
		ok(t, b, "edit", args{"path": "win", "old_text": "a\nb", "new_text": "x\ny\nz"})
		if got := content(t, win); got != "x\r\ny\r\nz\r\nc\r\n" {
			t.Errorf("got content %q", got)
		}
	})
	t.Run("links are refused", func(t *testing.T) {
		testkit.NoError(t, os.Symlink("d/f.txt", filepath.Join(b.opts.Root, "link")))
		ok(t, b, "read", args{"path": "link"})
		refused(t, b, "edit", args{"path": "link", "old_text": "yours", "new_text": "x"}, "is a symbolic link")
	})
	t.Run("a file must not grow over 1 MiB", func(t *testing.T) {
		file(t, b, "near", "x"+strings.Repeat("y", maxWrite-1))
		ok(t, b, "read", args{"path": "near"})
		refused(t, b, "edit", args{"path": "near", "old_text": "x", "new_text": "xx"}, "new_text: the file would be 1,048,577 bytes long")
	})
}
