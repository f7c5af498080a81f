package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// TestOnlyWhatWasAcceptedIsMerged moves the branch of a task to other content after
// its result was created, before people accept it and while its merge waits: only
// the commit that they reviewed is merged.
func TestOnlyWhatWasAcceptedIsMerged(t *testing.T) {
	t.Parallel()
	srv := newProjectServer(t, changingArg)
	clone := srv.peopleWork()
	write := func(name, text string) {
		t.Helper()
		testkit.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	changes := map[string]func(file, branch string){
		"pushed": func(file, branch string) { // forced, with unreviewed content
			testkit.Git(t, clone, "checkout", "-qf", branch)
			write(filepath.Join(clone, file), "of nobody\n")
			testkit.Git(t, clone, "commit", "-qam", "Another change", "--amend")
			testkit.Git(t, clone, "push", "-qf", "origin", branch)
		},
		"renamed": func(_, branch string) { testkit.Git(t, srv.repo, "branch", "-qM", branch, branch+"-renamed") },
		"deleted": func(_, branch string) { testkit.Git(t, srv.repo, "branch", "-qD", branch) },
		"emptied": func(_, branch string) { testkit.Git(t, srv.repo, "branch", "-qf", branch, "main") },
	}
	type submitted struct {
		tk     task.Task
		file   string
		accept func()
		change func()
	}
	submit := func(when string) (all []submitted) {
		testkit.Git(t, clone, "fetch", "-q", "origin")
		for name, change := range changes {
			s := submitted{file: name + "-" + when + ".txt"}
			r := srv.handedIn(clone, name+" "+when, map[string]string{s.file: "accepted\n"})
			s.tk = call[task.Task](t, srv.person, "GET", "/api/tasks/"+r.TaskID.String(), nil)
			s.accept = func() {
				call[task.Task](t, srv.person, "POST", "/api/tasks/"+s.tk.ID.String()+"/results/1/accept", map[string]any{"digest": r.Digest})
			}
			s.change = func() { change(s.file, taskBranch(&s.tk)) }
			all = append(all, s)
		}
		return all
	}
	merged := func(all []submitted) {
		t.Helper()
		for _, s := range all {
			srv.awaits(s.tk.ID, "done", func(tk *task.Task) bool { return tk.Status == task.Done })
			if got := testkit.Git(t, srv.repo, "show", "main:"+s.file); got != "accepted" {
				t.Errorf("%s contains %q", s.file, got)
			}
		}
	}

	before := submit("before")
	for _, s := range before {
		s.change()
		s.accept()
	}
	merged(before)

	waiting := submit("waiting")
	busy := filepath.Join(srv.repo, "README.md")
	former := read(t, busy)
	write(busy, "changed here\n") // the merge waits for local changes
	for _, s := range waiting {
		s.accept()
		srv.awaits(s.tk.ID, "waits for its merge", func(tk *task.Task) bool { return tk.WaitingFor == task.WaitsMerge })
		s.change()
	}
	write(busy, former) // not with Git, because a merge may hold its lock
	merged(waiting)
}
