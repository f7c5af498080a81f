//go:build linux

package e2e

import (
	"bytes"
	endian "encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// The files whose writes testdata/recorder.c records, by number.
var recorded = []string{1: "taskyard.db", 2: "taskyard.db-wal", 3: "taskyard.db-journal"}

// diskOp is one record: a write, a truncation, a sync or a removal.
type diskOp struct {
	kind, file byte
	at         uint64 // offset of a write, size of a truncation
	data       []byte
	end        int64 // where the record ends in the recording
}

func readOps(t *testing.T, path string) (list []diskOp) {
	t.Helper()
	b := []byte(read(t, path))
	for pos := 0; pos+16 <= len(b); {
		n := int(endian.NativeEndian.Uint32(b[pos+4:]))
		op := diskOp{kind: b[pos], file: b[pos+1], at: endian.NativeEndian.Uint64(b[pos+8:])}
		if op.kind != 'W' {
			n = 0
		}
		if pos+16+n > len(b) {
			break // the server was killed while writing this
		}
		op.data = b[pos+16 : pos+16+n]
		pos += 16 + n
		op.end = int64(pos)
		list = append(list, op)
	}
	return list
}

// diskFile is a file as a disk may contain it after a power cut.
type diskFile struct {
	durable []byte   // nil: it does not exist
	pending []diskOp // since the last sync
}

func (op diskOp) apply(b []byte) []byte {
	switch op.kind {
	case 'W':
		if need := int(op.at) + len(op.data); need > len(b) {
			b = append(b, make([]byte, need-len(b))...)
		}
		copy(b[op.at:], op.data)
	case 'T':
		if int(op.at) <= len(b) {
			return b[:op.at]
		}
		b = append(b, make([]byte, int(op.at)-len(b))...)
	case 'U':
		return nil
	}
	return b
}

func (f *diskFile) take(op diskOp) {
	if op.kind != 'S' {
		f.pending = append(f.pending, op)
		return
	}
	for _, p := range f.pending {
		f.durable = p.apply(f.durable)
	}
	f.pending = nil
}

const sector = 512

// cut returns what is left of the file: from the data that was not synced, nothing,
// everything, or any part, sector by sector.
func (f *diskFile) cut(r *rand.Rand) []byte {
	b, mode := slices.Clone(f.durable), r.IntN(4)
	for _, p := range f.pending {
		switch {
		case mode == 0:
			return b
		case mode == 1:
			b = p.apply(b)
		case r.IntN(2) == 0:
		case mode == 2 || p.kind != 'W':
			b = p.apply(b)
		default:
			for i := 0; i < len(p.data); i += sector {
				if r.IntN(2) == 0 {
					part := p
					part.at, part.data = p.at+uint64(i), p.data[i:min(i+sector, len(p.data))]
					b = part.apply(b)
				}
			}
		}
	}
	return b
}

// acked is a write that the server had acknowledged when the recording had this
// length.
type acked struct {
	at    int64
	id    task.ID
	title string
	done  bool
}

// recorder builds the recording library.
func recorder(t *testing.T) string {
	t.Helper()
	cc := installed(t, "gcc", "it builds the recorder of writes")
	lib := filepath.Join(t.TempDir(), "recorder.so")
	output(t, exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-O1", "-o", lib, "e2e/testdata/recorder.c", "-ldl", "-lpthread"))
	return lib
}

// TestNoAcknowledgedWriteIsLostInAPowerCut records what the server writes and
// syncs under load. The power is cut at random moments: the disk keeps what was
// synced, and any part of the rest. With what is left, the database opens, is
// intact, and contains every write that was acknowledged before.
func TestNoAcknowledgedWriteIsLostInAPowerCut(t *testing.T) {
	t.Parallel()
	cuts, tasks := testkit.ByForm(4, 10, testkit.Trials()), testkit.ByForm(100, 200, 1000)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := newServer(t, "serve")
	s.file("agents/ada.md", "---\nname: ada\ndescription: Claims its work itself.\ntools: read\n---\nWork.\n")
	s.start()
	token := s.token("--agent", "ada")
	if code := s.term(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	base, recording := t.TempDir(), filepath.Join(t.TempDir(), "recording")
	testkit.NoError(t, os.CopyFS(base, os.DirFS(s.data)))
	s.env = append(s.env, "LD_PRELOAD="+recorder(t), "RECORD_TO="+recording)
	s.start()
	began := recordingSize(t, recording)
	acks := s.busy(t, token, recording, tasks)
	s.kill()

	ops := readOps(t, recording)
	syncs := 0
	for _, op := range ops {
		if op.kind == 'S' {
			syncs++
		}
	}
	if first := ops[0]; syncs < tasks/8 || first.kind == 0 {
		t.Fatalf("got only %d syncs", syncs)
	}
	moments := make([]int, cuts)
	for i := range moments {
		for {
			if moments[i] = r.IntN(len(ops)); ops[moments[i]].end >= began {
				break
			}
		}
	}
	slices.Sort(moments)
	disk := make([]diskFile, len(recorded))
	for i, name := range recorded {
		if b, err := os.ReadFile(filepath.Join(base, name)); err == nil && name != "" {
			disk[i].durable = b
		}
	}
	next, held := 0, 0
	for i, m := range moments {
		for ; next <= m; next++ {
			disk[ops[next].file].take(ops[next])
		}
		held += afterCut(t, s, base, disk, r, acks, ops[m].end)
		if t.Failed() {
			t.Fatalf("cut %d of %d, after record %d of %d", i+1, cuts, m, len(ops))
		}
	}
	t.Logf("%d cuts among %d writes and syncs, %d of them syncs; %d acknowledged writes, looked up %d times",
		cuts, len(ops), syncs, len(acks), held)
}

func recordingSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatalf("nothing was recorded: %v", err)
	}
	return info.Size()
}

// busy creates, claims and completes tasks with eight clients, and returns what was
// acknowledged when.
func (s *server) busy(t *testing.T, token, recording string, tasks int) (acks []acked) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	shared := &http.Client{Timeout: patience}
	defer shared.CloseIdleConnections()
	api := &client.Client{URL: s.url(), Token: token, HTTP: shared}
	todo := make(chan int)
	note := func(a acked) {
		a.at = recordingSize(t, recording)
		mu.Lock()
		defer mu.Unlock()
		acks = append(acks, a)
	}
	for range 8 {
		wg.Go(func() {
			for n := range todo {
				var tk task.Task
				title := fmt.Sprintf("task %d", n)
				if err := api.Do(t.Context(), "POST", "/api/tasks",
					map[string]any{"title": title, "owner": "ada", "description": strings.Repeat("x", 8000)}, &tk); err != nil {
					t.Errorf("create: %v", err)
					return
				}
				note(acked{id: tk.ID, title: title})
				var got struct{ Task *task.Task }
				if err := api.Do(t.Context(), "POST", "/api/agents/ada/signup", nil, &got); err != nil || got.Task == nil {
					t.Errorf("sign up: %v", err)
					return
				}
				if err := api.Do(t.Context(), "POST", "/api/tasks/"+got.Task.ID.String()+"/complete",
					map[string]any{"claim": got.Task.Claim.ID}, nil); err != nil {
					t.Errorf("complete: %v", err)
					return
				}
				note(acked{id: got.Task.ID, title: got.Task.Title, done: true})
			}
		})
	}
	for n := range tasks {
		todo <- n
	}
	close(todo)
	wg.Wait()
	return acks
}

// afterCut checks what is left after a power cut and returns how many acknowledged
// writes it looked up.
func afterCut(t *testing.T, s *server, base string, disk []diskFile, r *rand.Rand, acks []acked, at int64) (held int) {
	t.Helper()
	left := &server{t: t, data: filepath.Join(t.TempDir(), "left")}
	testkit.NoError(t, copyWithout(left.data, base, recorded))
	for i, name := range recorded {
		b := disk[i].cut(r)
		if name == "" || b == nil {
			continue
		}
		put(t, filepath.Join(left.data, name), string(b))
	}
	defer os.RemoveAll(left.data)
	if out, errs, code := left.command("", "check"); code != exitOK {
		t.Errorf("check: exit code %d: %s %s", code, out, errs)
	}
	there := map[string]string{}
	for _, row := range left.rows("SELECT id, title, status FROM tasks") {
		id, rest, _ := strings.Cut(row, "|")
		there[id] = rest
	}
	for _, a := range acks {
		if a.at > at {
			continue
		}
		held++
		title, status, _ := strings.Cut(there[a.id.String()], "|")
		if title != a.title || a.done && status != string(task.Done) {
			t.Errorf("task %d: want %q, done: %v; got %q, %s", a.id, a.title, a.done, title, status)
		}
	}
	return held
}

// copyWithout copies a folder without the files with these names.
func copyWithout(to, from string, names []string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case slices.Contains(names, rel) || !d.Type().IsRegular() || strings.HasSuffix(rel, "-shm"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
}

// The simulation detects a server that acknowledges before it syncs.
func TestAPowerCutLosesWhatWasNotSynced(t *testing.T) {
	t.Parallel()
	f := diskFile{durable: []byte("old")}
	f.take(diskOp{kind: 'W', at: 0, data: []byte("new")})
	left := map[string]bool{}
	for seed := range uint64(50) {
		left[string(f.cut(rand.New(rand.NewPCG(seed, 0))))] = true
	}
	if !left["old"] || !left["new"] {
		t.Errorf("without a sync, got %v", left)
	}
	f.take(diskOp{kind: 'S'})
	if got := f.cut(rand.New(rand.NewPCG(1, 0))); !bytes.Equal(got, []byte("new")) {
		t.Errorf("after the sync, got %q", got)
	}
}
