package service

import (
	"slices"
	"sync"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// pastHours keeps the sums of the hours before the present one, which hardly
// ever change: the tiles of every page would add up a day of all agents again.
type pastHours struct {
	mu    sync.Mutex
	until task.Time // start of the present hour; 0: nothing is kept
	read  task.Time
	rows  []task.StatRow
}

// longestDay is how far back the tiles reach at most: to midnight in the zone of
// a person, on a day that has an hour more.
const longestDay = 25 * time.Hour

// since returns the sums by hour from a moment within longestDay until now.
func (p *pastHours) since(rx *db.Rx, from task.Time) ([]task.StatRow, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hour := rx.Now - rx.Now%task.Hour
	if age := rx.Now.Sub(p.read); p.until != hour || age < 0 || age >= time.Minute {
		rows, err := rx.StatHours(task.StatFilter{From: hour.Add(-longestDay), To: hour})
		if err != nil {
			return nil, err
		}
		p.until, p.read, p.rows = hour, rx.Now, rows
	}
	past := p.rows
	for len(past) > 0 && past[0].Hour < from {
		past = past[1:]
	}
	now, err := rx.StatHours(task.StatFilter{From: max(from, hour), To: rx.Now + 1})
	return slices.Concat(past, now), err
}

// forget has the hours read again: a transaction changed past ones.
func (p *pastHours) forget() {
	p.mu.Lock()
	p.until = 0
	p.mu.Unlock()
}
