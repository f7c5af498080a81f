package main

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// errEmpty ends a lap: there is nothing left to do.
var errEmpty = errors.New("nothing left to do")

// lap is the result of concurrent callers.
type lap struct {
	ops     int
	elapsed time.Duration
	cpu     time.Duration   // of this process; 0 if not measured
	took    []time.Duration // duration of each operation
}

// add adds another lap of the same row.
func (l *lap) add(m lap) {
	l.ops += m.ops
	l.elapsed += m.elapsed
	l.cpu += m.cpu
	l.took = append(l.took, m.took...)
}

// rate returns operations per second.
func (l *lap) rate() float64 {
	if l.elapsed <= 0 {
		return 0
	}
	return float64(l.ops) / l.elapsed.Seconds()
}

// cpuEach returns the CPU time per operation in seconds.
func (l *lap) cpuEach() float64 { return l.cpu.Seconds() / float64(max(l.ops, 1)) }

// percentile returns the duration that this share (0 to 1) of the operations
// did not exceed.
func (l *lap) percentile(share float64) time.Duration {
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return l.took[min(int(share*float64(len(l.took))), len(l.took)-1)]
}

// drive makes each caller call op at least once and then repeatedly, for d or
// until op returns errEmpty or another error. op receives the number of its
// caller, from 0, and the unique number of the call.
func drive(callers int, d time.Duration, op func(caller int, n int64) error) (lap, error) {
	var (
		next   atomic.Int64
		halt   atomic.Bool
		group  sync.WaitGroup
		took   = make([][]time.Duration, callers)
		failed = make([]error, callers)
		start  = time.Now()
	)
	for i := range callers {
		group.Go(func() {
			took[i], failed[i] = again(start.Add(d), &halt, func() error { return op(i, next.Add(1)-1) })
		})
	}
	group.Wait()
	l := lap{elapsed: time.Since(start), took: slices.Concat(took...)}
	l.ops = len(l.took)
	for _, err := range failed {
		if err != nil {
			return l, err // one is enough: the others failed for the same reason
		}
	}
	return l, nil
}

// again calls op at least once, so that a short lap that began late still has a
// result, and then until the end, or until a caller with the same halt has
// nothing left to do or fails. It returns the duration of each call.
func again(end time.Time, halt *atomic.Bool, op func() error) (took []time.Duration, err error) {
	for begin := time.Now(); !halt.Load(); {
		if err := op(); err != nil {
			halt.Store(true)
			if errors.Is(err, errEmpty) {
				err = nil
			}
			return took, err
		}
		now := time.Now()
		took = append(took, now.Sub(begin))
		if begin = now; !now.Before(end) {
			break
		}
	}
	return took, nil
}

// ownCPU returns the CPU time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
