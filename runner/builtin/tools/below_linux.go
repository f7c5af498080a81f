package tools

import (
	"context"
	"os"

	"taskyard/runner/tree"
)

// descendants returns the living descendants of this process.
func descendants() []tree.Proc { return tree.Descendants(os.Getpid()) }

// killStrays catches processes that are no longer descendants of their keeper. It
// kills those that have a mark in their environment, or have been reparented to
// the server.
func killStrays(mark string) {
	ctx, cancel := context.WithTimeout(context.Background(), killUntil)
	defer cancel()
	_, _ = tree.KillAll(ctx, func() []tree.Proc { return append(tree.Strays(), tree.Marked(mark)...) })
}
