package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// branchWork is two servers with a task whose run works on a branch of a repository
// that they share.
type branchWork struct {
	first, other *server // of which the first has started the run
	person       string
	repo, place  string
	task         task.Task
}

func newBranchWork(t *testing.T) *branchWork {
	t.Helper()
	k := newCluster(t, 2)
	b := &branchWork{repo: newRepo(t), place: t.TempDir() + "/"}
	script := put(t, filepath.Join(t.TempDir(), "agent.sh"), `[ -e "$PLACE/started" ] || echo half >half.txt
echo here >>"$PLACE/started"
while [ ! -e "$PLACE/go" ]; do sleep 0.1; done
echo hello >greeting.txt
echo done
`)
	for _, s := range k.servers {
		s.file("taskyard.toml", fmt.Sprintf("[approval]\npolicy = \"never\"\n[checks]\naccept_weaker = true\n[runners.script]\nkind = \"command\"\n"+
			"command = [\"/bin/sh\", %q]\nenv = { PLACE = %q }\n", script, b.place))
		s.file("agents/coder.md", "---\nname: coder\ndescription: Waits for a file.\ntools: read, edit, bash\nrunner: script\n---\nWork.\n")
		s.start()
	}
	b.first, b.other = k.servers[0], k.servers[1]
	b.person = b.first.token("--scope", "admin")
	api := b.first.api(b.person)
	call[task.Project](t, api, "POST", "/api/projects", projectBody(b.repo))
	create := map[string]any{"title": "Greet", "owner": "coder", "project": "web"}
	b.task = call[task.Task](t, api, "POST", "/api/tasks", create)
	testkit.Eventually(t, "the first run has left half of it", func() bool { return lines(t, b.place+"started") == 1 })
	if strings.Contains(b.other.log.String(), `"run started"`) {
		b.first, b.other = b.other, b.first
	}
	return b
}

// ends lets a run end that the other server has started, and looks at the branch.
func (b *branchWork) ends(t *testing.T, run string) {
	t.Helper()
	put(t, b.place+"go", "")
	testkit.Eventually(t, "run "+run+" has ended", func() bool {
		return call[task.Run](t, b.other.api(b.person), "GET", "/api/runs/"+run, nil).Status == task.RunCompleted
	})
	if got := testkit.Git(t, b.repo, "ls-tree", "--name-only", taskBranch(&b.task)); got != "README.md\ngreeting.txt" {
		t.Errorf("the branch holds %q", got)
	}
}

// kept waits for what the first server had left, on a branch of its own, and returns
// what the page of run 1 says.
func (b *branchWork) kept(t *testing.T) (branch, note string) {
	t.Helper()
	const own = "taskyard/run-1"
	testkit.Eventually(t, "what the first server had left is kept",
		func() bool { return testkit.Git(t, b.repo, "branch", "--list", own) != "" })
	if got := testkit.Git(t, b.repo, "ls-tree", "--name-only", own); got != "README.md\nhalf.txt" {
		t.Errorf("%s holds %q", own, got)
	}
	run := call[struct{ Branch, FilesNote string }](t, b.first.api(b.person), "GET", "/api/runs/1", nil)
	return run.Branch, run.FilesNote
}

// A server dies while a run works on the branch of a task. Another one continues the
// branch, and what the run had left is on another branch once its server is back.
func TestTheBranchOfADeadServersRunIsContinued(t *testing.T) {
	t.Parallel()
	b := newBranchWork(t)
	b.first.kill()
	testkit.Eventually(t, "the other server has started it again", func() bool { return lines(t, b.place+"started") == 2 })
	b.first.start()
	branch, note := b.kept(t)
	if branch != "taskyard/run-1" || !strings.Contains(note, "Another server has continued "+taskBranch(&b.task)) {
		t.Errorf("the lost run names %s and says %q", branch, note)
	}
	b.ends(t, "2")
}

// A server that is stopped puts its run back, and another one continues the same run:
// what it says of its files stays when the first server is back.
func TestARunThatAServerPutBackContinuesOnAnother(t *testing.T) {
	t.Parallel()
	b := newBranchWork(t)
	b.first.term()
	testkit.Eventually(t, "the other server has started it again", func() bool { return lines(t, b.place+"started") == 2 })
	b.ends(t, "1")
	b.first.start()
	if branch, note := b.kept(t); branch != taskBranch(&b.task) || note != "" {
		t.Errorf("the run names %s and says %q", branch, note)
	}
}
