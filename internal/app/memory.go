package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Go gives memory back by itself, but only after the next collections, which an
// idle server makes every two minutes: a burst of large answers would be held
// for as long. So a server that has become quiet is made to.
const (
	memoryLook  = 5 * time.Second
	memoryQuiet = 8 << 20 // bytes that are allocated between two looks
	memoryWorth = 8 << 20 // bytes beyond the last time
)

// releaseMemory returns the memory of a burst to the system soon after it, until ctx
// ends.
func releaseMemory(ctx context.Context) {
	tick := time.NewTicker(memoryLook)
	defer tick.Stop()
	var kept, allocated uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		held, total := heldMemory()
		quiet := total-allocated < memoryQuiet
		allocated = total
		if !quiet || kept != 0 && held < kept+memoryWorth {
			continue
		}
		debug.FreeOSMemory()
		kept, allocated = heldMemory()
	}
}

// heldMemory returns the bytes that Go holds of the system, and those that it
// has allocated since the start.
func heldMemory() (held, allocated uint64) {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64(), s[2].Value.Uint64()
}
