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

func TestWhatARunLeftIsKept(t *testing.T) {
	y := newInstance(t)
	y.queueRuns("coder", 1)
	st := y.start()
	t.Run("nothing is told before it ends", func(t *testing.T) {
		equal(t, "work", must[*task.Work](t)(y.s.Work(y.ctx(), maya, st.Run.ID, true)) == nil, true)
	})
	f := completed("done")
	f.Work = someWork()
	y.finish(st, f)
	t.Run("it is with the run, with its lines only when asked for", func(t *testing.T) {
		whole, brief := must[*task.Work](t)(y.s.Work(y.ctx(), maya, st.Run.ID, true)),
			must[*task.Work](t)(y.s.Work(y.ctx(), maya, st.Run.ID, false))
		equal(t, "work", fmt.Sprintf("%+v", *whole), fmt.Sprintf("%+v", *someWork()))
		equal(t, "lines", brief.Files[0].Diff, "")
	})
	t.Run("an event tells of it", func(t *testing.T) {
		equal(t, "told", strings.Contains(strings.Join(y.kinds(st.Run.TaskID), " "), task.EvRunFiles), true)
	})
	t.Run("an unknown run is none", func(t *testing.T) {
		_, err := y.s.Work(y.ctx(), maya, 999, false)
		refused(t, err, task.CodeRunNotFound)
	})
	t.Run("its lines go when the transcript does, its list stays", func(t *testing.T) {
		y.forward(100 * 24 * time.Hour)
		ok(t, y.s.Sweep(y.ctx()))
		w := must[*task.Work](t)(y.s.Work(y.ctx(), maya, st.Run.ID, true))
		equal(t, "files", len(w.Files), 2)
		equal(t, "lines", w.Files[0].Diff+"|"+w.Files[0].Note+"|"+w.Files[1].Note, "|its lines are not kept any more|binary")
	})
	y.chain()
}

func TestWorkIsToldByWhoHoldsTheRun(t *testing.T) {
	y := newInstance(t)
	y.queueRuns("coder", 1)
	st := y.start()
	must[*task.Run](t)(y.s.CancelRun(y.ctx(), maya, st.Run.ID, ""))
	t.Run("after somebody else ended it, too", func(t *testing.T) {
		ok(t, y.s.RecordWork(y.ctx(), st.Run.ID, st.Run.Lease, someWork()))
		equal(t, "files", len(must[*task.Work](t)(y.s.Work(y.ctx(), maya, st.Run.ID, false)).Files), 2)
	})
	t.Run("but not under another lease", func(t *testing.T) {
		refused(t, y.s.RecordWork(y.ctx(), st.Run.ID, st.Run.Lease+1, someWork()), task.CodeStaleLease)
	})
}

func TestWorkOfAWorkerIsBounded(t *testing.T) {
	tests := map[string]func(*task.Work){
		"a path too long":      func(w *task.Work) { w.Files[0].Path = strings.Repeat("x", task.MaxFilePath+1) },
		"no path":              func(w *task.Work) { w.Files[0].Path = "" },
		"a path with NUL":      func(w *task.Work) { w.Files[0].Path = "a\x00b" },
		"an unknown change":    func(w *task.Work) { w.Files[0].Change = "renamed" },
		"negative lines":       func(w *task.Work) { w.Files[0].Added = -1 },
		"a diff too long":      func(w *task.Work) { w.Files[0].Diff = strings.Repeat("x", task.MaxFileDiff+1) },
		"fewer than are named": func(w *task.Work) { w.Total = 1 },
		"a note too long":      func(w *task.Work) { w.Note = strings.Repeat("x", task.MaxWorkNote+1) },
		"too many files":       func(w *task.Work) { w.Files = make([]task.FileChange, task.MaxFiles+1) },
		"diffs too long in all": func(w *task.Work) {
			for range 5 {
				w.Files = append(w.Files, task.FileChange{Path: "x", Change: task.FileAdded, Diff: strings.Repeat("x", task.MaxFileDiff)})
			}
			w.Total = len(w.Files)
		},
	}
	y := newInstance(t)
	y.queueRuns("coder", 1)
	st := y.start()
	for name, spoil := range tests {
		t.Run(name+" is refused", func(t *testing.T) {
			w := someWork()
			spoil(w)
			refused(t, y.s.RecordWork(y.ctx(), st.Run.ID, st.Run.Lease, w), task.CodeInvalidField, "work")
		})
	}
}

func TestTheFilesOfADelegationAreTheSupervisors(t *testing.T) {
	y := delegating(t)
	_, _, own := y.inRun("boss")
	d := y.delegate(own, task.Delegation{})
	child := y.start()
	ok(t, y.s.AppendTranscript(y.ctx(), child.Run.ID, child.Run.Lease,
		[]task.Message{{Type: "tool_call", Content: "edit", Data: []byte(`{"tool":"edit","input":{"path":"said.go"}}`)}}))
	equal(t, "files while it runs", fmt.Sprint(y.delegated(own, d.RunID).FilesModified), "[said.go]")
	f := completed("ok")
	f.Work = someWork()
	y.finish(child, f)
	equal(t, "files at its end", fmt.Sprint(y.delegated(own, d.RunID).FilesModified), "[a.go b]")
}

func TestTheFirstTryOfARetry(t *testing.T) {
	y := newInstance(t)
	y.queueRuns("coder", 1)
	first := y.start()
	for range 2 {
		equal(t, "origin", must[task.ID](t)(y.s.FirstTry(y.ctx(), first.Run)), first.Run.ID)
	}
	y.finish(first, failure(task.PhaseCrash))
	y.forward(2 * time.Hour)
	second := y.start()
	y.finish(second, failure(task.PhaseCrash))
	y.forward(2 * time.Hour)
	third := y.start()
	equal(t, "retries", third.Run.RetryOf, second.Run.ID)
	equal(t, "origin", must[task.ID](t)(y.s.FirstTry(y.ctx(), third.Run)), first.Run.ID)
}
