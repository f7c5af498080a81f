package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"taskyard/task"
)

// EditError is an edit with invalid values. The fields are keys.
type EditError struct{ Problems []task.FieldError }

func (e *EditError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Field + ": " + p.Message
	}
	return strings.Join(lines, "\n")
}

// Edit is a validated change of the file that has not been written yet.
type Edit struct {
	Next *Config // resulting configuration of all layers

	path          string
	before, after []byte // former is nil if there is no file
}

// Edit validates new values of settings; nil removes a key from the file, so
// that its default applies. Without values, the file is only read again.
// Errors: *EditError for the values; any other describes a problem of the file.
func (c *Config) Edit(values map[string]*string) (*Edit, error) {
	if c.file != "" && !exists(c.file) { // if the file was deleted by mistake, writing a new one would lose its values
		return nil, fmt.Errorf("%s: the file in use is missing: restore it, or create an empty one to use the defaults", c.file)
	}
	path, _, named := c.opts.path()
	e := &Edit{path: path}
	text, err := os.ReadFile(e.path)
	if err == nil {
		e.before = text
	} else if !errors.Is(err, fs.ErrNotExist) || len(values) == 0 && named {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	e.after = e.before
	if err := c.checkEdit(values); err != nil {
		return nil, err
	}
	for _, s := range settings {
		if v, ok := values[s.name]; ok {
			e.after = setKey(e.after, s.name, v)
		}
	}
	if !bytes.Equal(e.before, e.after) && !changesOnly(e.before, e.after, values) {
		return nil, fmt.Errorf("%s: it is written in a form that cannot be changed automatically: edit it by hand, then send SIGHUP", e.path)
	}
	e.Next, err = loadFrom(c.opts, func(path string) ([]byte, error) {
		if e.after == nil {
			return nil, fs.ErrNotExist
		}
		return e.after, nil
	})
	return e, err
}

func (c *Config) checkEdit(values map[string]*string) error {
	var bad EditError
	for _, name := range slices.Sorted(maps.Keys(values)) {
		message := ""
		k, known := lookup(name)
		switch {
		case !known:
			message = "no key of that name: " + valid(name)
			if table, _ := section(name); !isTable(table) {
				message = "no key of that name: taskyard settings lists them, such as runs.timeout"
			}
		case strings.HasPrefix(name, "notify.") || OfRunners(name):
			message = "is changed only in the configuration file: edit it, then send SIGHUP to the server"
		case !isSetting(name):
			message = "cannot be changed while the server runs: edit the configuration file and restart the server"
		case c.overriddenBy(name) != "":
			message = c.overriddenBy(name)
		case values[name] != nil:
			if _, err := k.kind.read(k.kind.text(*values[name])); err != nil {
				message = err.Error()
			}
		}
		if message != "" {
			bad.Problems = append(bad.Problems, task.FieldError{Field: name, Message: message})
		}
	}
	if len(bad.Problems) > 0 {
		return &bad
	}
	return nil
}

// changesOnly reports whether two texts of a file differ only in these keys,
// and the second has their new values.
func changesOnly(before, after []byte, values map[string]*string) bool {
	a, errA := flat(before)
	b, errB := flat(after)
	if errA != nil || errB != nil {
		return errA != nil // loadFrom reports the error
	}
	for name, v := range values {
		if k, _ := lookup(name); v == nil {
			if _, ok := b[name]; ok {
				return false
			}
		} else if want, err := k.kind.read(k.kind.text(*v)); err != nil {
			return false
		} else if have, err := k.kind.read(b[name]); err != nil || have != want {
			return false
		}
		delete(a, name)
		delete(b, name)
	}
	return reflect.DeepEqual(a, b)
}

// flat parses a file to values by dotted name.
func flat(text []byte) (map[string]any, error) {
	var tree map[string]any
	if err := toml.Unmarshal(bytes.TrimPrefix(text, bom), &tree); err != nil {
		return nil, err
	}
	out := map[string]any{}
	var walk func(prefix string, t map[string]any)
	walk = func(prefix string, t map[string]any) {
		for own, v := range t {
			if table, ok := v.(map[string]any); ok && len(table) > 0 {
				walk(prefix+own+".", table)
			} else if !ok {
				out[prefix+own] = v
			}
		}
	}
	walk("", tree)
	return out, nil
}

// Write replaces the file atomically.
func (e *Edit) Write() error { return e.replace(e.after) }

// Undo restores the previous file.
func (e *Edit) Undo() error { return e.replace(e.before) }

func (e *Edit) replace(text []byte) error {
	if bytes.Equal(e.before, e.after) {
		return nil
	}
	path := e.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if text == nil {
		return os.Remove(path)
	}
	mode := fs.FileMode(0o600)
	if fi, err := os.Stat(path); err == nil {
		mode = fi.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+FileName+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// fileLock returns why the file cannot be replaced, or "".
func fileLock(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := mayWrite(filepath.Dir(path)); err != nil {
		return fmt.Sprintf("the folder of %s cannot be written (%v): edit the file where it comes from", path, err)
	}
	return ""
}
