package service

import (
	"testing"
)

// A thousand waiters cost nothing for tasks that they do not wait for.
func TestATaskWakesOneWaiter(t *testing.T) {
	t.Parallel()
	var line claimWaiters
	first, second, other := line.join("coder", 9), line.join("coder", 9), line.join("planner", 9)
	woken := func() [3]int { return [3]int{len(first.wake), len(second.wake), len(other.wake)} }
	line.wake("reviewer")
	equal(t, "for another agent", woken(), [3]int{})
	line.wake("coder")
	equal(t, "for their agent", woken(), [3]int{1, 0, 0})
	line.wake("coder")
	equal(t, "for a second task", woken(), [3]int{1, 1, 0})
	line.wake("")
	equal(t, "when all are woken", woken(), [3]int{1, 1, 1})
	line.remove(first)
	equal(t, "waiting signups", line.n.Load(), 2)
}
