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

// SystemFile is the configuration of the packaged service.
const SystemFile = "/etc/taskyard/" + FileName

// database is the file that identifies the data folder of an instance.
const database = "taskyard.db"

// LoadOptions configures the layers.
type LoadOptions struct {
	File    string            // "": TASKYARD_CONFIG, else FileName in the data folder, else System; those two may not exist
	System  string            // SystemFile, or "": none
	Environ []string          // "NAME=value", as returned by os.Environ
	Flags   map[string]string // by dotted key, only flags that were given

	// Workspace returns why runs may not work in a runner's workspace, or write
	// to a folder, if data is the data folder; nil: any is allowed.
	Workspace func(workspace, data string) error
}

// Sources maps dotted keys to where their values came from: "default",
// "data/taskyard.toml:12", "TASKYARD_LISTEN", "flag --listen" or "flag --set
// runs.attempts".
type Sources map[string]string

const fromDefault = "default"

// loader collects values, their sources and all errors.
type loader struct {
	values  map[string]any
	sources Sources
	refused map[string]bool // names with invalid values
	errs    []error

	read      string   // path of the file
	unknown   []string // variables that are not keys
	workspace func(workspace, data string) error
}

// Load loads all layers: defaults, file, variables, flags; later ones take
// precedence. The error joins one line for each wrong key or value.
func Load(opts LoadOptions) (*Config, Sources, error) {
	c, err := loadFrom(opts, os.ReadFile)
	if err != nil {
		return nil, nil, err
	}
	return c, c.sources, nil
}

// loadFrom is like Load, with a function that reads the file.
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

// dataFolder returns where to look for the file before it is read, and whether
// a flag or a variable names the folder.
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

// path returns the path of the file. own: it is in the data folder; named: it
// must exist. An instance in ./data never uses the system's file, which
// configures another one.
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

// set checks one value and stores it with its source, or records the error.
func (l *loader) set(name string, v any, source string) {
	if name == "log_level" {
		name = "log.level" // its name in earlier versions
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

// file loads the TOML file.
func (l *loader) file(opts LoadOptions, read func(path string) ([]byte, error)) {
	path, own, named := opts.path()
	text, err := read(path)
	if !named && (errors.Is(err, fs.ErrNotExist) || !own && errors.Is(err, fs.ErrPermission)) {
		return // only the service can read its file
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

// config stores the values in the struct.
func (l *loader) config() *Config {
	c := &Config{values: l.values, file: l.read}
	for name, v := range l.values {
		assign(reflect.ValueOf(c).Elem(), name, reflect.ValueOf(v))
	}
	return c
}

// assign stores a checked value in the field whose tags form its dotted name,
// directly or within structs and maps of structs. TestKeysAndFieldsAgree
// ensures that it exists.
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
