package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func someWork() *task.Work {
	return &task.Work{Total: 3, Branch: "taskyard/run-1", Repository: "/srv/repo", Files: []task.FileChange{
		{Path: "a.go", Change: task.FileModified, Added: 1, Removed: 2, Diff: "@@ -1 +1 @@\n-x\n+y\n"},
		{Path: "b", Change: task.FileAdded, Note: "binary"},
	}}
}

func TestChangedFilesOfARunAreStored(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.queueRuns("coder", 1)
	st := inst.start()
	t.Run("nothing is reported before it ends", func(t *testing.T) {
		equal(t, "work", must(inst.s.Work(inst.ctx(), maya, st.Run.ID, true)) == nil, true)
	})
	f := completed("done")
	f.Work = someWork()
	inst.finish(st, f)
	t.Run("the run contains it, with lines only on request", func(t *testing.T) {
		whole, brief := must(inst.s.Work(inst.ctx(), maya, st.Run.ID, true)),
			must(inst.s.Work(inst.ctx(), maya, st.Run.ID, false))
		equal(t, "work", fmt.Sprintf("%+v", *whole), fmt.Sprintf("%+v", *someWork()))
		equal(t, "lines", brief.Files[0].Diff, "")
	})
	t.Run("an event records it", func(t *testing.T) {
		equal(t, "event", strings.Contains(strings.Join(inst.kinds(st.Run.TaskID), " "), task.EvRunFiles), true)
	})
	t.Run("an unknown run is not found", func(t *testing.T) {
		_, err := inst.s.Work(inst.ctx(), maya, 999, false)
		refused(t, err, task.CodeRunNotFound)
	})
	t.Run("its lines are dropped with the transcript, its list is kept", func(t *testing.T) {
		inst.Forward(100 * 24 * time.Hour)
		ok(t, inst.s.Sweep(inst.ctx()))
		w := must(inst.s.Work(inst.ctx(), maya, st.Run.ID, true))
		equal(t, "files", len(w.Files), 2)
		equal(t, "lines", w.Files[0].Diff+"|"+w.Files[0].Note+"|"+w.Files[1].Note, "|its lines are not kept any more|binary")
	})
	inst.checkChain()
}

func TestOnlyTheHolderOfARunReportsItsWork(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	inst.queueRuns("coder", 1)
	st := inst.start()
	must(inst.s.CancelRun(inst.ctx(), maya, st.Run.ID, ""))
	t.Run("after another caller ended it too", func(t *testing.T) {
		ok(t, inst.s.RecordWork(inst.ctx(), st.Run.ID, st.Run.Lease, someWork()))
		equal(t, "files", len(must(inst.s.Work(inst.ctx(), maya, st.Run.ID, false)).Files), 2)
	})
	t.Run("but not with another lease", func(t *testing.T) {
		refused(t, inst.s.RecordWork(inst.ctx(), st.Run.ID, st.Run.Lease+1, someWork()), task.CodeStaleLease)
	})
}

func TestWorkReportedByAWorkerIsBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*task.Work){
		"a long path":         func(w *task.Work) { w.Files[0].Path = strings.Repeat("x", task.MaxFilePath+1) },
		"no path":             func(w *task.Work) { w.Files[0].Path = "" },
		"a path with NUL":     func(w *task.Work) { w.Files[0].Path = "a\x00b" },
		"an unknown change":   func(w *task.Work) { w.Files[0].Change = "renamed" },
		"negative lines":      func(w *task.Work) { w.Files[0].Added = -1 },
		"a long diff":         func(w *task.Work) { w.Files[0].Diff = strings.Repeat("x", task.MaxFileDiff+1) },
		"a total that is low": func(w *task.Work) { w.Total = 1 },
		"a long note":         func(w *task.Work) { w.Note = strings.Repeat("x", task.MaxWorkNote+1) },
		"too many files":      func(w *task.Work) { w.Files = make([]task.FileChange, task.MaxFiles+1) },
		"long diffs in total": func(w *task.Work) {
			for range 5 {
				w.Files = append(w.Files, task.FileChange{Path: "x", Change: task.FileAdded, Diff: strings.Repeat("x", task.MaxFileDiff)})
			}
			w.Total = len(w.Files)
		},
	}
	inst := newInstance(t)
	inst.queueRuns("coder", 1)
	st := inst.start()
	for name, spoil := range tests {
		t.Run(name+" is refused", func(t *testing.T) {
			w := someWork()
			spoil(w)
			refused(t, inst.s.RecordWork(inst.ctx(), st.Run.ID, st.Run.Lease, w), task.CodeInvalidField, "work")
		})
	}
}

func TestTheFilesOfADelegationComeFromTheSupervisor(t *testing.T) {
	t.Parallel()
	inst := delegating(t)
	_, _, own := inst.inRun("boss")
	d := inst.delegate(own, task.Delegation{})
	child := inst.start()
	ok(t, inst.s.AppendTranscript(inst.ctx(), child.Run.ID, child.Run.Lease,
		[]task.Message{{Type: "tool_call", Content: "edit", Data: []byte(`{"tool":"edit","input":{"path":"said.go"}}`)}}))
	equal(t, "files while it runs", fmt.Sprint(inst.delegated(own, d.RunID).FilesModified), "[said.go]")
	f := completed("ok")
	f.Work = someWork()
	inst.finish(child, f)
	equal(t, "files at its end", fmt.Sprint(inst.delegated(own, d.RunID).FilesModified), "[a.go b]")
}

func TestARunContinuesInTheWorktreeOfItsTask(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, wakes, script(Runner{Workspace: "worktree:/srv/site"}))
	origin := func(st *Start) task.ID { return must(inst.s.RunFolders(inst.ctx(), st.Run)).Origin }
	inst.queueRuns("coder", 1)
	first := inst.start()
	equal(t, "origin of the first", origin(first), first.Run.ID)
	inst.finish(first, failure(task.PhaseCrash))
	inst.Forward(2 * time.Hour)
	second := inst.start()
	equal(t, "retries", second.Run.RetryOf, first.Run.ID)
	equal(t, "origin of a retry", origin(second), first.Run.ID)
	must(inst.s.Comment(inst.ctx(), maya, second.Run.TaskID, "one thing more"))
	inst.finish(second, completed("half of it"))
	equal(t, "origin of a follow-up", origin(inst.start()), first.Run.ID)
}

func TestADelegatedRunWorksWhereItsParentDoes(t *testing.T) {
	t.Parallel()
	place := func(inst *instance, from, agent string) (task.Spec, task.RunFolders, *Start) {
		_, parent, own := inst.inRun(from)
		inst.delegate(own, task.Delegation{AgentType: agent})
		st := inst.start()
		return st.Spec, must(inst.s.RunFolders(inst.ctx(), st.Run)), parent
	}
	site := script(Runner{Workspace: "worktree:/srv/site"})
	for name, c := range map[string]struct {
		with   func(*instance)
		config func(*Config)
		agent  string
		want   string // with N for the parent run
	}{
		"in its private folder":                   {agent: "lead", want: "that of run N"},
		"read-only, if it may not write":          {agent: "hand", want: "that of run N, read-only"},
		"on a branch from its worktree":           {agent: "lead", config: site, want: "worktree:/srv/site, from and into that of run N"},
		"not where its definition says otherwise": {agent: "away", want: "/srv/own"},
		"in the folder of its parent's definition": {
			agent: "lead", want: "/srv/boss, that of run N",
			with: func(inst *instance) {
				inst.define("boss", definition(bossTools, "runner: script", "workspace: /srv/boss"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inst := delegating(t, func(k *Config) {
				if c.config != nil {
					c.config(k)
				}
			})
			inst.define("away", definition(leadTools, "runner: script", "workspace: /srv/own"))
			if c.with != nil {
				c.with(inst)
			}
			spec, folders, parent := place(inst, "boss", c.agent)
			number := strings.NewReplacer("N", parent.Run.ID.String())
			equal(t, "place", spec.Place(), number.Replace(c.want))
			if spec.SharedRun != 0 {
				equal(t, "folder", folders.Shared, task.StartFolder(parent.Run.ID, 1).Name)
				equal(t, "worktree", folders.SharedTree, parent.Run.ID)
			}
		})
	}
	t.Run("a run that it delegates works there too", func(t *testing.T) {
		inst := delegating(t)
		_, parent, own := inst.inRun("boss")
		inst.delegate(own, task.Delegation{AgentType: "lead"})
		inst.delegate(inst.actor(inst.start()), task.Delegation{AgentType: "lead"})
		equal(t, "place", inst.start().Spec.Place(), "that of run "+parent.Run.ID.String())
	})
	t.Run("a folder is kept while a run may work in it", func(t *testing.T) {
		inst := delegating(t)
		_, parent, own := inst.inRun("boss")
		inst.delegate(own, task.Delegation{AgentType: "lead"})
		child := inst.start()
		inst.finish(parent, completed("done"))
		folders := []task.RunFolder{task.StartFolder(parent.Run.ID, 1)}
		inst.Forward(100 * 24 * time.Hour)
		equal(t, "orphans", len(must(inst.s.OrphanedFolders(inst.ctx(), folders))), 0)
		ok(t, inst.s.FinishRun(inst.ctx(), child.Run.ID, child.Run.Lease, completed("ok")))
		inst.Forward(100 * 24 * time.Hour)
		equal(t, "orphans", len(must(inst.s.OrphanedFolders(inst.ctx(), folders))), 1)
	})
}
