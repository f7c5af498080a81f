package service

import (
	"errors"

	"taskyard/task"
)

// The causes with which a running run of this process is stopped.
var (
	ErrStopCanceled   = errors.New("canceled")
	ErrStopTaskClosed = errors.New("task closed")
	ErrStopDone       = errors.New("done")              // it closed its own task
	ErrStopReported   = errors.New("ended by a report") // it has its end already
	ErrStopCutOff     = errors.New("cut off")           // another server may take it over
)

// stopCause is the cause that a server announces.
func stopCause(text string) error {
	for _, cause := range []error{ErrStopTaskClosed, ErrStopDone, ErrStopReported} {
		if cause.Error() == text {
			return cause
		}
	}
	return ErrStopCanceled
}

// stopRun stops the program of a run once the transaction is committed,
// on whichever server it is.
func (tx *txn) stopRun(run task.ID, cause error) {
	tx.signals.Stops = append(tx.signals.Stops, task.Stop{Run: run, Cause: cause.Error()})
}
