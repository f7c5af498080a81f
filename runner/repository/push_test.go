//go:build linux

package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

// Not in parallel: the address depends on the account of the process.
func TestAPushFindsARemoteAsGitDoes(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	s := newSite(t, files{"a.txt": "one\n"})
	remote, clone := filepath.Join(home, "remote.git"), filepath.Join(home, "clone")
	s.git("clone", "-q", "--bare", s.repo, remote)
	s.git("clone", "-q", s.repo, clone)
	testkit.Git(t, clone, "checkout", "-q", "--detach")
	s.branch("fix", "main", files{"a.txt": "two\n"})
	o := s.order(1, "fix")
	m := s.apply(o)
	s.git("remote", "add", "origin", remote)
	o.Push = "origin"
	relative, err := filepath.Rel(s.repo, remote)
	testkit.NoError(t, err)
	pushed := func(address, to string) {
		t.Helper()
		testkit.Git(t, to, "update-ref", "refs/heads/main", m.Before)
		s.git("remote", "set-url", "origin", address)
		if err := s.rs.Advance(t.Context(), o, m.Before, m.After); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		same(t, address, testkit.Git(t, to, "rev-parse", "main"), m.After)
	}
	for address, to := range map[string]string{
		remote: remote, "~/remote.git": remote, "~/remote": remote, filepath.Join(home, "remote"): remote, relative: remote,
		"file://" + home + "/remote": remote, filepath.Join(clone, ".git"): clone, clone: clone,
	} {
		pushed(address, to)
	}
	t.Run("and replaces its beginning once", func(t *testing.T) {
		rules := "[url \"" + home + "/\"]\n\tinsteadOf = /short/\n" +
			"[url \"/none/\"]\n\tinsteadOf = " + home + "/\n\tpushInsteadOf = " + home + "/\n"
		ok(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(rules), 0o600))
		pushed("/short/remote.git", remote)
	})
}

// Not in parallel: the configuration is that of the process's account.
func TestAPushUsesAllCredentialHelpersOfTheAccount(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	s := newSite(t, files{"a.txt": "one\n"})
	s.git("config", "credential.https://github.com.helper", "!echo username=evil; echo password=evil; :")
	s.git("config", "core.sshCommand", "evil")
	says := func(name string) string { return "\thelper = \"!echo username=" + name + "; echo password=x; :\"\n" }
	for file, text := range map[string]string{
		".gitconfig": "[credential \"https://github.com\"]\n\thelper =\n" + says("github") + "[include]\n\tpath = more\n",
		"more":       "[credential]\n" + says("other") + "[core]\n\tsshCommand = touch " + home + "/ran && false\n",
	} {
		ok(t, os.WriteFile(filepath.Join(home, file), []byte(text), 0o600))
	}
	r, err := s.rs.open(t.Context(), s.repo)
	ok(t, err)
	g := r.pusher(t.Context())
	for host, want := range map[string]string{"github.com": "github", "gitlab.com": "other"} {
		out, err := g.Run(t.Context(), strings.NewReader("protocol=https\nhost="+host+"\n\n"), "credential", "fill")
		if err != nil || !strings.Contains(out, "username="+want+"\n") {
			t.Errorf("%s: got %q, %v", host, out, err)
		}
	}
	_, _ = g.Run(t.Context(), nil, "ls-remote", "ssh://git.example/web.git")
	_, err = os.Stat(filepath.Join(home, "ran"))
	ok(t, err)
}
