package supervise

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// An agent may make its session arbitrarily large: it is copied in pieces.
func TestALargeSessionIsNotHeldInMemory(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	dir := t.TempDir()
	name := filepath.Join(dir, SessionFolder, id+".jsonl")
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, maxSession); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := TakeSession(Spec{Former: dir, Dir: dir, Session: id}, func(string) string { return name }, SessionFolder+"/"+id+".jsonl")
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > maxSession/4 {
		t.Errorf("allocated %d bytes", grown)
	}
	now, err := os.Stat(name)
	if got != name || err != nil || now.Size() != maxSession || os.SameFile(was, now) {
		t.Errorf("copied as %q: %v, %v", got, now, err)
	}
}
