package tools

import (
	"context"
	"os"

	"taskyard/runner/tree"
)

// below returns the living descendants of this process.
func below() []tree.Proc { return tree.Below(os.Getpid()) }

// sweep catches processes that are no longer descendants of their keeper. It
// kills those that have a mark in their environment, or have been reparented to
// the server.
func sweep(mark string) {
	ctx, cancel := context.WithTimeout(context.Background(), killUntil)
	defer cancel()
	_, _ = tree.KillAll(ctx, func() []tree.Proc { return append(tree.Strays(), tree.Marked(mark)...) })
}
