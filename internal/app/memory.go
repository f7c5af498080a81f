package app

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"taskyard/internal/sleep"
)

// Go returns memory by itself only after further collections, which an idle
// server makes every two minutes, so memory of a burst of large answers would
// be held for that long. Therefore, memory is released when the server has
// become quiet.
const (
	memoryLook  = 5 * time.Second
	memoryQuiet = 8 << 20 // bytes allocated between two checks
	memoryWorth = 8 << 20 // bytes more than the last time
)

// burstRoom is how many bytes more than a quiet server Go may hold before it
// collects more often. By default, it collects when the heap has doubled, and
// later if the CPU is busy: half of the memory of a burst was garbage.
const burstRoom = 28 << 20

// releaseMemory bounds the garbage of a burst and returns its memory to the
// system soon after it, until ctx ends.
func releaseMemory(ctx context.Context) {
	bounds := debug.SetMemoryLimit(-1) == math.MaxInt64 // otherwise GOMEMLIMIT is set
	m := memoryOfGo()
	b := memoryBurst{base: m.mapped, steady: m.live}
	var kept uint64
	allocated := m.allocated
	for {
		if bounds {
			debug.SetMemoryLimit(b.limit(m.live))
		}
		if !sleep.For(ctx, memoryLook) {
			return
		}
		m = memoryOfGo()
		quiet := m.allocated-allocated < memoryQuiet
		if quiet && (kept == 0 || m.mapped >= kept+memoryWorth) {
			debug.FreeOSMemory()
			m = memoryOfGo()
			b.base, kept = m.mapped, m.mapped
		}
		allocated = m.allocated
	}
}

// memoryBurst distinguishes a burst from an instance that has grown.
type memoryBurst struct {
	base   uint64 // bytes that Go held while the server was quiet
	steady uint64 // bytes of the heap in use during the last minute
}

// limit returns how many bytes Go may hold if the last collection left live
// bytes. Memory in use for minutes is not a burst. There is no limit if the
// instance needs most of it: Go would do little but collect.
func (b *memoryBurst) limit(live uint64) int64 {
	if live < b.steady {
		b.steady = live
	} else {
		b.steady += (live - b.steady) / uint64(time.Minute/memoryLook)
	}
	limit := max(b.base, 2*b.steady) + burstRoom
	if live > limit*3/5 {
		return math.MaxInt64
	}
	return int64(limit) //nolint:gosec // far below the largest number
}

// goMemory is what Go holds from the system, what the last collection left of
// the heap, and what was allocated since the start, in bytes.
type goMemory struct{ mapped, live, allocated uint64 }

func memoryOfGo() goMemory {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(s)
	return goMemory{
		mapped: s[0].Value.Uint64() - s[1].Value.Uint64(),
		live:   s[2].Value.Uint64(), allocated: s[3].Value.Uint64(),
	}
}
