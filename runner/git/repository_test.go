package git

import (
	"os"
	"path/filepath"
	"testing"

	"taskyard/internal/testkit"
)

func TestARepositoryWithPasswordsIsNotReadable(t *testing.T) {
	t.Parallel()
	cases := []struct {
		config   string
		readable bool
	}{
		{"", true},
		{"[remote \"origin\"]\n\turl = https://git.example.org/web.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", true},
		{"[remote \"origin\"]\n\turl = git@git.example.org:web.git\n", true},
		{"[remote \"origin\"]\n\turl = ssh://git@git.example.org/web.git\n[user]\n\temail = maya@example.org\n", true},
		{"[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[gc]\n\tauto = 0\n", true},
		{"[remote \"origin\"]\n\turl = https://ci:secret@git.example.org/web.git\n", false},
		{"[remote \"origin\"]\n\turl = https://ghp_secret@git.example.org/web.git\n", false},
		{"[remote \"origin\"]\n\turl = ssh://git:secret@git.example.org/web.git\n", false},
		{"[remote \"origin\"]\n\tproxy = HTTP://me:secret@proxy.example.org\n", false},
		{"[branch \"main\"]\n\tremote = https://secret@git.example.org/web.git\n", false},
		{"[http \"https://git.example.org/\"]\n\textraheader = AUTHORIZATION: basic c2VjcmV0\n", false},
		{"[credential]\n\thelper = store --file .git/passwords\n", false},
		{"[url \"https://secret@git.example.org/\"]\n\tinsteadOf = https://git.example.org/\n", false},
		{"[core]\n\tsshCommand = sshpass -p secret ssh\n", false},
		{"[include]\n\tpath = more\n", false},
		{"[extensions]\n\tworktreeConfig = true\n", false},
	}
	for _, c := range cases {
		dir := t.TempDir()
		g, err := Find()
		if err != nil {
			t.Skip(err)
		}
		if _, err := g.At(dir).Run(t.Context(), nil, "init", "-q"); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
		testkit.NoError(t, err)
		if _, err := f.WriteString(c.config); err != nil {
			t.Fatal(err)
		}
		testkit.NoError(t, f.Close())
		r, err := Open(t.Context(), dir)
		testkit.NoError(t, err)
		if got := r.Readable(t.Context()); got != c.readable {
			t.Errorf("got readable = %v with\n%s", got, c.config)
		}
	}
}

func TestHooksOfTheConfigurationAreDisabled(t *testing.T) {
	t.Parallel()
	dir, other := testkit.Repository(t, map[string]string{"a.txt": "one\n"}), filepath.Join(t.TempDir(), "other")
	testkit.Git(t, dir, "worktree", "add", "-q", other)
	testkit.Git(t, dir, "config", "extensions.worktreeConfig", "true")
	arm := func(folder, scope string, names ...string) {
		for _, name := range names {
			testkit.Git(t, folder, "config", scope, "hook."+name+".event", "reference-transaction")
			testkit.Git(t, folder, "config", scope, "hook."+name+".command", "false")
			testkit.Git(t, folder, "config", scope, "hook."+name+".enabled", "true")
		}
	}
	arm(dir, "--local", "evil", "Two.Words = more", "reference-transaction")
	arm(dir, "--worktree", "mine")
	arm(other, "--worktree", "theirs")
	r, err := Open(t.Context(), dir)
	testkit.NoError(t, err)
	disabled := func(g Git, names ...string) {
		t.Helper()
		for _, name := range names {
			if got, err := g.Run(t.Context(), nil, "config", "--get", "hook."+name+".enabled"); err != nil || got != "false" {
				t.Errorf("hook %s: got enabled = %q, %v", name, got, err)
			}
		}
	}
	disabled(r.Git, "evil", "Two.Words = more", "reference-transaction", "mine")
	g, err := r.Worktree(t.Context(), dir, testkit.Git(t, other, "rev-parse", "--absolute-git-dir"))
	testkit.NoError(t, err)
	disabled(g, "evil", "Two.Words = more", "theirs")
}
