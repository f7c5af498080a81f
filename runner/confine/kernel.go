package confine

import "strings"

// Kernel is what a machine can enforce.
type Kernel struct {
	Landlock   int  // version; 0: there is none
	Seccomp    bool // system calls can be filtered
	Attributes bool // with Seccomp: modes and times can be changed only by a Broker
}

// Machine is this machine's.
func Machine() Kernel {
	return Kernel{Landlock: Version(), Seccomp: HasSeccomp(), Attributes: HasBroker()}
}

// scopesSignals is the first version of landlock that confines signals.
const scopesSignals = 6

// Unenforced says what of the server landlock does not keep a program from
// here, "" when there is nothing.
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
