package tree

import (
	"os"
	"strconv"
	"strings"
)

// CountThreads counts the threads that an account has on this machine.
func CountThreads(uid int) (n int) {
	for _, pid := range pids() {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		var owner, threads int
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			switch {
			case len(f) < 2:
			case f[0] == "Uid:":
				owner, _ = strconv.Atoi(f[1])
			case f[0] == "Threads:":
				threads, _ = strconv.Atoi(f[1])
			}
		}
		if owner == uid {
			n += threads
		}
	}
	return n
}
