package task_test

import (
	"fmt"
	"strings"
	"testing"

	"taskyard/task"
)

func TestLongDiscussionsHideNoReviewComment(t *testing.T) {
	t.Parallel()
	r := task.TaskReview{Comments: []task.ReviewComment{{ID: 1, Text: "first"}, {ID: 2, Text: "second"}}}
	for i := range 1000 {
		reply := task.ReviewReply{Text: fmt.Sprintf("reply %d %s", i, strings.Repeat("x", 5000))}
		r.Comments[0].Replies = append(r.Comments[0].Replies, reply)
	}
	r.Bound()
	if len(r.Comments) != 2 || r.MoreComments != 0 {
		t.Fatalf("got %d comments and %d more, want 2 and 0", len(r.Comments), r.MoreComments)
	}
	shown := r.Comments[0].Replies
	if n := len(shown); n == 0 || n+r.Comments[0].MoreReplies != 1000 || !strings.HasPrefix(shown[n-1].Text, "reply 999 ") {
		t.Errorf("got %d replies and %d more, want 1000 together, with the newest", n, r.Comments[0].MoreReplies)
	}
	bytes := 0
	for _, reply := range shown {
		bytes += len(reply.Text)
	}
	if bytes > 8000 {
		t.Errorf("got %d bytes of replies, want at most 8000", bytes)
	}
}
