package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// branchWork is two servers with a task whose run works on a branch of a shared
// repository.
type branchWork struct {
	first, other *server // the first has started the run
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
	testkit.Eventually(t, "the first run has done half of its work", func() bool { return lines(t, b.place+"started") == 1 })
	if strings.Contains(b.other.log.String(), `"run started"`) {
		b.first, b.other = b.other, b.first
	}
	return b
}

// finishRun lets a run end that the other server has started, and checks the branch.
func (b *branchWork) finishRun(t *testing.T, run string) {
	t.Helper()
	put(t, b.place+"go", "")
	testkit.Eventually(t, "run "+run+" has ended", func() bool {
		return call[task.Run](t, b.other.api(b.person), "GET", "/api/runs/"+run, nil).Status == task.RunCompleted
	})
	if got := testkit.Git(t, b.repo, "ls-tree", "--name-only", taskBranch(&b.task)); got != "README.md\ngreeting.txt" {
		t.Errorf("the branch contains %q", got)
	}
}

// keptWork waits until what the first server left is kept on its own branch, and
// returns what the page of run 1 shows.
func (b *branchWork) keptWork(t *testing.T) (branch, note string) {
	t.Helper()
	const own = "taskyard/run-1"
	testkit.Eventually(t, "what the first server left is kept",
		func() bool { return testkit.Git(t, b.repo, "branch", "--list", own) != "" })
	if got := testkit.Git(t, b.repo, "ls-tree", "--name-only", own); got != "README.md\nhalf.txt" {
		t.Errorf("%s contains %q", own, got)
	}
	run := call[struct{ Branch, FilesNote string }](t, b.first.api(b.person), "GET", "/api/runs/1", nil)
	return run.Branch, run.FilesNote
}

// A server dies while a run works on the branch of a task. Another one continues the
// branch, and what the run left is on its own branch once its server is back.
func TestTheBranchOfAKilledServersRunIsContinued(t *testing.T) {
	t.Parallel()
	b := newBranchWork(t)
	b.first.kill()
	testkit.Eventually(t, "the other server has started it again", func() bool { return lines(t, b.place+"started") == 2 })
	b.first.start()
	branch, note := b.keptWork(t)
	if branch != "taskyard/run-1" || !strings.Contains(note, "Another server has continued "+taskBranch(&b.task)) {
		t.Errorf("got the branch %s of the lost run, note %q", branch, note)
	}
	b.finishRun(t, "2")
}

// A stopped server requeues its run, and another one continues the same run: what it
// reports about its files is kept after the first server is back.
func TestARequeuedRunContinuesOnAnotherServer(t *testing.T) {
	t.Parallel()
	b := newBranchWork(t)
	b.first.term()
	testkit.Eventually(t, "the other server has started it again", func() bool { return lines(t, b.place+"started") == 2 })
	b.finishRun(t, "1")
	b.first.start()
	if branch, note := b.keptWork(t); branch != taskBranch(&b.task) || note != "" {
		t.Errorf("got the branch %s of the run, note %q", branch, note)
	}
}
