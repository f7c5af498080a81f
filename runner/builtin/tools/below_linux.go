package tools

import (
	"context"
	"os"

	"taskyard/runner/tree"
)

// below lists the living processes below this one.
func below() []tree.Proc { return tree.Below(os.Getpid()) }

// sweep is the second net, for what is not below its keeper any more: it kills
// what has a mark in its environment, or has become the server's own.
func sweep(mark string) {
	ctx, cancel := context.WithTimeout(context.Background(), killUntil)
	defer cancel()
	_, _ = tree.KillAll(ctx, func() []tree.Proc { return append(tree.Strays(), tree.Marked(mark)...) })
}
