package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// A server dies while a run works on the branch of a task. Another one continues the
// branch, and what the run had left is on another branch once its server is back.
func TestTheBranchOfADeadServersRunIsContinued(t *testing.T) {
	t.Parallel()
	k := newCluster(t, 2)
	repo, place := newRepo(t), t.TempDir()+"/"
	script := filepath.Join(t.TempDir(), "agent.sh")
	put(t, script, `[ -e "$PLACE/started" ] || echo half >half.txt
echo here >>"$PLACE/started"
while [ ! -e "$PLACE/go" ]; do sleep 0.1; done
echo hello >greeting.txt
echo done
`)
	for _, s := range k.servers {
		s.file("taskyard.toml", fmt.Sprintf("[approval]\npolicy = \"never\"\n[checks]\naccept_weaker = true\n[runners.script]\nkind = \"command\"\n"+
			"command = [\"/bin/sh\", %q]\nenv = { PLACE = %q }\n", script, place))
		s.file("agents/coder.md", "---\nname: coder\ndescription: Waits for a file.\ntools: read, edit, bash\nrunner: script\n---\nWork.\n")
		s.start()
	}
	person := k.servers[0].token("--scope", "admin")
	call[task.Project](t, k.servers[0].api(person), "POST", "/api/projects", projectOf(repo))
	create := map[string]any{"title": "Greet", "owner": "coder", "project": "web"}
	tk := call[task.Task](t, k.servers[0].api(person), "POST", "/api/tasks", create)

	testkit.Eventually(t, "the first run has left half of it", func() bool { return lines(t, place+"started") == 1 })
	first, other := k.servers[0], k.servers[1]
	if strings.Contains(other.log.String(), `"run started"`) {
		first, other = other, first
	}
	first.kill()
	testkit.Eventually(t, "the other server has started it again", func() bool { return lines(t, place+"started") == 2 })
	first.start()
	branch := branchOf(&tk)
	testkit.Eventually(t, "what the first run left has a branch of its own", func() bool {
		return strings.Contains(git(t, repo, "branch", "--list", "taskyard/run-*"), "taskyard/run-")
	})
	left := git(t, repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/taskyard/run-*")
	if got := git(t, repo, "ls-tree", "--name-only", left); got != "README.md\nhalf.txt" {
		t.Errorf("%s holds %q", left, got)
	}
	lost := call[struct{ Branch, FilesNote string }](t, first.api(person), "GET", "/api/runs/1", nil)
	if lost.Branch != left || !strings.Contains(lost.FilesNote, "Another server has continued "+branch) {
		t.Errorf("the first run says %+v", lost)
	}
	put(t, place+"go", "")
	testkit.Eventually(t, "the second run has ended", func() bool {
		return call[task.Run](t, first.api(person), "GET", "/api/runs/2", nil).Status == task.RunCompleted
	})
	if got := git(t, repo, "ls-tree", "--name-only", branch); got != "README.md\ngreeting.txt" {
		t.Errorf("%s holds %q", branch, got)
	}
}
