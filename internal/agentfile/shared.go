package agentfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taskyard/task"
)

// baseName is the file that records the last versions that the folder and the
// database had in common, in the format of sha256sum. With it, a server knows
// which of the two has changed since, even after a restart.
const baseName = ".in-database"

// File is a file whose name is a valid agent name.
type File struct {
	Text string
	Hash string
	// Unfit files cannot be stored in the database: links, unreadable files,
	// and files that are not text.
	Unfit bool
}

// Files reads the folder. Files without a valid agent name are omitted.
func (f *Folder) Files() (map[string]File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	all := map[string]File{}
	for _, e := range entries {
		id, isAgent := strings.CutSuffix(e.Name(), ext)
		if !isAgent || !task.ValidAgentID(id) || task.ReservedAgentID(id) {
			continue
		}
		switch text, err := readFile(filepath.Join(f.dir, e.Name())); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil || !isText(text):
			all[id] = File{Unfit: true}
		default:
			all[id] = File{Text: text, Hash: textHash(text)}
		}
	}
	return all, nil
}

// Replace replaces the file that has the hash was, "" for none; nil deletes it.
// If the file has changed by now, it does nothing and returns false. With keep,
// the existing file is first copied to a name that defines no agent, which is
// returned.
func (f *Folder) Replace(id, before string, text *string, keep bool) (kept string, done bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := filepath.Join(f.dir, id+ext)
	now, err := readFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return "", false, writeErr(err)
	case missing != (before == "") || !missing && textHash(now) != before:
		return "", false, nil
	}
	if keep && !missing && !isDefault(id, now) {
		if kept, err = keepCopy(path, now); err != nil {
			return "", false, writeErr(err)
		}
	}
	switch {
	case text != nil:
		err = writeAtomic(path, []byte(*text))
	case !missing:
		err = errors.Join(os.Remove(path), syncDir(f.dir))
	}
	if err != nil {
		return kept, false, writeErr(err)
	}
	return kept, true, f.reloadLocked()
}

// isDefault reports whether a text is a default that the server wrote.
func isDefault(id, text string) bool {
	b, err := defaults.ReadFile("defaults/" + id + ext)
	return err == nil && string(b) == text
}

// keepCopy writes a text next to its original file, without overwriting a file.
func keepCopy(path, text string) (name string, err error) {
	at := path + ".before-" + time.Now().UTC().Format("20060102T150405Z")
	name = at
	for n := 2; ; n++ {
		w, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			name = fmt.Sprintf("%s-%d", at, n)
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = w.WriteString(text)
		return filepath.Base(name), errors.Join(err, w.Sync(), w.Close())
	}
}

// Base returns the hashes that SetBase last stored, nil if there are none.
func (f *Folder) Base() (map[string]string, error) {
	b, err := os.ReadFile(filepath.Join(f.dir, baseName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	base := map[string]string{}
	for line := range strings.Lines(string(b)) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		base[strings.TrimSuffix(name, ext)] = hash
	}
	return base, nil
}

// SetBase stores the hashes of the versions that the folder and the database
// have in common, by agent.
func (f *Folder) SetBase(base map[string]string) error {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(base)) {
		fmt.Fprintf(&b, "%s  %s%s\n", base[id], id, ext)
	}
	return writeAtomic(filepath.Join(f.dir, baseName), []byte(b.String()))
}
