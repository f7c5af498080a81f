package testkit

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files of testdata again")

// Golden fails the test when got is not what a file of testdata holds.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	if want := GoldenFile(t, name, got); got != want {
		t.Errorf("testdata/%s differs; run the test with -update, then look at the difference\ngot\n%s\nwant\n%s", name, got, want)
	}
}

// GoldenFile returns what a file of testdata holds: got, with the flag -update.
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
