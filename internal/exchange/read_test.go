package exchange

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"taskyard/task"
)

// sample reads a folder of testdata that has no problems.
func sample(t *testing.T, from, dir string) *Plan {
	t.Helper()
	p, err := Read(from, os.DirFS("testdata/"+dir), ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Report.Problems {
		t.Errorf("%s: %s", f.Field, f.Message)
	}
	return p
}

func at(t *testing.T, p *Plan, ref string) *Item {
	t.Helper()
	item := p.Item(ref)
	if item == nil {
		t.Fatalf("there is no task %s", ref)
	}
	return item
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func hasCount(t *testing.T, list Counts, what string, n int) {
	t.Helper()
	for _, c := range list {
		if c.What == what {
			same(t, what, c.N, n)
			return
		}
	}
	t.Errorf("there is no line %q in %v", what, list)
}

func TestFirstFormat(t *testing.T) {
	t.Parallel()
	p := sample(t, FromTaskyard, "first")
	same(t, "tasks", len(p.Items), 3)
	same(t, "next id", p.NextID, 42)
	k := at(t, p, "3")
	same(t, "owner", k.Task.Owner, "code-focused")
	same(t, "creator", k.Task.CreatedBy, "general-purpose")
	same(t, "created", k.Task.CreatedAt.String(), "2026-01-02T03:04:05.678Z")
	same(t, "link", k.Subtasks[1], "4")
	same(t, "parent, named only by the step", at(t, p, "4").Parent, "3")
	same(t, "nesting", at(t, p, "4").Task.Nesting, 1)
	same(t, "archived", at(t, p, "1").Task.ArchivedAt.String(), "2025-01-03T03:04:05.678Z")
	t.Run("the title of a long step is cut, and the details have all of it", func(t *testing.T) {
		s := k.Task.Steps[1]
		same(t, "characters", len([]rune(s.Title)) <= task.MaxStepTitle, true)
		same(t, "whole", strings.HasPrefix(s.Details, "Delegate the long part of this work to somebody who is better at writing than I am"), true)
		same(t, "notes", len(p.Report.Notes), 1)
	})
}

func TestBeads(t *testing.T) {
	t.Parallel()
	p := sample(t, FromBeads, "beads")
	same(t, "tasks", len(p.Items), 4)
	epic := at(t, p, "yd-a1b2")
	same(t, "priority", epic.Task.Priority, 20)
	same(t, "status", epic.Task.Status, task.Active)
	same(t, "created", epic.Task.CreatedAt.String(), "2026-01-05T17:00:00.123Z")
	same(t, "labels", strings.Join(epic.Task.Labels, " "), "epic import import-export")
	same(t, "creator", epic.Task.CreatedBy, "user:ida")
	same(t, "link", epic.Task.Resources[0].Value, "https://example.com/issues/9")
	same(t, "comment", epic.Task.Comments[0].Content, "Looks right to me.")
	same(t, "description", epic.Task.Description, "Everything that moves a team over.\n\n## Design\n\nOne plan, one transaction.\n\n"+
		"## Acceptance criteria\n\n- nothing is lost\n\n## Notes\n\nAsk Ida first.\n\nEstimated "+
		"minutes: 90\nAssignee: coder\nImported from beads: yd-a1b2")
	child := at(t, p, "yd-c3")
	same(t, "child's status", child.Task.Status, task.Done)
	same(t, "summary", child.Task.Summary, "Merged in time.")
	same(t, "parent", child.Parent, "yd-a1b2")
	same(t, "parent's step", fmt.Sprint(epic.Task.Steps, epic.Subtasks), "[{Read the old file  true 0 0}] [yd-c3]")
	blocked := at(t, p, "yd-d4")
	same(t, "blockers", strings.Join(blocked.BlockedBy, " "), "yd-c3")
	same(t, "lowest priority", blocked.Task.Priority, -20)
	same(t, "deferred", at(t, p, "yd-e5").Task.Status, task.Draft)
	hasCount(t, p.Report.Omitted, `links of the kind "related"`, 1)
	hasCount(t, p.Report.Omitted, "deleted issues", 1)
	hasCount(t, p.Report.Omitted, "dependencies to tasks that the files do not hold", 1)
	hasCount(t, p.Report.Omitted, `field "mol_type"`, 1)
	hasCount(t, p.Report.Maps, "beads.design → a section of the description", 1)
}

func TestTaskMaster(t *testing.T) {
	t.Parallel()
	p := sample(t, FromTaskMaster, "taskmaster")
	same(t, "tasks", len(p.Items), 4)
	k := at(t, p, "master#2")
	same(t, "blockers", strings.Join(k.BlockedBy, " "), "master#1")
	same(t, "steps", len(k.Task.Steps), 2)
	same(t, "step done", k.Task.Steps[0].Done, true)
	same(t, "details", k.Task.Steps[0].Details, "Write the query that takes the first free task of the queue of one agent\n\n"+
		"With an index.\n\n## Details\n\nLook at the plan.\n\n## Acceptance criteria\n\nNo scan.")
	same(t, "canceled step", k.Task.Steps[1].Details, "Status: cancelled")
	same(t, "done", at(t, p, "master#1").Task.Status, task.Done)
	same(t, "priority", at(t, p, "master#1").Task.Priority, 10)
	same(t, "deferred", at(t, p, "master#3").Task.Status, task.Draft)
	web := at(t, p, "Web UI#1")
	same(t, "tag", strings.Join(web.Task.Labels, " "), "web-ui")
	same(t, "canceled", web.Task.Status, task.Canceled)
	same(t, "created", web.Task.CreatedAt.String(), "2026-02-03T10:00:00.000Z")
	hasCount(t, p.Report.Omitted, "dependencies on subtasks of other tasks", 1)
	t.Run("the older format has one list", func(t *testing.T) {
		p := TaskMaster(Source{"tasks.json", []byte(`{"tasks":[{"id":"7","title":"x","status":"pending"}]}`)})
		same(t, "title", at(t, p, "#7").Task.Title, "x")
		same(t, "problems", len(p.Report.Problems), 0)
	})
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	p := sample(t, FromBacklog, "backlog")
	same(t, "tasks", len(p.Items), 5)
	k := at(t, p, "task-7")
	same(t, "title", k.Task.Title, "Move the team: all of it")
	same(t, "owner", k.Task.Owner, "coder")
	same(t, "creator", k.Task.CreatedBy, "user:ida")
	same(t, "blockers, whatever their case", strings.Join(k.BlockedBy, " "), "task-6")
	same(t, "labels", strings.Join(k.Task.Labels, " "), "help-wanted web")
	same(t, "created", k.Task.CreatedAt.String(), "2026-03-14T19:55:00.000Z")
	same(t, "steps", fmt.Sprint(k.Task.Steps),
		"[{Every task is there  true 0 0} {Every word is there  false 0 0} {Tests pass "+
			"Definition of Done false 0 0} {Read the files  false 0 0}]")
	same(t, "subtask", k.Subtasks[3], "task-7.1")
	same(t, "comment", fmt.Sprint(k.Task.Comments[0].Author, " ", k.Task.Comments[0].Content, " ", k.Task.Comments[0].CreatedAt),
		"user:ida Mind the dates. 2026-03-14T20:00:00.000Z")
	same(t, "description", k.Task.Description,
		"Bring every task over.\n\n```\n## not a heading\n```\n\n## Implementation Plan\n\n1. Read\n2. Write\n\n"+
			"references: docs/move.md\nmilestone: m-1\nAssignee: @coder\nAssignee: @ida\nImported from Backlog.md: TASK-7")
	same(t, "text without headings", strings.HasPrefix(at(t, p, "task-7.1").Task.Description, "No headings at all."), true)
	same(t, "a date without quotes", at(t, p, "task-7.1").Task.CreatedAt.String(), "2026-03-14T00:00:00.000Z")
	same(t, "completed", at(t, p, "task-6").Task.Status, task.Done)
	same(t, "summary", at(t, p, "task-6").Task.Summary, "It is the 20th.")
	same(t, "draft", at(t, p, "draft-1").Task.Status, task.Draft)
	same(t, "archive", at(t, p, "task-2").Task.Status, task.Canceled)
}

func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	huge := hugeFile{size: 1 << 30}
	tests := []struct {
		name, from, file string
		fs               fs.FS
		want             string
	}{
		{"a file of 1 GB, which is not read", FromTaskyard, "tasks.json", huge, "at most 128 MiB"},
		{"a folder without tasks", FromTaskyard, ".", fstest.MapFS{}, "no tasks.json"},
		{"a folder without issues", FromBeads, ".", fstest.MapFS{}, "issues.jsonl"},
		{"a folder without a backlog", FromBacklog, ".", fstest.MapFS{}, "backlog/tasks"},
		{"a folder instead of a file", FromTaskyard, ".", fstest.MapFS{"tasks.json/x": {}}, "regular file"},
		{"an unknown format", "jira", "x", fstest.MapFS{"x": {}}, "unknown format"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(tt.from, tt.fs, tt.file, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("the limit applies to both files together", func(t *testing.T) {
		l := &loader{left: 10}
		sys := fstest.MapFS{"a": {Data: make([]byte, 6)}, "b": {Data: make([]byte, 5)}}
		_, err := l.file(sys, "a")
		_, err2 := l.file(sys, "b")
		if err != nil || err2 == nil {
			t.Errorf("%v, %v", err, err2)
		}
	})
}

// hugeFile is a folder in which every file has this size and must not be read.
type hugeFile struct{ size int64 }

func (h hugeFile) Open(name string) (fs.File, error) {
	f, err := fstest.MapFS{name: {}}.Open(name)
	return unread{f, h.size}, err
}

type unread struct {
	fs.File
	size int64
}

func (u unread) Stat() (fs.FileInfo, error) {
	fi, err := u.File.Stat()
	return sized{fi, u.size}, err
}
func (unread) Read([]byte) (int, error) { panic("the file was read") }

type sized struct {
	fs.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }

func TestTooManyTasks(t *testing.T) {
	t.Parallel()
	p := &Plan{Items: make([]*Item, MaxTasks)}
	p.add(&Item{Where: "x"})
	same(t, "problems", len(p.Report.Problems), 1)
}

func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	r := &Report{}
	for i := range 100_000 {
		r.omit("x", fmt.Sprint("field ", i))
		r.AddProblem("x", "%d", i)
	}
	same(t, "lines", len(r.Omitted) <= maxCounts+1, true)
	same(t, "problems", len(r.Problems)+r.More, 100_000)
	same(t, "kept", len(r.Problems), task.MaxProblems)
	same(t, "the rest is counted", slices.ContainsFunc(r.Omitted, func(c Count) bool { return c.What == "other things" }), true)
}
