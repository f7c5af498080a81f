//go:build linux

package repository

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testservice"
	"taskyard/service"
	"taskyard/task"
)

func TestAMergeThatCouldNotBePushedIsPushedLater(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	inst := testservice.New(t, testservice.Options{
		Agents: map[string]string{"pull": "---\nname: pull\ndescription: It pulls.\ntools: [read]\n---\nPull.\n"},
		Config: func(c *service.Config) { c.Repositories = s.rs },
	})
	maya := task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}
	ctx := context.Background()
	_, err := inst.Service.CreateProject(ctx, maya, task.Project{
		Key: "web", Repository: s.repo, Merge: &task.Merge{Push: "origin"},
	})
	ok(t, err)
	tk, err := inst.Service.CreateTask(ctx, maya, task.New{Title: "Fix it", Project: "web", Owner: "pull", Status: task.Active})
	ok(t, err)
	s.branch("taskyard/"+tk.ID.String()+"-fix-it", "main", files{"a.txt": "two\n"})
	submit := func() {
		t.Helper()
		_, err := inst.Service.CompleteTask(ctx, maya, tk.ID, "Done.", 0)
		ok(t, err)
		r, err := inst.Service.Result(ctx, maya, tk.ID, 0)
		ok(t, err)
		_, err = inst.Service.AcceptResult(ctx, maya, tk.ID, 0, r.Digest, "")
		ok(t, err)
	}
	submit()
	merge := func(want task.Status, words string) {
		t.Helper()
		did, _, err := inst.Service.MergeNext(ctx)
		if err != nil || !did {
			t.Fatalf("got merged = %v, %v", did, err)
		}
		now, err := inst.Service.Task(ctx, maya, tk.ID)
		ok(t, err)
		queue, _, err := inst.Service.ProjectMerges(ctx, maya, "", 0, 5)
		ok(t, err)
		reason := ""
		for _, m := range queue {
			reason = m.Reason
		}
		if now.Status != want || reason != words {
			t.Fatalf("got the task %s, the reason of the merge %q", now.Status, reason)
		}
	}
	merge(task.Active, "main is merged, but could not be pushed to origin: No such remote 'origin'. "+
		"Push it yourself, or remove the remote from the project: later merges into main wait")
	head := s.git("rev-parse", "main")
	remote := filepath.Join(t.TempDir(), "remote.git")
	s.git("init", "-q", "--bare", remote)
	s.git("remote", "add", "origin", remote)
	inst.Clock.Forward(time.Minute)
	merge(task.Done, "")
	same(t, "main", s.git("rev-parse", "main"), head)
	same(t, "remote", testkit.Git(t, remote, "rev-parse", "main"), head)

	t.Run("or not at all when its project names no remote any more", func(t *testing.T) {
		ok(t, os.RemoveAll(remote))
		tk, err = inst.Service.CreateTask(ctx, maya, task.New{Title: "Fix it", Project: "web", Owner: "pull", Status: task.Active})
		ok(t, err)
		s.branch("taskyard/"+tk.ID.String()+"-fix-it", "main", files{"a.txt": "three\n"})
		submit()
		did, _, err := inst.Service.MergeNext(ctx)
		ok(t, err)
		same(t, "merged", fmt.Sprint(did), "true")
		_, err = inst.Service.CancelTask(ctx, maya, tk.ID, "not needed")
		refusal(t, err, task.CodeTaskGated, "remove the remote from the project")
		_, err = inst.Service.UpdateProject(ctx, maya, task.Project{Key: "web", Repository: s.repo, Merge: &task.Merge{}}, 0)
		ok(t, err)
		inst.Clock.Forward(time.Minute)
		merge(task.Done, "")
	})
}
