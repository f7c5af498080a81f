package views

import (
	"strings"
	"testing"

	"taskyard/task"
)

// runPage renders the page of an ended run that changed these files.
func runPage(t *testing.T, w *task.Work) string {
	t.Helper()
	m := RunModel{Run: task.Run{ID: 7, TaskID: 3, Status: task.RunCompleted, Phase: task.PhaseEnded}, Work: w}
	return renderHTML(t, RunPage(Chrome{Role: task.RoleAdmin, Path: "/runs/7"}, m))
}

func TestChangedFilesOfARun(t *testing.T) {
	t.Parallel()
	file := func(path, diff string) task.FileChange {
		return task.FileChange{Path: path, Change: task.FileModified, Added: 1, Removed: 1, Diff: diff}
	}
	tests := []struct {
		name string
		work *task.Work
		has  []string
		not  []string
	}{
		{"unknown changes are not shown", nil, nil, []string{"Changed files"}},
		{"a run without changes says so", &task.Work{}, []string{"Changed files", "No files changed."}, []string{"Raw diff"}},
		{
			"files that could not be compared are not called unchanged", &task.Work{Note: "More than 50,000 files"},
			[]string{"More than 50,000 files"},
			[]string{"No files changed"},
		},
		{
			"lines have a sign and a class, are escaped, and hidden characters are marked",
			&task.Work{Total: 1, Files: []task.FileChange{file("a\n<b>\u202e.go", "@@ -1 +1 @@\n-old<i>\n+new\u202e\r\n \n")}},
			[]string{
				`<span class="hunk">@@ -1 +1 @@</span>`, `<span class="del">-old&lt;i&gt;</span>`,
				`<span class="add">+new<span class="nonprint"`, "‹U+000D›", "<span> </span>",
				"a‹U+000A›&lt;b&gt;", `href="/runs/7/diff"`, `aria-label="Change of a‹U+000A›&lt;b&gt;‹U+202E›.go"`,
			},
			[]string{"<i>", "<b>\u202e", "\u202e"},
		},
		{
			"a branch is shown with the commands that merge it, quoted for a shell",
			&task.Work{Total: 1, Branch: "taskyard/run-7", Repository: "/srv/it's here", Files: []task.FileChange{file("a", "+x\n")}},
			[]string{"taskyard/run-7", `git -C &#39;/srv/it&#39;\&#39;&#39;s here&#39; merge taskyard/run-7`},
			nil,
		},
		{
			"unlisted files are counted", &task.Work{Total: 5, Files: []task.FileChange{file("a", "")}},
			[]string{"4 more files are not listed"},
			nil,
		},
		{
			"long diffs are cut", &task.Work{Total: 1, Files: []task.FileChange{file("a", strings.Repeat("+x\n", 1500))}},
			[]string{"500 more lines are in the raw diff"},
			nil,
		},
		{
			"many diffs are cut",
			&task.Work{Total: 6, Files: []task.FileChange{
				file("a", strings.Repeat("+x\n", 1000)),
				file("b", strings.Repeat("+x\n", 1000)), file("c", strings.Repeat("+x\n", 1000)), file("d", strings.Repeat("+x\n", 990)),
				file("e", strings.Repeat("+x\n", 12)), file("f", "+last\n"),
			}},
			[]string{"2 more lines are", "its lines are in the raw diff"},
			[]string{"+last"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			page := runPage(t, tt.work)
			for _, s := range tt.has {
				if !strings.Contains(page, s) {
					t.Errorf("%q is missing", s)
				}
			}
			for _, s := range tt.not {
				if strings.Contains(page, s) {
					t.Errorf("unexpected %q", s)
				}
			}
		})
	}
}
