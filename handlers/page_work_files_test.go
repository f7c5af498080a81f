package handlers

import (
	"context"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

func TestChangedFilesOnTheRunPage(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "The work"})
	run := inst.makeRun(tk.ID, service.Finished{
		State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, Summary: "x",
		Work: &task.Work{
			Total: 1, Branch: "taskyard/run-1", Repository: "/srv/repo",
			Files: []task.FileChange{{Path: "a\x1b\nb.go", Change: task.FileAdded, Added: 1, Diff: "@@ -0,0 +1 @@\n+<script>\n"}},
		},
	}, "mark")
	at := "/runs/" + run.String()
	t.Run("the changes are on the page, and update without scripts", func(t *testing.T) {
		b.get(at).is(200).shows("Changed files", "taskyard/run-1", "git -C /srv/repo merge taskyard/run-1",
			"+&lt;script&gt;", `href="`+at+`/diff"`)
	})
	t.Run("the whole diff is plain text", func(t *testing.T) {
		a := b.get(at + "/diff").is(200).shows("+<script>\n")
		if ct := a.header.Get("Content-Type"); ct != "text/plain; charset=utf-8" || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("got %v", a.header)
		}
	})
	t.Run("an unknown run is not found", func(t *testing.T) {
		b.get("/runs/99/diff").is(404)
		b.get("/runs/x/diff").is(404)
	})
}

func TestChangedFilesOfARunAsJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do("viewer", "GET", "/api/runs/99/diff", "").problem(404, task.CodeRunNotFound)
	s.do("viewer", "GET", "/api/runs/0x1/diff", "").want(422)
	path, _ := s.requestRun("coder")
	type body struct {
		Files      *[]task.FileChange
		FilesTotal int
		Branch     string
	}
	if r := decode[body](s.do("viewer", "GET", path, "").want(200)); r.Files != nil {
		t.Errorf("run that did not start: got files %v", *r.Files)
	}
	if d := s.do("viewer", "GET", path+"/diff", "").want(200); len(d.Body) != 0 {
		t.Errorf("got diff %q", d.Body)
	}
	st := s.startRun()
	end := service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, Work: &task.Work{}}
	s.ok(s.svc.FinishRun(context.Background(), st.Run.ID, st.Run.Lease, end))
	if r := decode[body](s.do("viewer", "GET", path, "").want(200)); r.Files == nil || len(*r.Files) != 0 {
		t.Errorf("run without changes: got files %v", r.Files)
	}
	if d := s.do("viewer", "GET", path+"/diff", "").want(200); !strings.HasPrefix(d.Header.Get("Content-Type"), "text/x-diff") {
		t.Errorf("got %v", d.Header)
	}
}
