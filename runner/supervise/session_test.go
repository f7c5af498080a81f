package supervise

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"taskyard/internal/testkit"
)

// An agent may make its session arbitrarily large: it is copied in pieces.
func TestALargeSessionIsNotHeldInMemory(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	dir := t.TempDir()
	name := filepath.Join(dir, SessionFolder, id+".jsonl")
	testkit.NoError(t, os.Mkdir(filepath.Dir(name), 0o700))
	testkit.NoError(t, os.WriteFile(name, []byte("{}\n"), 0o600))
	testkit.NoError(t, os.Truncate(name, maxSession))
	was, err := os.Stat(name)
	testkit.NoError(t, err)
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
