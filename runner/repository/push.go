package repository

import (
	"context"
	"strings"

	"taskyard/runner/git"
	"taskyard/task"
)

// push brings a merge to a remote. What the repository names is not run: the
// credentials are those of the account of the server.
func (r *repo) push(ctx context.Context, o task.MergeOrder, after string) error {
	if !task.ValidBranch(o.Push) {
		return waits("%s is merged, but not pushed: %s cannot be the name of a remote", o.Into, o.Push)
	}
	g := r.Git.Set("protocol.https.allow=always", "protocol.ssh.allow=always", "protocol.file.allow=always", "push.gpgSign=false",
		"push.recurseSubmodules=no", "push.followTags=false", "remote."+o.Push+".receivepack=git-receive-pack", "core.gitProxy=").
		With("GIT_SSH_COMMAND=" + r.account(ctx, "core.sshCommand", "ssh -oBatchMode=yes"))
	if helper := r.account(ctx, "credential.helper", ""); helper != "" {
		g = g.Set("credential.helper=" + helper)
	}
	_, err := g.Run(ctx, nil, "push", "--quiet", "--no-verify", "--porcelain", "--receive-pack=git-receive-pack", "--end-of-options",
		o.Push, after+":refs/heads/"+o.Into)
	if err != nil && ctx.Err() == nil {
		return waits("%s is merged, but could not be pushed to %s: %s", o.Into, o.Push, git.Reason(err))
	}
	return err
}

// account is a setting of the account of the server, never of the repository.
func (r *repo) account(ctx context.Context, name, otherwise string) string {
	value, err := r.Git.Run(ctx, nil, "config", "--global", "--get", name)
	if err != nil || strings.TrimSpace(value) == "" {
		return otherwise
	}
	return value
}
