package service

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"taskyard/db"
	"taskyard/task"
)

// listedGit is a repository in which each task changes the files that its title
// lists.
type listedGit struct {
	Repositories
	red *bool // whether every check fails
}

func (listedGit) Examine(context.Context, *task.Project) []task.Finding { return nil }

func (g listedGit) Check(context.Context, task.Worktree, *task.Revision, task.Check) task.CheckRun {
	if *g.red {
		return task.CheckRun{Verdict: task.CheckFailed}
	}
	return task.CheckRun{Verdict: task.CheckPassed}
}

func (listedGit) Snapshot(_ context.Context, w task.Worktree, _ string) (*task.Revision, error) {
	r := &task.Revision{Base: "base", Head: "head of " + w.Branch, Patch: w.Title}
	for _, p := range strings.Fields(w.Title) {
		r.Files = append(r.Files, task.FileChange{Path: p, Change: task.FileModified, Added: 1})
	}
	r.Total = len(r.Files)
	return r, nil
}

// submitChanging creates a task whose result changes files, and submits it.
func (inst *instance) submitChanging(project, files string) *task.Task {
	inst.t.Helper()
	tk := inst.create(maya, "pull", func(in *task.New) { in.Title, in.Project = files, project })
	must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
	return tk
}

func (inst *instance) overlapText(a task.Actor, id task.ID) string {
	inst.t.Helper()
	list := []string{}
	for _, o := range must(inst.s.Result(inst.ctx(), a, id, 0)).Overlaps {
		list = append(list, fmt.Sprintf("%d: %s", o.TaskID, o.Names()))
	}
	return strings.Join(list, "; ")
}

func overlapping(t *testing.T) *instance {
	t.Helper()
	inst := newInstance(t, func(c *Config) { c.Repositories = listedGit{} })
	for _, key := range []string{"web", "api"} {
		must(inst.s.CreateProject(inst.ctx(), maya, task.Project{Key: key, Repository: "/srv/" + key, Review: task.Review{Approvals: 1}}))
	}
	return inst
}

func TestOpenResultsListOthersThatChangeTheSameFiles(t *testing.T) {
	t.Parallel()
	inst := overlapping(t)
	one, two := inst.submitChanging("web", "a.go b.go c.go"), inst.submitChanging("web", "b.go c.go d.go")
	alone, other := inst.submitChanging("web", "e.go"), inst.submitChanging("api", "a.go b.go")
	equal(t, "of the first", inst.overlapText(maya, one.ID), "2: b.go, c.go")
	equal(t, "of the second", inst.overlapText(maya, two.ID), "1: b.go, c.go")
	equal(t, "of one without overlaps", inst.overlapText(maya, alone.ID), "")
	equal(t, "of another project", inst.overlapText(maya, other.ID), "")
	equal(t, "in the list", len(must(inst.s.Results(inst.ctx(), maya, one.ID))[0].Overlaps), 1)
	equal(t, "in the task", must(inst.s.Task(inst.ctx(), pull, one.ID)).Review.Overlaps[0].TaskID, two.ID)
	t.Run("an agent restricted to its own tasks sees no others", func(t *testing.T) {
		inst.define("own", ownOnly)
		own := agentActor("own")
		tk := inst.create(maya, "own", func(in *task.New) { in.Title, in.Project = "b.go", "web" }, noStart)
		must(inst.s.CompleteTask(inst.ctx(), own, tk.ID, "done", 0))
		equal(t, "seen by the agent", inst.overlapText(own, tk.ID), "")
		equal(t, "seen by others", inst.overlapText(maya, tk.ID), "1: b.go; 2: b.go")
		must(inst.s.CancelTask(inst.ctx(), maya, tk.ID, ""))
	})
	t.Run("a closed task is no longer shown", func(t *testing.T) {
		r := must(inst.s.Result(inst.ctx(), maya, two.ID, 0))
		must(inst.s.RequestChanges(inst.ctx(), rita, two.ID, 0, r.Digest, "smaller"))
		equal(t, "of the first", inst.overlapText(maya, one.ID), "")
		equal(t, "of the closed", inst.overlapText(maya, two.ID), "")
		must(inst.s.CompleteTask(inst.ctx(), pull, two.ID, "smaller", 0))
		equal(t, "after it was submitted again", inst.overlapText(maya, one.ID), "2: b.go, c.go")
	})
}

func TestAResultKeepsItsFilesAfterARepeatedCheck(t *testing.T) {
	t.Parallel()
	red := false
	inst := newInstance(t, func(c *Config) { c.Repositories = listedGit{red: &red} })
	must(inst.s.CreateProject(inst.ctx(), maya, task.Project{
		Key: "web", Repository: "/srv/web", Review: task.Review{Approvals: 1}, Checks: []task.Check{{Name: "test", Run: "make", Required: true}},
	}))
	one, two := inst.submitChanging("web", "a.go b.go"), inst.submitChanging("web", "b.go")
	red = true
	must(inst.s.RunCheck(inst.ctx(), maya, two.ID, "test"))
	equal(t, "number of the result", must(inst.s.Result(inst.ctx(), maya, two.ID, 0)).Number, 2)
	equal(t, "of the first", inst.overlapText(maya, one.ID), "2: b.go")
	equal(t, "of the second", inst.overlapText(maya, two.ID), "1: b.go")
}

func TestOverlapsAreBounded(t *testing.T) {
	t.Parallel()
	inst := overlapping(t)
	var files strings.Builder
	for i := range 12 {
		fmt.Fprintf(&files, "f%02d.go ", i)
	}
	first := inst.submitChanging("web", files.String())
	for range task.MaxOverlaps + 2 {
		inst.submitChanging("web", files.String())
	}
	list := must(inst.s.Result(inst.ctx(), maya, first.ID, 0)).Overlaps
	equal(t, "results", len(list), task.MaxOverlaps)
	equal(t, "the oldest", list[0].Names(), "f00.go, f01.go, f02.go, f03.go, f04.go, 7 more")
}

// BenchmarkOverlaps reads the overlaps of a result of 1,000 files with 50 others, all
// with the same files or with different ones.
func BenchmarkOverlaps(b *testing.B) {
	for _, same := range []bool{false, true} {
		b.Run(fmt.Sprintf("same files %v", same), func(b *testing.B) {
			inst := newInstance(b)
			must(inst.s.CreateProject(inst.ctx(), maya, task.Project{Key: "web", Review: task.Review{Approvals: 1}}))
			var last task.ID
			for i := range 51 {
				tk := inst.create(maya, "pull", func(in *task.New) { in.Project = "web" })
				must(inst.s.CompleteTask(inst.ctx(), pull, tk.ID, "done", 0))
				last = must(inst.s.Result(inst.ctx(), maya, tk.ID, 0)).ID
				list := make([]string, 1000)
				for n := range list {
					list[n] = fmt.Sprintf("internal/some/folder/file-%04d.go", n)
					if !same {
						list[n] = fmt.Sprintf("%d/", i) + list[n]
					}
				}
				ok(b, inst.db.Write(inst.ctx(), func(tx *db.Tx) error { return tx.InsertResultFiles(last, "web", list) }))
			}
			for b.Loop() {
				ok(b, inst.db.Read(inst.ctx(), func(rx *db.Rx) error {
					_, err := rx.Overlaps(last, task.MaxOverlaps)
					return err
				}))
			}
		})
	}
}
