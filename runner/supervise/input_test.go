package supervise

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"taskyard/internal/testkit"
)

func TestMessagesReachTheProgramInOrder(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	testkit.NoError(t, err)
	in := &input{w: w}
	for i := range maxUnread {
		if !in.post(fmt.Appendf(nil, "%d\n", i)) {
			t.Fatalf("message %d was refused", i)
		}
	}
	in.close()
	lines := bufio.NewScanner(r)
	for i := range maxUnread {
		if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
			t.Fatalf("message %d: got %q", i, lines.Text())
		}
	}
	if lines.Scan() {
		t.Errorf("got %q after the end", lines.Text())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheInputOfAProgramThatReadsNothingIsBounded(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	testkit.NoError(t, err)
	in := &input{w: w}
	large := make([]byte, 1<<20) // more than fits into a pipe
	for i := range maxUnread {
		if !in.post(large) {
			t.Fatalf("message %d was refused", i)
		}
	}
	if in.post(large) {
		t.Error("another message was accepted")
	}
	if err := r.Close(); err != nil { // as if the program ended: the writes fail
		t.Error(err)
	}
}
