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
	wholeEvery  = 500 * time.Millisecond // between two examinations of each process
	threadBurst = 200                    // new threads on the machine that trigger one at once
)

// Census measures the descendants of this process, for limits that the kernel
// enforces only per account or per process. The zero value has no limits.
type Census struct {
	Processes int    // at the same time
	Memory    uint64 // bytes that all of them use at the same time

	last    time.Time
	threads uint16 // on the machine, at the last look
}

// MaxMemory returns the memory limit of a tree: three quarters of the
// machine's memory.
func MaxMemory() uint64 { return memory() / 4 * 3 }

// Look returns which limit is exceeded, "" for none. Frequent calls are cheap.
func (c *Census) Look() (over string) {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)
	if time.Since(c.last) < wholeEvery && int16(info.Procs-c.threads) < threadBurst { // it wraps
		return ""
	}
	c.last, c.threads = time.Now(), info.Procs
	below := Descendants(os.Getpid())
	if c.Processes > 0 && len(below) > c.Processes {
		return fmt.Sprintf("more than %d processes at one time", c.Processes)
	}
	if c.Memory > 0 && residentMemory(below) > c.Memory {
		return fmt.Sprintf("more than %d MiB of memory", c.Memory>>20)
	}
	return ""
}

// residentMemory returns the total private memory of processes in bytes.
func residentMemory(list []Proc) (bytes uint64) {
	for _, p := range list {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/statm")
		f := strings.Fields(string(b))
		if len(f) < 3 {
			continue // it has ended
		}
		resident, _ := strconv.ParseUint(f[1], 10, 64)
		shared, _ := strconv.ParseUint(f[2], 10, 64)
		bytes += (resident - min(shared, resident)) * uint64(os.Getpagesize())
	}
	return bytes
}
