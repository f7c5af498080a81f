package jobs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	lasting := func(ended *bool) job {
		return job{name: "lasting", every: 10 * time.Second, run: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			*ended = true
			return nil
		}}
	}
	t.Run("the stop waits for a scheduled job, and no longer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var ended bool
			b := newBench(t, time.UTC, lasting(&ended))
			b.startIn(t)
			time.Sleep(15 * time.Second)
			synctest.Wait()
			start := time.Now()
			b.stop()
			if took := time.Since(start); took > 2*time.Second || !ended {
				t.Errorf("stopped after %v, job ended: %v", took, ended)
			}
		})
	})
	t.Run("the stop also waits for a job that a person started", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var ended bool
			b := newBench(t, time.UTC, lasting(&ended))
			ctx, cancel := context.WithCancel(t.Context())
			if err := b.start(ctx); err != nil {
				t.Fatal(err)
			}
			jb, err := b.find("lasting")
			if err != nil {
				t.Fatal(err)
			}
			go b.once(ctx, jb)
			synctest.Wait()
			cancel()
			b.clock.stop()
			if !ended {
				t.Error("the stop did not wait for the job")
			}
		})
	})
}
