package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// FileName is the file that Load looks for in the data folder.
const FileName = "taskyard.toml"

// SystemFile is the configuration of the service that a package installs.
const SystemFile = "/etc/taskyard/" + FileName

// database is the file that makes a folder the data folder of an instance.
const database = "taskyard.db"

// LoadOptions says where the layers come from.
type LoadOptions struct {
	File    string            // "" means TASKYARD_CONFIG, else FileName in the data folder, else System; those two may be absent
	System  string            // SystemFile, or "" for none
	Environ []string          // "NAME=value", as os.Environ gives it
	Flags   map[string]string // by dotted key, only those that were given

	// Workspace says why runs may not work in a workspace of the runners, or
	// write in a folder, when data is the data folder; nil: they may anywhere.
	Workspace func(workspace, data string) error
}

// Sources says by dotted key where a value came from: "default",
// "data/taskyard.toml:12", "TASKYARD_LISTEN", "flag --listen" or "flag --set runs.attempts".
type Sources map[string]string

const fromDefault = "default"

// loader gathers values, their sources and everything that is wrong.
type loader struct {
	values  map[string]any
	sources Sources
	refused map[string]bool // names whose value was wrong
	errs    []error

	read      string   // path of the file
	strangers []string // variables that are no key
	workspace func(workspace, data string) error
}

// Load reads all layers: defaults, file, variables, flags; later ones win.
// The error joins one line for each wrong key or value.
func Load(opts LoadOptions) (*Config, Sources, error) {
	c, err := loadFrom(opts, os.ReadFile)
	if err != nil {
		return nil, nil, err
	}
	return c, c.sources, nil
}

// loadFrom is Load with what reads the file.
func loadFrom(opts LoadOptions, read func(path string) ([]byte, error)) (*Config, error) {
	l := &loader{values: map[string]any{}, sources: Sources{}, refused: map[string]bool{}, workspace: opts.Workspace}
	for _, k := range keys {
		if k.def != nil {
			l.set(k.name, k.def, fromDefault)
		}
	}
	l.file(opts, read)
	l.environ(opts.Environ)
	l.flags(opts.Flags)
	l.checkVariables()
	l.checkSections()
	if err := errors.Join(l.errs...); err != nil {
		return nil, err
	}
	c := l.config()
	c.sources, c.opts = l.sources, opts
	return c, nil
}

// dataFolder returns where to look for the file before it can be read, and
// whether a flag or a variable names it.
func (o LoadOptions) dataFolder() (folder string, named bool) {
	if d := cmp.Or(o.Flags["data"], o.variable(envName("data"))); d != "" {
		return d, true
	}
	k, _ := lookup("data")
	return k.def.(string), false
}

func (o LoadOptions) variable(name string) string {
	for _, entry := range o.Environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}

// path is where the file is. own: it is the one in the data folder; named: it
// must be there. An instance in ./data is never configured by the system's file, which
// is about another one.
func (o LoadOptions) path() (path string, own, named bool) {
	if path = cmp.Or(o.File, o.variable(ConfigVariable)); path != "" {
		return path, false, true
	}
	data, chosen := o.dataFolder()
	path = filepath.Join(data, FileName)
	if o.System == "" || !exists(o.System) || exists(path) || !chosen && exists(filepath.Join(data, database)) {
		return path, true, false
	}
	return o.System, false, false
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// set checks one value and keeps it with its source, or notes what is wrong.
func (l *loader) set(name string, v any, source string) {
	if name == "log_level" {
		name = "log.level" // as it was called before there was a section
	}
	k, ok := lookup(name)
	if !ok {
		l.errs = append(l.errs, fmt.Errorf("%s: unknown key %q: %s", source, name, valid(name)))
		return
	}
	typed, err := k.kind.read(v)
	if err != nil {
		l.refused[name] = true
		l.errs = append(l.errs, fmt.Errorf("%s: %s: %w", source, name, err))
		return
	}
	l.values[name], l.sources[name] = typed, source
}

// file reads the TOML file.
func (l *loader) file(opts LoadOptions, read func(path string) ([]byte, error)) {
	path, own, named := opts.path()
	text, err := read(path)
	if !named && (errors.Is(err, fs.ErrNotExist) || !own && errors.Is(err, fs.ErrPermission)) {
		return // the file of the service is not for everybody
	}
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("configuration file: %w", err))
		return
	}
	l.read = path
	l.toml(path, text)
	data, _ := opts.dataFolder()
	if d, ok := l.values["data"].(string); own && ok && !sameFolder(d, data) && l.sources["data"] != fromDefault {
		l.errs = append(l.errs, fmt.Errorf("%s: data: %q is not the folder that this file is in: give "+
			"the folder with --data, or this file with --config", l.sources["data"], d))
	}
}

func sameFolder(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// config turns the values into the struct.
func (l *loader) config() *Config {
	c := &Config{values: l.values, file: l.read}
	for name, v := range l.values {
		assign(reflect.ValueOf(c).Elem(), name, reflect.ValueOf(v))
	}
	return c
}

// assign stores a checked value in the field that has its dotted name as tag,
// directly or within structs and maps of structs. TestKeysAndFieldsAgree holds
// that there is one.
func assign(to reflect.Value, name string, v reflect.Value) {
	own, rest, below := strings.Cut(name, ".")
	var field reflect.Value
	for f, value := range to.Fields() {
		if f.Tag.Get("toml") == own {
			field = value
		}
	}
	switch {
	case below && field.Kind() == reflect.Struct:
		assign(field, rest, v)
	case below: // a map: its structs cannot be changed in place
		key, rest, _ := strings.Cut(rest, ".")
		if field.IsNil() {
			field.Set(reflect.MakeMap(field.Type()))
		}
		element := reflect.New(field.Type().Elem()).Elem()
		if old := field.MapIndex(reflect.ValueOf(key)); old.IsValid() {
			element.Set(old)
		}
		assign(element, rest, v)
		field.SetMapIndex(reflect.ValueOf(key), element)
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		field.Elem().Set(v)
	default:
		field.Set(v)
	}
}
