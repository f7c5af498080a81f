package repository

import (
	"context"
	"strings"

	"taskyard/runner/git"
	"taskyard/task"
)

// push pushes a merge to a remote. It executes nothing that the repository
// names, and uses the credentials of the server's account.
func (r *repo) push(ctx context.Context, o task.MergeOrder, after string) error {
	if !task.ValidBranch(o.Push) {
		return waitsErrorf("%s is merged, but not pushed: %s cannot be the name of a remote", o.Into, o.Push)
	}
	g := r.Git.Set("protocol.https.allow=always", "protocol.ssh.allow=always", "protocol.file.allow=always", "push.gpgSign=false",
		"push.recurseSubmodules=no", "push.followTags=false", "remote."+o.Push+".receivepack=git-receive-pack", "core.gitProxy=").
		With("GIT_SSH_COMMAND=" + r.account(ctx, "core.sshCommand", "ssh -oBatchMode=yes"))
	if helper := r.account(ctx, "credential.helper", ""); helper != "" {
		g = g.Set("credential.helper=" + helper)
	}
	out, err := g.Run(ctx, nil, "push", "--quiet", "--no-verify", "--porcelain", "--receive-pack=git-receive-pack", "--end-of-options",
		o.Push, after+":refs/heads/"+o.Into)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case r.onRemote(ctx, g, o, after):
		return nil
	}
	reason := git.Reason(err)
	for line := range strings.Lines(out) { // "!\t<from>:<to>\t[rejected] (fetch first)"
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 && f[0] == "!" {
			reason = f[2] + ": " + reason
		}
	}
	return waitsErrorf("%s is merged, but could not be pushed to %s: %s", o.Into, o.Push, reason)
}

// onRemote reports whether the branch of the remote has a merge already: people
// have pushed it, with what the remote had besides. Git refuses to push it then.
func (r *repo) onRemote(ctx context.Context, g git.Git, o task.MergeOrder, after string) bool {
	ref := "refs/heads/" + o.Into
	out, err := g.Run(ctx, nil, "ls-remote", "--quiet", "--upload-pack=git-upload-pack", "--end-of-options", o.Push, ref)
	tip, _, _ := strings.Cut(out, "\t")
	if err != nil || !isCommit(tip) {
		return false
	}
	if r.checkCommits(ctx, tip) != nil { // --refmap= leaves the branches that follow the remote as they are
		_, _ = g.Run(ctx, nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=",
			"--upload-pack=git-upload-pack", "--end-of-options", o.Push, ref)
	}
	return r.IsAncestor(ctx, tip, after)
}

// account returns a setting of the server's account, never of the repository.
func (r *repo) account(ctx context.Context, name, otherwise string) string {
	value, err := r.Git.Run(ctx, nil, "config", "--global", "--get", name)
	if err != nil || strings.TrimSpace(value) == "" {
		return otherwise
	}
	return value
}
