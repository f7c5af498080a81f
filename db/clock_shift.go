package db

import "time"

// ShiftDue moves what was due after a gap of d, in which nobody could be
// heard: leases and claims; after a step back of the clock (d < 0) also
// whatever else waits for a moment that was computed from it.
func (tx *Tx) ShiftDue(d time.Duration) error {
	shift := []string{
		"UPDATE tasks INDEXED BY tasks_lease SET claim_expires = claim_expires + ? WHERE claim_expires IS NOT NULL",
		"UPDATE runs SET lease_expires = lease_expires + ? WHERE status = 'running'",
	}
	if d < 0 {
		shift = append(shift,
			"UPDATE runs INDEXED BY runs_closing SET closing_at = closing_at + ? WHERE status = 'running' AND closing_at IS NOT NULL",
			"UPDATE runs INDEXED BY runs_queued SET not_before = not_before + ? WHERE status = 'pending' AND phase = 'queued' AND not_before > 0",
			"UPDATE runs INDEXED BY runs_approval SET approval_expires = approval_expires + ?1, held_until = held_until + ?1 "+
				"WHERE status = 'pending' AND phase = 'approval'",
			"UPDATE permissions INDEXED BY permissions_expiry SET expires_at = expires_at + ? WHERE decision = ''",
			"UPDATE outbox SET not_before = not_before + ?",
			"UPDATE merges INDEXED BY merges_queue SET not_before = not_before + ? WHERE ended_at IS NULL AND not_before > 0",
		)
	}
	for _, q := range shift {
		if err := tx.do(q, d.Milliseconds()); err != nil {
			return err
		}
	}
	return nil
}
