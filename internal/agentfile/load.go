package agentfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"taskyard/task"
)

var errNotRegular = errors.New("it is not a regular file")

// listFolder returns the names of the files that should define agents, and
// problems of other names that end in .md. Dotfiles are ignored.
func listFolder(dir string) (files, problems []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || !strings.EqualFold(filepath.Ext(name), ext) {
			continue
		}
		switch {
		case !task.ValidAgentID(strings.TrimSuffix(name, ext)):
			problems = append(problems, fmt.Sprintf("%q cannot name an agent: use 1 to 63 of a-z, "+
				"0-9 and -, then .md, beginning with a letter or digit", name))
		case task.ReservedAgentID(strings.TrimSuffix(name, ext)):
			problems = append(problems, fmt.Sprintf("%q cannot name an agent: the name is that of a page; give the file another", name))
		case !e.Type().IsRegular():
			problems = append(problems, notRegular(name))
		default:
			files = append(files, name)
		}
	}
	return files, problems, nil
}

func notRegular(name string) string {
	return fmt.Sprintf("%q is not a regular file and is not read: put the file itself into the folder", name)
}

// load reads one file, and checks it if it changed or again is true. If it
// returns neither an agent nor a problem, the file was deleted in the meantime.
func (f *Folder) load(name string, again bool) (*task.Agent, string) {
	id := strings.TrimSuffix(name, ext)
	text, err := readFile(filepath.Join(f.dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ""
	case errors.Is(err, errNotRegular):
		return nil, notRegular(name)
	case err != nil:
		return f.serve(unreadable(id, err)), ""
	}
	before, known := f.Agent(id)
	same := known && before.FileHash == textHash(text)
	if same && !again {
		return f.unchanged(before), ""
	}
	a := Parse(id, text, *f.checked)
	if a.LoadedAt = task.TimeFromStd(time.Now()); same && before.Hash == a.Hash {
		a.LoadedAt = before.LoadedAt
	}
	return f.serve(a), ""
}

// unchanged returns the agent as read before, except that its runner may have
// become able or unable to start.
func (f *Folder) unchanged(a task.Agent) *task.Agent {
	if a.Serving && a.Runner != RunnerNone {
		a.PullReason = pullReason(a.Runner, *f.checked)
		a.PullOnly = a.PullReason != ""
	}
	return &a
}

// serve keeps the last valid version in use if the new one is invalid.
func (f *Folder) serve(a task.Agent) *task.Agent {
	if a.Status != task.AgentInvalid {
		f.valid[a.ID] = a
		return &a
	}
	a.FileText = a.Text
	valid, ok := f.valid[a.ID]
	if !ok {
		return &a
	}
	valid.Status, valid.Problems = a.Status, a.Problems
	valid.FileText, valid.FileHash = a.FileText, a.FileHash
	return f.unchanged(valid)
}

func unreadable(id string, err error) task.Agent {
	p := &parser{}
	p.a = task.Agent{ID: id, Name: id, Tools: []string{}, Capabilities: []string{}, MaxParallel: 1}
	p.fatal(1, "Give the account that runs the server permission to read the file", "the file cannot be read: %s", reason(err))
	return p.verdict()
}

// reason returns a file system error without the path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// readFile reads a regular file up to one byte over MaxFile. It follows no link
// and does not block on a pipe.
func readFile(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return "", errNotRegular
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotRegular
	}
	b, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	return string(b), err
}

func textHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
