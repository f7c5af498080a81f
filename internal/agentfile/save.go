package agentfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"taskyard/task"
)

// Save writes a definition and returns the agent as it is then served. Invalid
// text is rejected with all problems (Invalid), unless force is set; text that
// is not UTF-8, contains NUL or exceeds MaxFile is always rejected. If ifHash
// is not "", the file on disk must have this hash; otherwise the error is
// task.CodeStaleAgent.
func (f *Folder) Save(id, text, ifHash string, force bool) (task.Agent, error) {
	if a, err := f.Accept(id, text, force); err != nil {
		return a, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path := filepath.Join(f.dir, id+ext)
	if err := f.checkHash(path, id, ifHash); err != nil {
		return task.Agent{}, err
	}
	if err := writeAtomic(path, []byte(text)); err != nil {
		return task.Agent{}, writeErr(err)
	}
	if err := f.reloadLocked(); err != nil {
		return task.Agent{}, writeErr(err)
	}
	saved, ok := f.Agent(id)
	if !ok {
		return task.Agent{}, task.Errorf(task.Conflict, task.CodeStaleAgent, "The definition of %s was removed while it was saved", id)
	}
	return saved, nil
}

// Accept returns the agent that a text defines, or the error with which Save
// would reject it.
func (f *Folder) Accept(id, text string, force bool) (task.Agent, error) {
	if !task.ValidAgentID(id) {
		return task.Agent{}, task.FieldErrorf("id", "must be 1 to 63 of a-z, 0-9 and -, beginning with a letter or digit")
	}
	if task.ReservedAgentID(id) {
		return task.Agent{}, task.FieldErrorf("id", "may not be %s: the name is that of a page", id)
	}
	a := Parse(id, text, *f.opt())
	if a.Status == task.AgentInvalid && (!force || !isText(text)) {
		return a, invalid(a)
	}
	return a, nil
}

// isText reports whether a definition can be stored at all.
func isText(s string) bool {
	return len(s) <= MaxFile && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// Delete deletes a definition. It returns task.CodeAgentNotFound if there is
// none.
func (f *Folder) Delete(id string) error {
	notFound := task.Errorf(task.NotFound, task.CodeAgentNotFound, "Agent not found: %s", task.ClipChars(id, 60))
	if !task.ValidAgentID(id) {
		return notFound
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path := filepath.Join(f.dir, id+ext)
	if info, err := os.Lstat(path); err != nil && errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return notFound
	}
	if err := os.Remove(path); err != nil {
		return writeErr(err)
	}
	if err := syncDir(f.dir); err != nil {
		return writeErr(err)
	}
	if err := f.reloadLocked(); err != nil {
		return writeErr(err)
	}
	return nil
}

// checkHash returns an error if the file is not the version that its author has
// seen.
func (f *Folder) checkHash(path, id, ifHash string) error {
	text, err := readFile(path)
	switch {
	case errors.Is(err, errNotRegular):
		return task.Errorf(task.Conflict, task.CodeStaleAgent, "%s%s is not a regular file; remove it from the agents folder first", id, ext)
	case errors.Is(err, fs.ErrNotExist):
		if ifHash != "" {
			return Stale(id, true)
		}
	case ifHash == "":
	case err != nil:
		return writeErr(err)
	case textHash(text) != ifHash:
		return Stale(id, false)
	}
	return nil
}

// Stale returns the error for an author whose definition was changed or deleted
// by someone else in the meantime.
func Stale(id string, deleted bool) error {
	how := "changed"
	if deleted {
		how = "was deleted"
	}
	return task.Errorf(task.Conflict, task.CodeStaleAgent, "The definition of %s %s since you read it", id, how)
}

func invalid(a task.Agent) error {
	e := task.Errorf(task.Invalid, task.CodeInvalidField, "The definition of %s is invalid", a.ID)
	for _, p := range a.Problems {
		message := fmt.Sprintf("line %d: %s", p.Line, p.Message)
		if p.Hint != "" {
			message += ". " + p.Hint
		}
		e.Fields = append(e.Fields, task.FieldError{Field: "text", Message: message})
	}
	return e
}

func writeErr(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return task.Errorf(task.Full, task.CodeDiskFull, "The disk is full: the definition was not written")
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return task.Errorf(task.Unavailable, task.CodeUnavailable, "The agents folder cannot be written: %s", reason(err))
	}
	return fmt.Errorf("write agent definition: %w", err)
}

// writeAtomic replaces a file atomically, also if the power fails.
func writeAtomic(path string, text []byte) (err error) {
	dir, name := filepath.Split(path)
	tmp, err := os.CreateTemp(dir, "."+strings.TrimPrefix(name, ".")+".tmp-*") // a dotfile: not an agent
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Defined reports whether a file with this agent's name exists, valid or not,
// or whether its existence cannot be determined.
func (f *Folder) Defined(id string) bool {
	_, err := os.Lstat(filepath.Join(f.dir, id+ext))
	return !errors.Is(err, fs.ErrNotExist)
}
