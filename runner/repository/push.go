package repository

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"taskyard/runner/git"
	"taskyard/task"
)

// push pushes a merge to a remote. Of the repository's configuration it uses
// only the address: an agent that may write there must not choose programs,
// proxies or files. Credentials are those of the server's account.
func (r *repo) push(ctx context.Context, o task.MergeOrder, after string) error {
	refuse := func(reason string) error {
		return waitsErrorf("%s is merged, but could not be pushed to %s: %s. Push it yourself, or remove the remote from the project: "+
			"later merges into %[1]s wait", o.Into, o.Push, strings.TrimRight(task.ClipText(reason, 160), "."))
	}
	if !task.ValidBranch(o.Push) {
		return waitsErrorf("%s is merged, but not pushed: %s cannot be the name of a remote", o.Into, o.Push)
	}
	list, err := r.Git.Run(ctx, nil, "remote", "get-url", "--push", "--all", "--end-of-options", o.Push)
	if err != nil {
		return refuse(git.Reason(err))
	}
	pusher := r.pusher(ctx)
	for address := range strings.Lines(list) {
		to, err := r.remote(ctx, strings.TrimSuffix(address, "\n"))
		if err != nil {
			return refuse(git.Reason(err))
		}
		g := pusher
		if !strings.Contains(to.address, "=") { // url.*.insteadOf of the account was applied already
			g = g.Set("url."+to.address+".insteadOf="+to.address, "url."+to.address+".pushInsteadOf="+to.address)
		}
		out, err := g.Run(ctx, nil, "push", "--quiet", "--no-verify", "--porcelain", "--receive-pack="+to.receive, "--end-of-options",
			to.address, after+":refs/heads/"+o.Into)
		switch {
		case err == nil:
			r.track(ctx, o, after)
			continue
		case ctx.Err() != nil:
			return err
		case r.onRemote(ctx, g, to, o, after):
			continue
		}
		reason, _, _ := strings.Cut(git.Reason(err), " Please make sure")
		for line := range strings.Lines(out) { // "!\t<from>:<to>\t[rejected] (fetch first)"
			if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 && f[0] == "!" {
				reason = f[2] + ": " + reason
			}
		}
		return refuse(reason)
	}
	return nil
}

// remote is a repository to push to.
type remote struct{ address, receive, upload string } // the last two are programs that it starts

// remote returns the remote at an address. If that is on this machine, Git
// starts programs there, which must not start those that its configuration
// names. It finds the folder as Git does. Errors: those of git.Open.
func (r *repo) remote(ctx context.Context, address string) (remote, error) {
	path := address
	if u, err := url.Parse(address); err == nil && u.Scheme == "file" {
		path = u.Path
	} else if colon := strings.IndexByte(address, ':'); colon >= 0 && !strings.Contains(address[:colon], "/") {
		return remote{address, "git-receive-pack", "git-upload-pack"}, nil
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(os.Getenv("HOME"), rest)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(r.Path, path)
	}
	path = strings.TrimSuffix(filepath.Clean(path), "/.git")
	if _, err := os.Stat(path); err != nil {
		path += ".git"
	}
	to, err := git.Open(ctx, path)
	if err != nil {
		return remote{}, err
	}
	g := to.Git.Set("receive.denyCurrentBranch=refuse")
	return remote{path, g.Shell("receive-pack"), g.Shell("upload-pack")}, nil
}

// track moves the branch that follows the remote, as Git does after a push.
func (r *repo) track(ctx context.Context, o task.MergeOrder, after string) {
	if ref := "refs/remotes/" + o.Push + "/" + o.Into; r.Commit(ctx, ref) != "" {
		_, _ = r.Git.Run(ctx, nil, "update-ref", "-m", "taskyard", ref, after)
	}
}

// onRemote reports whether the branch of the remote has a merge already: people
// have pushed it, with what the remote had besides. Git refuses to push it then.
func (r *repo) onRemote(ctx context.Context, g git.Git, to remote, o task.MergeOrder, after string) bool {
	ref := "refs/heads/" + o.Into
	out, err := g.Run(ctx, nil, "ls-remote", "--quiet", "--upload-pack="+to.upload, "--end-of-options", to.address, ref)
	tip, _, _ := strings.Cut(out, "\t")
	if err != nil || !isCommit(tip) {
		return false
	}
	if r.checkCommits(ctx, tip) != nil {
		// Without a reference to what is here, Git fetches the whole history.
		_, _ = g.Run(ctx, nil, "update-ref", "refs/taskyard/merged", after)
		_, _ = g.Run(ctx, nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=",
			"--upload-pack="+to.upload, "--end-of-options", to.address, ref)
	}
	return r.IsAncestor(ctx, tip, after)
}

// pusher returns Git for pushes, with the credentials of the server's account.
func (r *repo) pusher(ctx context.Context) git.Git {
	ssh, _ := r.account.Run(ctx, nil, "config", "--get", "core.sshCommand") // an error if it is not set
	g := r.account.Set("protocol.https.allow=always", "protocol.ssh.allow=always", "protocol.file.allow=always", "push.gpgSign=false",
		"push.recurseSubmodules=no", "push.followTags=false", "core.gitProxy=").
		With("GIT_SSH_COMMAND=" + cmp.Or(strings.TrimSpace(ssh), "ssh -oBatchMode=yes"))
	// Every call of ours ends with credential.helper=, which disables all of them.
	list, _ := r.account.Run(ctx, nil, "config", "--null", "--get-regexp", `^credential\.(.*\.)?helper$`)
	helpers := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	for _, setting := range helpers[:len(helpers)-1] {
		g = g.Set(strings.Replace(setting, "\n", "=", 1))
	}
	return g
}
