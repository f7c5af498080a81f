package app

import (
	"math"
	"testing"
)

func TestABurstIsBoundedAndALargeInstanceIsNot(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	b := memoryBurst{base: 20 * mib, steady: 10 * mib}
	if got := b.limit(25 * mib); got > 52*mib {
		t.Errorf("in a burst, Go may use %d MiB, want at most 52", got/mib)
	}
	if got := b.limit(200 * mib); got != math.MaxInt64 {
		t.Errorf("with 200 MiB in use, Go may use %d MiB, want no limit", got/mib)
	}
	b = memoryBurst{base: 20 * mib, steady: 10 * mib}
	for range 60 { // five minutes
		b.limit(25 * mib)
	}
	if got := b.limit(25 * mib); got < 70*mib {
		t.Errorf("after minutes with 25 MiB in use, Go may use %d MiB, want at least 70: "+
			"it must not collect garbage more often than by default", got/mib)
	}
	if b.limit(10*mib) > 48*mib {
		t.Error("the next burst is not bounded")
	}
}
