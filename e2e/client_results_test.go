package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestResultsFromTheShell covers everything from a project to an accepted result,
// without a repository.
func TestResultsFromTheShell(t *testing.T) {
	t.Parallel()
	srv := newServer(t, "serve")
	srv.start()
	person := &shell{t, map[string]string{"TASKYARD_URL": srv.url(), "TASKYARD_TOKEN": srv.firstAdmin()}}
	in := &inside{data: srv.data, url: srv.url()}
	admin, agent := in.shellFor(t, "--scope", "admin"), in.shellFor(t, "--agent", agentName)

	wants(t, admin.ok("", "project", "add", "web", "--approvals", "1", "--check", "name=pr,url,required", "--description", "-"),
		"added web, version 1")
	agent.fails(client.ExitRefused, "403 forbidden", "project", "edit", "web", "--approvals", "0")
	admin.fails(client.ExitUsage, "say what to change", "project", "edit", "web")
	admin.fails(client.ExitRefused, "409 name_taken", "project", "add", "web")
	wants(t, admin.ok("", "project", "edit", "web", "--name", "Web site", "--expires", "3d"), "changed web, version 2")
	shown := admin.ok("", "project", "show", "web")
	wants(t, shown, "web: Web site", "1 approval, reminded after 3d", "pr  a URL is attached, required")

	t.Run("a file contains the whole project", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "web.json")
		text := admin.ok("", "project", "show", "web", "--json")
		put(t, file, text)
		admin.ok("", "project", "edit", "web", "--file", file)
		admin.fails(client.ExitRefused, "409 stale_project", "project", "edit", "web", "--file", file) // of an older version
		admin.ok(strings.Replace(text, `"key":"web"`, `"key":"copy"`, 1), "project", "add", "--file", "-")
		admin.ok("", "project", "archive", "copy")
		wants(t, admin.ok("", "project", "list"), "copy", "Web site (archived)")
		agent.fails(client.ExitRefused, "409 project_archived", "task", "create", "x", "--project", "copy")
		admin.ok("", "project", "restore", "copy")
		wants(t, admin.ok("", "project", "examine", "copy"), "✓ It has no repository")
	})

	id := agent.ok("", "task", "create", "Fix the login", "--project", "web", "--quiet")
	if got := agent.ok("", "task", "list", "--project", "web", "--quiet"); got != id {
		t.Errorf("got the tasks of the project %q", got)
	}
	if got := agent.ok("", "task", "list", "--project", "copy", "--quiet"); got != "" {
		t.Errorf("got the tasks of the other project %q", got)
	}
	agent.fails(client.ExitRefused, "has no repository", "task", "checkout", id)
	agent.ok("", "task", "claim")
	agent.fails(client.ExitRefused, "the required check pr failed", "task", "complete", id, "--summary", "Done")
	wants(t, agent.ok("", "task", "show", id), "Failed checks", "✗ pr failed: the task has no resource of the type url, required")
	agent.ok("", "task", "attach", id, "https://example.org/pull/1")
	agent.ok("", "task", "complete", id, "--summary", "It checks \x1b[31mits fields")

	wants(t, person.ok("", "review", "list"), "Fix the login")
	wants(t, person.ok("", "inbox"), "Results: taskyard review show ID")
	shown = person.ok("", "review", "show", id)
	digest := call[task.Result](t, srv.api(person.env["TASKYARD_TOKEN"]), "GET", "/api/tasks/"+id+"/results/1", nil).Digest
	wants(t, shown, "result 1 of #"+id+": review", `It checks \x1b[31mits fields`, "✓ pr passed",
		"taskyard review accept "+id+" --digest "+digest)

	wants(t, person.ok("Please test it.\n", "review", "comment", id, "-"), "drafted comment 1 on #"+id)
	person.fails(client.ExitUsage, "--line needs --path", "review", "comment", id, "x", "--line", "3")
	person.fails(client.ExitRefused, "409 stale_digest", "review", "accept", id, "--digest", strings.Repeat("0", 64))
	agent.fails(client.ExitRefused, "403 forbidden", "review", "accept", id)
	admin.fails(client.ExitRefused, "each vote belongs to one person", "review", "accept", id)
	wants(t, person.ok("", "review", "request-changes", id, "Not yet"), "requested changes on result 1 of #"+id, "; task idle")

	wants(t, agent.ok("", "task", "show", id), "Result 1: changes requested", "Please test it.")
	wants(t, agent.ok("", "review", "reply", id, "1", "It has a test now", "--state", "fixed"), "comment 1 of #"+id+" is fixed")
	agent.ok("", "task", "claim")
	agent.ok("", "task", "complete", id, "--summary", "With a test")
	said := person.ok("", "review", "accept", id, "--comment", "Good")
	wants(t, said, "result 2 of #"+id+": review", "With a test", "accepted result 2 of #"+id+" (digest ", "); task done")
	person.fails(client.ExitRefused, "409 result_closed", "review", "accept", id)
	wants(t, person.ok("", "task", "history", "--project", "web"), "Fix the login")
	var merges struct{ Queue, Ended []task.MergeEntry }
	if err := json.Unmarshal([]byte(person.ok("", "merge", "--json")), &merges); err != nil || len(merges.Queue)+len(merges.Ended) != 0 {
		t.Errorf("%v, %+v", err, merges)
	}
}

// TestAChangeFromTheShell reviews, checks out and merges a change that an agent made
// in a real repository.
func TestAChangeFromTheShell(t *testing.T) {
	t.Parallel()
	srv := newProjectServer(t, changingArg)
	home := t.TempDir()
	maya := &shell{t, map[string]string{"TASKYARD_URL": srv.url(), "TASKYARD_TOKEN": srv.person.Token, "HOME": home}}
	wants(t, maya.ok("", "project", "examine", "web"), "✓")
	maya.fails(client.ExitRefused, "repository", "project", "edit", "web", "--repository", filepath.Join(home, "none"))
	maya.ok("", "project", "edit", "web", "--default-branch", "main")

	id := maya.ok("", "task", "create", "Write a greeting", "--owner", "coder", "--project", "web", "--quiet")
	srv.awaits(1, "in review", inReview(1))
	wants(t, maya.ok("", "review", "list"), "Write a greeting", "coder")
	wants(t, maya.ok("", "review", "show", id), "✓ test passed", "added   +2 -0  greeting.txt", "taskyard/1-write-a-greeting")

	patch := maya.ok("", "review", "diff", id)
	again := filepath.Join(t.TempDir(), "again")
	testkit.Git(t, srv.repo, "clone", "-q", srv.repo, again)
	put(t, filepath.Join(again, "change.patch"), patch+"\n")
	testkit.Git(t, again, "apply", "change.patch")
	if b, err := os.ReadFile(filepath.Join(again, "greeting.txt")); err != nil || string(b) != "hello\nworld\n" {
		t.Errorf("after the patch, got %q, %v:\n%s", b, err, patch)
	}
	if got := maya.ok("", "review", "diff", id, "--path", "greeting.txt"); got != patch {
		t.Errorf("for the only file, got\n%s\nwant\n%s", got, patch)
	}

	tree := maya.ok("", "task", "checkout", id)
	if want := filepath.Join(home, ".local", "share", "taskyard", "checkouts", "web-1"); tree != want {
		t.Errorf("checked out to %s, want %s", tree, want)
	}
	if b, err := os.ReadFile(filepath.Join(tree, "greeting.txt")); err != nil || string(b) != "hello\nworld\n" {
		t.Errorf("the worktree contains %q, %v", b, err)
	}

	maya.ok("", "review", "comment", id, "Begin with a capital.", "--path", "greeting.txt", "--line", "1")
	maya.ok("", "review", "comment", id, "Both lines.", "--path", "greeting.txt", "--line", "1-2")
	maya.fails(client.ExitUsage, "has no line 7 on its new side", "review", "comment", id, "x", "--path", "greeting.txt", "--line", "7")
	maya.fails(client.ExitRefused, "404", "review", "comment", id, "x", "--path", "none.txt", "--line", "1")
	wants(t, maya.ok("", "review", "show", id), "greeting.txt:1, user:maya (draft)", "> hello", "greeting.txt:1-2", "> world")
	maya.ok("Nearly.\n", "review", "request-changes", id, "-")

	srv.awaits(1, "in review again", inReview(2)) // the worktree did not block the run
	wants(t, maya.ok("", "review", "diff", id, "--since", "1"), "-hello", "+Hello")
	if maya.ok("", "task", "checkout", id); testkit.Git(t, tree, "status", "--porcelain") != "" {
		t.Error("the worktree is not clean")
	}
	if b, err := os.ReadFile(filepath.Join(tree, "greeting.txt")); err != nil || string(b) != "Hello\nWorld\n" {
		t.Errorf("the worktree contains %q, %v", b, err)
	}
	wants(t, maya.ok("", "review", "accept", id), "accepted result 2 of #1", "waits for merge")
	srv.awaits(1, "done", func(tk *task.Task) bool { return tk.Status == task.Done })
	head := testkit.Git(t, srv.repo, "rev-parse", "main")
	wants(t, maya.ok("", "merge", "list", "--project", "web"), "merged", "Write a greeting", head[:12])
}
