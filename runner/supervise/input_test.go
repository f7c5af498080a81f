package supervise

import (
	"bufio"
	"fmt"
	"os"
	"testing"
)

func TestMessagesReachTheProgramInTheirOrder(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in := &input{w: w}
	for i := range maxUnread {
		if !in.post(fmt.Appendf(nil, "%d\n", i)) {
			t.Fatalf("message %d is refused", i)
		}
	}
	in.close()
	lines := bufio.NewScanner(r)
	for i := range maxUnread {
		if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, lines.Text())
		}
	}
	if lines.Scan() {
		t.Errorf("%q follows the end", lines.Text())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatReadsNothingIsSentSoMuchAndNoMore(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in := &input{w: w}
	large := make([]byte, 1<<20) // more than a pipe holds
	for i := range maxUnread {
		if !in.post(large) {
			t.Fatalf("message %d is refused", i)
		}
	}
	if in.post(large) {
		t.Error("another one is taken")
	}
	if err := r.Close(); err != nil { // the program ends: the writes fail
		t.Error(err)
	}
}
