package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

type part struct{ name, text string }

var sample = []part{
	{"taskyard.db", strings.Repeat("rows of a database; ", 10_000)}, // two blocks of zstd
	{"agents/coder.md", "---\nname: coder\n---\nCode.\n"},
	{"taskyard.toml", "listen = \"127.0.0.1:0\"\n"},
	{"empty", ""},
}

func write(t testing.TB, parts []part) []byte {
	t.Helper()
	body, err := os.Create(filepath.Join(t.TempDir(), "body"))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	w, err := NewWriter(body, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := w.Add(p.name, strings.NewReader(p.text), int64(len(p.text)), false); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := w.Finish(&out, &Manifest{Version: "test", Schema: 7}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read returns the verified files of an archive.
func read(b []byte) (map[string]string, error) {
	a, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer a.Close()
	got := map[string]string{}
	err = a.Files(func(f File, r io.Reader) error {
		text, err := io.ReadAll(r)
		got[f.Name] = string(text)
		return err
	})
	return got, err
}

func TestAnArchiveIsReadAsWritten(t *testing.T) {
	t.Parallel()
	got, err := read(write(t, sample))
	if err != nil || len(got) != len(sample) {
		t.Fatalf("%d files, %v", len(got), err)
	}
	for _, p := range sample {
		if got[p.name] != p.text {
			t.Errorf("%s has %d bytes, want %d", p.name, len(got[p.name]), len(p.text))
		}
	}
}

func TestAFileThatShrinksIsPadded(t *testing.T) {
	t.Parallel()
	body, err := os.Create(filepath.Join(t.TempDir(), "body"))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	w, err := NewWriter(body, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"short": "abc", "long": "abcdefg"} {
		if err := w.Add(name, strings.NewReader(text), 5, true); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := w.Finish(&out, &Manifest{}); err != nil {
		t.Fatal(err)
	}
	got, err := read(out.Bytes())
	if err != nil || got["short"] != "abc\x00\x00" || got["long"] != "abcde" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestTheDamagedPartIsNamed flips a bit of every byte and truncates the file at each: the
// archive either reads as written, or the damaged part is named.
func TestTheDamagedPartIsNamed(t *testing.T) {
	t.Parallel()
	whole := write(t, sample)
	ends, texts := frames(t, whole), map[string]string{}
	for _, p := range sample {
		texts[p.name] = p.text
	}
	names := map[string]int{}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 0x10
		got, err := read(flipped)
		var d *DamagedError
		if err == nil && maps.Equal(got, texts) {
			names["none"]++ // bits without a meaning
			continue
		}
		if !errors.As(err, &d) {
			t.Fatalf("bit flipped at %d of %d: %v", i, len(whole), err)
		}
		names[d.Part]++
		if want := partAt(ends, i); d.Part != want {
			t.Errorf("bit flipped at %d: want part %s, got %s: %v", i, want, d.Part, err)
		}
		if got, err := read(whole[:i]); !errors.As(err, &d) && !maps.Equal(got, texts) {
			t.Errorf("truncated at %d of %d: %v", i, len(whole), err)
		}
	}
	t.Log(names)
}

// frames returns where each frame ends.
func frames(t *testing.T, b []byte) (ends []int) {
	t.Helper()
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for i := 4; i < len(b); i++ {
		if bytes.HasPrefix(b[i:], magic) {
			ends = append(ends, i)
		}
	}
	ends = append(ends, len(b))
	if len(ends) != len(sample)+2 { // the manifest, and the end of the tar file
		t.Fatalf("%d frames", len(ends))
	}
	return ends
}

func partAt(ends []int, i int) string {
	for n, end := range ends {
		switch {
		case i >= end:
		case n == 0:
			return ManifestName
		default:
			return sample[min(n-1, len(sample)-1)].name
		}
	}
	return ""
}

// hostile writes an archive entry by entry, as no Writer would.
func hostile(t *testing.T, files []File, entries ...*tar.Header) []byte {
	t.Helper()
	text, err := json.Marshal(Manifest{Format: 1, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	write := func(h *tar.Header, b []byte) {
		h.Size = int64(len(b))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	write(&tar.Header{Name: ManifestName, Typeflag: tar.TypeReg}, text)
	for _, h := range entries {
		var b []byte
		if h.Typeflag == tar.TypeReg {
			b = []byte("x")
		}
		write(h, b)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostileArchivesAreRefused(t *testing.T) {
	t.Parallel()
	x := sha256.Sum256([]byte("x"))
	file := func(name string) File { return File{Name: name, Size: 1, SHA256: hex.EncodeToString(x[:])} }
	reg := func(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeReg} }
	if _, err := read(hostile(t, []File{file("a")}, reg("a"))); err != nil {
		t.Fatalf("the test itself is wrong: %v", err)
	}
	for _, name := range []string{
		"../a", "/etc/passwd", "a/../../b", "a//b", "./a", "a/", "", ".", "a\\b", "a\nb", "\x1b[2J", ManifestName, strings.Repeat("a", 2000),
	} {
		if _, err := read(hostile(t, []File{file(name)})); err == nil || !strings.Contains(err.Error(), "is not a name of a file") {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	for what, b := range map[string][]byte{
		"a duplicate file":       hostile(t, []File{file("a"), file("a")}, reg("a"), reg("a")),
		"a symbolic link":        hostile(t, []File{{Name: "a"}}, &tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}),
		"a hard link":            hostile(t, []File{{Name: "a"}}, &tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "b"}),
		"a device":               hostile(t, []File{{Name: "a"}}, &tar.Header{Name: "a", Typeflag: tar.TypeBlock}),
		"a pipe":                 hostile(t, []File{{Name: "a"}}, &tar.Header{Name: "a", Typeflag: tar.TypeFifo}),
		"a folder":               hostile(t, []File{{Name: "a"}}, &tar.Header{Name: "a", Typeflag: tar.TypeDir}),
		"a file not in the list": hostile(t, []File{file("a")}, reg("a"), reg("b")),
		"a file of another name": hostile(t, []File{file("a")}, reg("b")),
		"a missing file":         hostile(t, []File{file("a"), file("b")}, reg("a")),
		"another size":           hostile(t, []File{{Name: "a", Size: 2}}, reg("a")),
		"a size below zero":      hostile(t, []File{{Name: "a", Size: -1}}, reg("a")),
		"no files":               hostile(t, nil),
		"another hash":           hostile(t, []File{{Name: "a", Size: 1, SHA256: strings.Repeat("0", 64)}}, reg("a")),
		"no tar file":            []byte("PK\x03\x04 something else"),
		"nothing":                {},
	} {
		if got, err := read(b); err == nil {
			t.Errorf("%s: got no error, read %v", what, got)
		}
	}
}

func TestADecompressionBombTakesLittleMemory(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithWindowSize(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: ManifestName, Size: 1 << 40, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, 256<<20); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := read(out.Bytes()); err == nil {
		t.Error("a manifest of a terabyte was read")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(write(f, sample))
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := read(b)
		if err != nil {
			return
		}
		for name := range got {
			if checkName(name) != nil {
				t.Errorf("%q was read", name)
			}
		}
	})
}
