package views

import (
	"bytes"
	"fmt"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
	"taskyard/views/ui"
)

// BenchmarkMarkHidden scans the page of BenchmarkBoard, which contains no hidden
// characters.
func BenchmarkMarkHidden(b *testing.B) {
	var buf bytes.Buffer
	testkit.NoError(b, QueuesPage(board()).Render(b.Context(), &buf))
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		ui.MarkHidden(buf.Bytes())
	}
}

// BenchmarkBoard renders a board of 50 cards, like the board of a busy server.
func BenchmarkBoard(b *testing.B) {
	c, m := board()
	var buf bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		testkit.NoError(b, QueuesPage(c, m).Render(b.Context(), &buf))
	}
	b.ReportMetric(float64(buf.Len()), "bytes")
}

func board() (Chrome, QueuesModel) {
	m := QueuesModel{}
	for _, agent := range []string{"coder", "planner"} {
		var tasks []*task.Task
		for i := range 25 {
			tasks = append(tasks, sampleTask(task.ID(i+1), fmt.Sprintf("A task of the board, number %d", i), agent, i%10, nil))
		}
		groups := groupCards(tasks, 25, nil)
		m.Columns = append(m.Columns, task.BoardColumn{Agent: agent, Groups: groups})
	}
	return sampleChrome("/queues"), m
}
