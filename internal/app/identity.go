package app

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"taskyard/runner/supervise"
)

// Files in the data folder.
const (
	idName    = "yard-id"
	placeName = "instance-place"
)

// identity distinguishes the processes of this instance from those of another
// one on the same machine.
type identity struct {
	ID     string // marks the processes that this server starts
	Copied bool   // processes of earlier runs may belong to another server

	idFile, placeFile string
	place             string // device and inode of the data folder
	saved             bool   // both files are written
	log               *slog.Logger
}

// identify reads the ID stored in the data folder. It is valid for one folder
// on one device: a copy of the folder gets a new ID, because its original may
// be running and own the processes of the runs that the copy finds. A folder
// without a recorded place comes from an earlier version, and keeps its ID.
// Nothing is written before save.
func identify(data string, log *slog.Logger) (*identity, error) {
	fi, err := os.Stat(data)
	if err != nil {
		return nil, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, fmt.Errorf("the data folder %s has no inode", data)
	}
	i := &identity{
		idFile: filepath.Join(data, idName), placeFile: filepath.Join(data, placeName),
		place: fmt.Sprintf("%d %d", st.Dev, st.Ino), log: log,
	}
	id, err := readText(i.idFile)
	if err != nil {
		return nil, err
	}
	noted, err := readText(i.placeFile)
	if err != nil {
		return nil, err
	}
	if id != "" && cmp.Or(noted, i.place) == i.place {
		i.ID, i.saved = id, noted == i.place
		return i, nil
	}
	if id != "" {
		log.Warn("the data folder is a copy, or was moved to another device: it gets a new id, and no process of its earlier "+
			"runs is killed; end those that are left if the original is not running", "data", data, "left", supervise.InstanceProcesses(id))
	}
	i.ID, i.Copied = rand.Text(), true
	return i, nil
}

// save records that the ID belongs to this folder. It is called after the
// runs of the previous server are marked lost and before any starts: a copy
// that is killed before that is still a copy at the next start. An original
// that cannot record its place, for example on a full disk, does so at a later
// start.
func (i *identity) save() error {
	if i.saved {
		return nil
	}
	if i.Copied {
		if err := os.WriteFile(i.idFile, []byte(i.ID+"\n"), 0o600); err != nil {
			return err
		}
	}
	err := os.WriteFile(i.placeFile, []byte(i.place+"\n"), 0o600)
	if err != nil && !i.Copied {
		i.log.Error("failed to record the location of the data folder: until it is, a copy cannot be told from its original", "error", err)
		return nil
	}
	i.saved = err == nil
	return err
}

// readText returns the text of a small file, or "" if there is none.
func readText(file string) (string, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}
