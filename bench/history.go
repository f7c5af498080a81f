package main

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// The words in the searched texts: a rare one in 1 of 50,000 tasks, a common
// one in every second task, a pair of which each is in 2 of 100, and two that
// are each in 1 of 10 but never together.
const (
	rareWord, commonWord = "quokka", "deploy"
	pairA, pairB         = "billing", "timeout"
	apartA, apartB       = "berlin", "lisbon"
)

// author generates texts from 5,000 words, of which few are frequent, as in
// natural texts.
type author struct {
	words []string
	rnd   *rand.Rand
	zipf  *rand.Zipf
}

func newAuthor() *author {
	rnd := rand.New(rand.NewPCG(1, 2)) // the same texts in every run
	a := &author{rnd: rnd, zipf: rand.NewZipf(rnd, 1.1, 8, 4999)}
	const vowels, consonants = "aeiou", "bdfgklmnprst"
	for len(a.words) < 5000 {
		var b strings.Builder
		for range 2 + rnd.IntN(3) {
			b.WriteByte(consonants[rnd.IntN(len(consonants))])
			b.WriteByte(vowels[rnd.IntN(len(vowels))])
		}
		a.words = append(a.words, b.String())
	}
	return a
}

// text returns the description of the nth task: about 30 words.
func (a *author) text(n int) string {
	list := make([]string, 0, 36)
	for range 30 {
		list = append(list, a.words[a.zipf.Uint64()])
	}
	if n%50_000 == 7 {
		list = append(list, rareWord)
	}
	if n%2 == 0 {
		list = append(list, commonWord)
	}
	for _, w := range []string{pairA, pairB} {
		if a.rnd.IntN(50) == 0 {
			list = append(list, w)
		}
	}
	switch n % 10 {
	case 0:
		list = append(list, apartA)
	case 5:
		list = append(list, apartB)
	}
	return strings.Join(list, " ")
}

// yearBefore returns a clock that advances through the year before end while
// the given number of tasks is written.
func yearBefore(end time.Time, tasks int) func() time.Time {
	const year = 365 * 24 * time.Hour
	writes := tasks/archiveChunk + 1
	now := end.Add(-year)
	return func() time.Time {
		now = now.Add(year / time.Duration(writes))
		if now.After(end) {
			return end
		}
		return now
	}
}

// archiveChunk is how many tasks are archived at the same time: about as many
// as on a day.
const archiveChunk = 2500

// fillArchive writes size archived tasks with indexed texts, then open ones of
// the given owners.
func fillArchive(ctx context.Context, d *db.DB, size, open int, owners []string) error {
	a := newAuthor()
	err := writeChunks(ctx, d, archiveChunk, size, func(tx *db.Tx, n int) error {
		id, err := tx.InsertTask(a.task(n, owners[n%len(owners)]))
		if err != nil {
			return err
		}
		if err := tx.Archive(id, task.Done, "done"); err != nil {
			return err
		}
		return tx.AddEvent(task.Event{Actor: "bench", Kind: task.EvTaskCreated, TaskID: id})
	})
	if err != nil {
		return err
	}
	if err := inChunks(ctx, d, open, func(tx *db.Tx, n int) error { return insert(tx, owners[n%len(owners)]) }); err != nil {
		return err
	}
	return catchUp(ctx, d)
}

// catchUp indexes the remaining history as fast as possible.
func catchUp(ctx context.Context, d *db.DB) error {
	return writeAll(ctx, d, (*db.Rx).ToIndex, (*db.Tx).Index)
}

// catchUpOpen does the same for open tasks.
func catchUpOpen(ctx context.Context, d *db.DB) error {
	return writeAll(ctx, d, (*db.Rx).ToOpenTexts, (*db.Tx).WriteOpenTexts)
}

// writeAll writes what find returns until it returns nothing.
func writeAll[T any](ctx context.Context, d *db.DB, find func(*db.Rx) ([]T, error), write func(*db.Tx, T) error) error {
	for {
		var list []T
		err := d.Read(ctx, func(rx *db.Rx) (err error) { list, err = find(rx); return err })
		if err != nil || len(list) == 0 {
			return err
		}
		err = d.Write(ctx, func(tx *db.Tx) error {
			for _, w := range list {
				if err := write(tx, w); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

func (a *author) task(n int, owner string) *task.Task {
	return &task.Task{
		Title: "a task of the bench", Description: a.text(n), Owner: owner, CreatedBy: owner, Status: task.Active, Channel: "web",
		Steps: []task.Step{{Title: "read"}, {Title: "write"}},
	}
}
