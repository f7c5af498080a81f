package testkit

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files of testdata again")

// Golden fails the test if got differs from a file in testdata.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	if want := GoldenFile(t, name, got); got != want {
		t.Errorf("testdata/%s differs; run the test with -update, then look at the difference\ngot\n%s\nwant\n%s", name, got, want)
	}
}

// GoldenFile returns the content of a file in testdata; with the flag -update,
// it writes and returns got.
func GoldenFile(t testing.TB, name, got string) (want string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
