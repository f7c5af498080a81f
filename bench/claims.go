package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"taskyard/db"
)

// claims compares, in turn, an agent that may hold as many claims as there are
// callers with one without such a limit: each caller completes its task and
// claims the next.
func (b *bench) claims(ctx context.Context) error {
	const callers, left = 64, 20_000
	unlimited := fmt.Sprintf(pullOnly, queues[0])
	limited := strings.Replace(unlimited, "name:", fmt.Sprintf("max_claims: %d\nname:", callers), 1)
	var rates [2]float64
	for round := range b.rounds {
		for i, definition := range []string{unlimited, limited} {
			folder := filepath.Join(b.folder, fmt.Sprintf("claims-%d-%d", round, i))
			svc, d, err := openService(ctx, folder, definition, "")
			if err != nil {
				return err
			}
			wanted := int(left * b.lap.Seconds())
			err = inChunks(ctx, d, wanted, func(tx *db.Tx, _ int) error { return insert(tx, queues[0]) })
			var l lap
			if err == nil {
				l, err = drive(callers, b.lap, newFinisher(ctx, svc, callers))
			}
			if err := errors.Join(err, d.Close()); err != nil {
				return err
			}
			rates[i] = l.rate()
		}
		b.sheet.add("finish and claim of an agent with max_claims, of one without", "", atLeast(0.95, 1), rates[1]/rates[0])
	}
	return nil
}
