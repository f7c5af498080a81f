package browser

import "taskyard/task"

// sampleWork returns what a past run left in its worktree.
func sampleWork(run task.ID) *task.Work {
	return &task.Work{
		Repository: "/srv/repos/example api", Branch: "taskyard/run-" + run.String(), Total: 5,
		Merge: "Not merged into the worktree of run 3: conflicts in internal/limit/bucket.go. Its changes are on the branch taskyard/run-" +
			run.String() + ".",
		Files: []task.FileChange{
			{
				Path: "docs/limits.md", Change: task.FileAdded, Added: 3,
				Diff: "@@ -0,0 +1,3 @@\n+# Limits\n+\n+Sixty calls a minute for each key; a burst of five " +
					"more. Whoever goes beyond gets 429 and the header Retry-After.\n",
			},
			{
				Path: "internal/limit/bucket_test.go", Change: task.FileModified, Added: 2, Removed: 2,
				Diff: "@@ -14,7 +14,7 @@\n func TestBurst(t *testing.T) {\n \tb := NewBucket(5)\n-\ttime.Sleep(1100 * " +
					"time.Millisecond)\n-\tif !b.Allow(\"k\") {\n+\tclk.Advance(time.Second)\n+\tif !b.AllowAt(clk.Now(), " +
					"\"k\") { // \u202eevil\n \t\tt.Fatal(\"bucket did not refill\")\n \t}\n }\n",
			},
			{Path: "internal/limit/legacy.go", Change: task.FileDeleted, Removed: 1, Diff: "@@ -1 +0,0 @@\n-package limit\n"},
			{
				Path:   "run/with a\nrather\u202elong name that does not fit into a narrow window.txt",
				Change: task.FileModified, Note: "mode 0644 → 0755",
			},
			{Path: "testdata/burst.bin", Change: task.FileModified, Note: "binary, 3.1 KiB → 3.9 KiB"},
		},
	}
}
