package service

import (
	"testing"

	"taskyard/task"
)

func TestOutcomesThatNobodyHeardAreForgotten(t *testing.T) {
	t.Parallel()
	l := submissions{all: map[task.ID]*submission{}}
	now := task.Time(1_000_000)
	join := func(id task.ID) *submission {
		return must(l.join(&submission{task: &task.Task{ID: id}}, now))
	}
	for id := range task.ID(100) {
		close(join(id + 1).done)
	}
	running := join(200)
	now = now.Add(outcomeLife - 1e9)
	recent := join(201)
	close(recent.done)
	equal(t, "kept within the time for outcomes", len(l.all), 102)
	now = now.Add(2e9)
	join(202)
	equal(t, "kept after it: what runs, what is recent, the new one", len(l.all), 3)
	if l.all[200] != running || l.all[201] != recent {
		t.Error("a running completion or a recent outcome was forgotten")
	}
}
