package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"taskyard/runner/confine"
	"taskyard/runner/instance"
)

// Confinement says which files a program and all that it starts may change:
// those of its workspace, of the run's folders, and Writable. It needs landlock
// (Linux 6.2). The zero value confines nothing.
type Confinement struct {
	On       bool
	Writable []string        // further folders, absolute; those that are missing are passed over
	Hidden   []string        // folders that are not to be read, but for what of the run lies in them
	kernel   *confine.Kernel // nil: this machine's
}

func (c Confinement) machine() confine.Kernel {
	if c.kernel != nil {
		return *c.kernel
	}
	return confine.Machine()
}

// works reports whether files are held, and if not, why.
func (c Confinement) works() (bool, string) {
	switch {
	case !c.On:
		return false, "confine = false"
	case c.machine().Landlock < confine.Least:
		return false, "this machine has no landlock, which takes Linux 6.2"
	}
	return true, ""
}

// words tell for people how a program and its commands are held. more is said
// of what they still can.
func (c Confinement) words(more string) string {
	if ok, why := c.works(); !ok {
		return "not confined (" + why + "): commands run as the account of the server"
	}
	text := fmt.Sprintf("landlock v%d: it writes in the workspace and the folders of its run only; %s", c.machine().Landlock, more)
	if unenforced := c.machine().Unenforced(); unenforced != "" {
		text += "; " + unenforced
	}
	return text
}

// ownFolders are the variables that name folders of the program itself. What
// the configuration sets them to may be written.
var ownFolders = []string{"HOME", "TMPDIR", "CLAUDE_CONFIG_DIR"}

// rules are for a run in the folder work; nil where nothing is held. The folder
// of the run itself is not writable, only those in it: what points the program
// to its tools lies there.
func (c Confinement) rules(spec Spec, work string, configured map[string]string) *confine.Rules {
	if ok, _ := c.works(); !ok {
		return nil
	}
	var list, readable []string
	if spec.Plan.ReadOnly {
		readable = append(readable, work)
	} else {
		list = append(list, work)
	}
	for _, name := range []string{"home", "tmp", sessionFolder} {
		list = append(list, filepath.Join(spec.Dir, name))
	}
	for _, name := range ownFolders {
		list = append(list, configured[name])
	}
	list = append(list, c.Writable...)
	list = slices.DeleteFunc(list, func(path string) bool {
		_, err := os.Stat(path)
		return !filepath.IsAbs(path) || err != nil
	})
	rules := &confine.Rules{
		Version: c.machine().Landlock, Writable: list, Devices: confine.Devices,
		Seccomp: c.machine().Seccomp, Attributes: c.machine().Attributes,
	}
	for _, dir := range c.Hidden {
		if _, err := os.Stat(dir); err == nil {
			rules.Hidden = append(rules.Hidden, dir)
		}
	}
	if self, err := os.Executable(); err == nil {
		rules.Readable = slices.Concat(readable, []string{spec.Dir, self})
	}
	return rules
}

// within reports whether a path lies below one of the folders. Symbolic links
// are followed as far as the path exists.
func within(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(base string) bool { return instance.Within(base, path) })
}

// shellArg makes the shim a shell for one command, see shellMain.
const shellArg = "shell"

// shellRules say what a command of an agent's shell may do.
type shellRules struct {
	Files   *confine.Rules `json:"files,omitempty"`   // nil: as the program above it
	Sockets bool           `json:"sockets,omitempty"` // those that reach other things than the network are closed
	Network bool           `json:"network,omitempty"` // else, with Sockets, these too
	Keep    []string       `json:"keep,omitempty"`    // names of variables that hold secrets and are meant for commands
}

// hides reports whether a variable is not for commands of the agent.
func (r shellRules) hides(name string) bool {
	return secretName.MatchString(name) && !slices.Contains(r.Keep, name)
}
