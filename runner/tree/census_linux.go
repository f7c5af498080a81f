package tree

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CensusEvery is how often a keeper calls Look.
const CensusEvery = 50 * time.Millisecond

const (
	wholeEvery = 500 * time.Millisecond // between two looks at each process
	rush       = 200                    // new threads on the machine since then make it look at once
)

// Census counts what is below this process, for the limits that the kernel
// keeps for accounts and single processes only. The zero value has no limits.
type Census struct {
	Processes int    // at one time
	Memory    uint64 // bytes that all of them hold at one time

	last    time.Time
	threads uint16 // of the machine, at last
}

// MostMemory is how much a tree may hold: three quarters of the machine's.
func MostMemory() uint64 { return memory() / 4 * 3 }

// Look returns which limit is passed, "" for none. It is cheap to call often.
func (c *Census) Look() (over string) {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)
	if time.Since(c.last) < wholeEvery && int16(info.Procs-c.threads) < rush { // it wraps
		return ""
	}
	c.last, c.threads = time.Now(), info.Procs
	below := Below(os.Getpid())
	if c.Processes > 0 && len(below) > c.Processes {
		return fmt.Sprintf("more than %d processes at one time", c.Processes)
	}
	if c.Memory > 0 && held(below) > c.Memory {
		return fmt.Sprintf("more than %d MiB of memory", c.Memory>>20)
	}
	return ""
}

// held sums up the bytes of memory that processes share with no other.
func held(list []Proc) (bytes uint64) {
	for _, p := range list {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/statm")
		f := strings.Fields(string(b))
		if len(f) < 3 {
			continue // it is gone
		}
		resident, _ := strconv.ParseUint(f[1], 10, 64)
		shared, _ := strconv.ParseUint(f[2], 10, 64)
		bytes += (resident - min(shared, resident)) * uint64(os.Getpagesize())
	}
	return bytes
}
