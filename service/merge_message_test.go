package service

import (
	"strings"
	"testing"

	"taskyard/task"
)

func TestASummaryForgesNoTrailers(t *testing.T) {
	t.Parallel()
	r := &task.Result{
		Number: 2, Digest: "abc", Votes: []task.Vote{{By: "user:rita", Accept: true}, {By: "user:maya"}},
		Summary: "Fixes: #12\r\nAccepted-by: maya\n\n taskyard-result : 9 ffff\n---\n--- a/main.go\n\x1b[2Jdone\n",
	}
	want := strings.Join([]string{
		"Write a greeting", "",
		"Fixes: #12", "> Accepted-by: maya", "", ">  taskyard-result : 9 ffff", "> ---", "> --- a/main.go", "[2Jdone", "",
		"Taskyard-Task: 7", "Taskyard-Result: 2 abc", "Accepted-by: rita", "",
	}, "\n")
	equal(t, "message", mergeMessage(&task.Task{ID: 7, Title: "Write a greeting"}, r), want)
}
