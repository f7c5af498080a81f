package views

import (
	"strings"
	"testing"

	"taskyard/task"
)

const someDiff = "@@ -3,4 +3,5 @@ func x() {\n same\n-gone\n+came\n+more\n last\n\\ No newline at end of file\n"

func TestHunkLinesHaveNumbers(t *testing.T) {
	t.Parallel()
	var got []string
	for _, l := range task.HunkLines(someDiff) {
		got = append(got, string(l.Kind)+place("o", l.Old)[1:]+":"+place("n", l.New)[1:])
	}
	if s := strings.Join(got, " "); s != "@0:0  3:3 -4:0 +0:4 +0:5  5:6 \\0:0" {
		t.Errorf("%q", s)
	}
	for _, broken := range []string{"@@", "@@ - + @@\n+x\n", "@@ -a,b +c,d @@\n x\n", "\n\n"} {
		task.HunkLines(broken) // must not panic
	}
}

func TestExcerptsContainTheLinesOfOneSide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		side        string
		first, last int
		want        string
	}{
		{"new", 4, 5, "came\nmore\n"}, {"old", 4, 4, "gone\n"}, {"new", 6, 9, "last\n"}, {"old", 3, 5, "same\ngone\nlast\n"}, {"new", 90, 91, ""},
	} {
		if got := task.HunkExcerpt(someDiff, tt.side, tt.first, tt.last); got != tt.want {
			t.Errorf("%s %d-%d: got %q, want %q", tt.side, tt.first, tt.last, got, tt.want)
		}
	}
}

// sampleReview is a result of one file with a comment on a removed line.
func sampleReview(split bool) ReviewModel {
	return ReviewModel{
		Task: &task.Task{
			ID: 7, Title: "Change it", Project: "web", Status: task.Active, Awaits: task.WaitsReview, WaitingFor: task.WaitsReview,
		},
		Result: &task.Result{
			ID: 1, TaskID: 7, Number: 1, State: task.ResultReview, Author: "coder", Digest: "d1", Head: "h", Flags: []string{"no changes"},
		},
		Newest: 1, Missing: 1, Split: split, Total: 1,
		Files: []ReviewFile{{
			FileChange: task.FileChange{Path: "a.go", Change: task.FileModified, Added: 2, Removed: 1, Diff: someDiff}, Loaded: true,
		}},
		Comments: []task.ReviewComment{
			{
				ID: 5, Author: "user:rita", Path: "a.go", Side: "old", Line: 4, EndLine: 4,
				Text: "Why was it removed?", State: task.CommentOpen,
			},
			{
				ID: 6, Author: "user:maya", Path: "a.go", Side: "new", Line: 2, EndLine: 2,
				Text: "Of a line that is not shown", State: task.CommentDraft,
			},
			{ID: 7, Author: "user:maya", Text: "Of all", State: task.CommentDraft},
			{
				ID: 8, Author: "user:rita", Path: "b.go", Side: "new", Line: 1, EndLine: 1, Excerpt: "was here\n",
				Text: "Of a file that is not", State: task.CommentOpen, Outdated: true,
			},
		},
	}
}

func TestACommentIsBelowItsLineInBothViews(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		page := renderHTML(t, ReviewPage(sampleChrome("/tasks/7/review"), sampleReview(split)))
		gone, why, last := strings.Index(page, ">gone<"), strings.Index(page, "Why was it removed?"), strings.Index(page, ">last<")
		if gone < 0 || why < gone || last < why {
			t.Errorf("split %v: got the line at %d, its comment at %d, the last line at %d", split, gone, why, last)
		}
		for _, id := range []string{"c-5", "c-6", "c-7", "c-8"} {
			if n := strings.Count(page, `id="`+id+`"`); n != 1 {
				t.Errorf("split %v: got comment %s %d times", split, id, n)
			}
		}
		for _, want := range []string{"No changes", "was here", "2 drafts are sent along", "Outdated"} {
			if !strings.Contains(page, want) {
				t.Errorf("split %v: %q is missing", split, want)
			}
		}
	}
}

func TestResultEventsHaveText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, changes, want string }{
		{task.EvProjectCreated, `{"project":"web","checks":2}`, "created the project web"},
		{
			task.EvChecksFailed, `{"checks":["test","lint"],"attempt":2}`,
			"could not complete it: required checks did not pass: test, lint (attempt 2)",
		},
		{task.EvResultCreated, `{"result":2,"flags":["no changes"]}`, "submitted result 2 (no changes)"},
		{task.EvResultAccepted, `{"result":2,"digest":"x"}`, "accepted result 2"},
		{task.EvResultChanges, `{"result":2,"comments":3}`, "requested changes of result 2 with 3 comments"},
		{task.EvReviewReplied, `{"comment":"5","state":"declined"}`, "answered a review comment as declined"},
		{task.EvMergeQueued, `{"result":2,"into":"main"}`, "queued the merge of result 2 into main"},
		{task.EvMergeDone, `{"result":2,"into":"main","commit":"0123456789abcdef"}`, "merged result 2 into main as 0123456789"},
		{
			task.EvMergeFailed, `{"into":"main","code":"merge_conflict","reason":"a.go"}`,
			"could not merge it into main (Conflict with the branch: a.go)",
		},
		{task.EvResultReminded, `{"result":2}`, "reminded of the review of result 2"},
		{task.EvRunMessage, `{}`, "sent a message to a run"},
	} {
		if got := EventSentence(&task.Event{Kind: tt.kind, Changes: []byte(tt.changes)}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.kind, got, tt.want)
		}
	}
}
