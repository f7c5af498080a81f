package confine

import "strings"

// Kernel describes what a machine can enforce.
type Kernel struct {
	Landlock   int  // version; 0: none
	Seccomp    bool // supports system call filters
	Attributes bool // with Seccomp: supports changing modes and times through a Broker
}

// Machine returns what this machine can enforce.
func Machine() Kernel {
	return Kernel{Landlock: Version(), Seccomp: HasSeccomp(), Attributes: HasBroker()}
}

// scopesSignals is the first landlock version that restricts signals.
const scopesSignals = 6

// Unenforced returns what landlock does not protect of the server on this
// machine, "" if it protects everything.
func (k Kernel) Unenforced() string {
	var list []string
	if k.Landlock < scopesSignals {
		list = append(list, "signals to programs of the account (Linux 6.12)")
	}
	switch {
	case !k.Seccomp:
		list = append(list, "limits, priorities, modes and times of the account's programs and files, setuid bits and namespaces (seccomp)")
	case !k.Attributes:
		list = append(list, "modes and times of the account's files, the data folder's among them (seccomp notifications)")
	}
	if len(list) == 0 {
		return ""
	}
	return "not enforced: " + strings.Join(list, "; ")
}
