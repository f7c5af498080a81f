package db

import "time"

// ShiftDue moves leases and claims after a gap of d, during which nobody could
// renew them. After the clock was set back (d < 0), it also moves everything
// else that waits for a computed time.
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
