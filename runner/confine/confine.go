// Package confine takes rights from a thread, and from all that it becomes or
// starts: to change files, to reach the network, to touch other processes. What
// was taken never comes back.
package confine

// Rules say which files may be read and written, by landlock.
type Rules struct {
	Version   int      `json:"version"`             // of landlock, to enforce; at least Least, at most Version()
	Writable  []string `json:"writable,omitempty"`  // folders with all below them; each must exist
	Readable  []string `json:"readable,omitempty"`  // where ReadsFew or Hidden: these too, with Writable; missing ones are passed over
	Hidden    []string `json:"hidden,omitempty"`    // unless ReadsFew: folders that may not be read, but what of Writable and Readable lies in them
	Devices   []string `json:"devices,omitempty"`   // files that may be read and written, and not removed; likewise
	ReadsFew  bool     `json:"readsFew,omitempty"`  // else every file may be read and run
	NoNetwork bool     `json:"noNetwork,omitempty"` // no TCP (from version 4), no UDP (from ClosesUDP)

	Seccomp    bool `json:"seccomp,omitempty"`    // Filter belongs to it: who calls Enter sees to that
	Attributes bool `json:"attributes,omitempty"` // with Seccomp: and a Broker, for Writable
}

// Versions of the interface.
const (
	Least     = 3  // the first version that forbids to empty files elsewhere
	ClosesUDP = 10 // the first version that can close the whole network
)

// Devices are what every program may read and write.
var Devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
