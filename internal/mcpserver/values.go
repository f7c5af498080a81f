package mcpserver

import "taskyard/task"

// has reports whether an argument was sent, valid or not.
func (v values) has(name string) bool { _, ok := v[name]; return ok }

func value[T any](v values, name string) T {
	x, _ := v[name].(T)
	return x
}

func pointer[T any](v values, name string) *T {
	x, ok := v[name].(T)
	if !ok {
		return nil
	}
	return &x
}

func (v values) text(name string) string   { return value[string](v, name) }
func (v values) id(name string) task.ID    { return value[task.ID](v, name) }
func (v values) bool(name string) bool     { return value[bool](v, name) }
func (v values) ids(name string) []task.ID { return value[[]task.ID](v, name) }

// count returns a number, or the default if none was sent.
func (v values) count(name string, otherwise int) int {
	if n, ok := v[name].(int); ok {
		return n
	}
	return otherwise
}
