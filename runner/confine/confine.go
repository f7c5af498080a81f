// Package confine drops rights of a thread and of everything that it starts: to
// change files, to use the network, to affect other processes. Dropped rights
// cannot be regained.
package confine

// Rules say which files may be read and written, as enforced by landlock.
type Rules struct {
	Version   int      `json:"version"`             // landlock version to enforce; at least Least, at most Version()
	Writable  []string `json:"writable,omitempty"`  // folders with everything below them; each must exist
	Readable  []string `json:"readable,omitempty"`  // with ReadsFew or Hidden: readable in addition to Writable; missing ones are skipped
	Hidden    []string `json:"hidden,omitempty"`    // without ReadsFew: unreadable folders, except Writable and Readable in them
	Devices   []string `json:"devices,omitempty"`   // files that may be read and written but not removed; missing ones are skipped
	ReadsFew  bool     `json:"readsFew,omitempty"`  // otherwise every file may be read and executed
	NoNetwork bool     `json:"noNetwork,omitempty"` // no TCP (from version 4), no UDP (from ClosesUDP)

	Seccomp    bool `json:"seccomp,omitempty"`    // Filter is also required; the caller of Enter must install it
	Attributes bool `json:"attributes,omitempty"` // with Seccomp: requires a Broker for Writable
}

// Landlock versions.
const (
	MinVersion = 3  // the first version that prevents truncating files elsewhere
	ClosesUDP  = 10 // the first version that can close the whole network
)

// Devices are files that every program may read and write.
var Devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
