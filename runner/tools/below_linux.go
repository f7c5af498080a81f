package tools

import (
	"context"
	"os"

	"taskyard/runner/tree"
)

// below lists the living processes below this one.
func below() []tree.Proc { return tree.Below(os.Getpid()) }

// sweep kills what bears a mark in its environment: the second net, for what
// is not below its keeper any more.
func sweep(mark string) {
	ctx, cancel := context.WithTimeout(context.Background(), killUntil)
	defer cancel()
	_, _ = tree.KillAll(ctx, func() []tree.Proc { return tree.Carriers(mark) })
}
