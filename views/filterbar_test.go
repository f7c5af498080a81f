package views

import (
	"testing"

	"taskyard/task"
)

func TestTheCountOfOpenTasksIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n        int
		narrowed bool
		want     string
	}{
		{1, true, "1 open task"},
		{task.MaxCounted, true, "1000 open tasks"},
		{task.MaxCounted + 1, true, "over 1000 open tasks"},
		{1_290_000, false, "1290000 open tasks"}, // known without counting
	} {
		if got := OpenTasks(c.n, c.narrowed); got != c.want {
			t.Errorf("%d, narrowed %t: got %q, want %q", c.n, c.narrowed, got, c.want)
		}
	}
}
