//go:build !linux

package tools

import (
	"context"
	"errors"
	"io"

	"taskyard/runner/tree"
)

// refusedShell returns why bash does not run here.
func refusedShell(Options) string { return "bash is off: it is confined on Linux only" }

// Level returns how bash is confined.
func Level(Options) string { return "none" }

// ToolShellMain is supported on Linux only; there is no keeper elsewhere.
func ToolShellMain([]string) (exitCode int) { return 2 }

func (b *Box) shell(context.Context, bashArgs) (Result, error) {
	return Result{}, errStopped
}

// Level returns how bash is confined in this box.
func (b *Box) Level() string { return Level(b.opts) }

// Exec is supported on Linux only.
func (b *Box) Exec(context.Context, string, io.Writer) (tree.End, error) {
	return tree.End{}, errors.New(refusedShell(b.opts))
}
