package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"taskyard/runner/confine"
	"taskyard/runner/enforce"
	"taskyard/runner/instance"
)

// Confinement says which files a program and all that it starts may change:
// those of its workspace, of the run's folders, and Writable. It needs landlock
// (Linux 6.2). The zero value confines nothing.
type Confinement struct {
	On       bool
	Writable []string        // further folders, absolute; those that are missing are passed over
	Hidden   []string        // folders that are not to be read, but for what of the run lies in them
	Kernel   *confine.Kernel // nil: this machine's
}

// Machine is what the kernel can enforce.
func (c Confinement) Machine() confine.Kernel {
	if c.Kernel != nil {
		return *c.Kernel
	}
	return confine.Machine()
}

// Works reports whether access to files is confined, and if not, why.
func (c Confinement) Works() (bool, string) {
	switch {
	case !c.On:
		return false, "confine = false"
	case c.Machine().Landlock < confine.Least:
		return false, "this machine has no landlock, which takes Linux 6.2"
	}
	return true, ""
}

// Describe says for people how a program and its commands are confined. more is said
// of what they still can.
func (c Confinement) Describe(more string) string {
	if ok, why := c.Works(); !ok {
		return "not confined (" + why + "): commands run as the account of the server"
	}
	text := fmt.Sprintf("landlock v%d: it writes in the workspace and the folders of its run only; %s", c.Machine().Landlock, more)
	if unenforced := c.Machine().Unenforced(); unenforced != "" {
		text += "; " + unenforced
	}
	return text
}

// ownFolders are the variables that name folders of the program itself. What
// the configuration sets them to may be written.
var ownFolders = []string{"HOME", "TMPDIR", "CLAUDE_CONFIG_DIR"}

// Rules are for a run whose program has these configured variables; nil where
// nothing is held. The folder of the run itself is not writable, only those in it: what points the program
// to its tools lies there.
func (c Confinement) Rules(spec Spec, configured map[string]string) *confine.Rules {
	if ok, _ := c.Works(); !ok {
		return nil
	}
	var list, readable []string
	work := workDir(spec)
	if spec.Plan.ReadOnly {
		readable = append(readable, work)
	} else {
		list = append(list, work)
	}
	for _, name := range []string{"home", "tmp", SessionFolder} {
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
		Version: c.Machine().Landlock, Writable: list, Devices: confine.Devices,
		Seccomp: c.Machine().Seccomp, Attributes: c.Machine().Attributes,
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

// Within reports whether a path lies below one of the folders. Symbolic links
// are followed as far as the path exists.
func Within(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(base string) bool { return instance.Within(base, path) })
}

// Files is how far a program is confined to its work folder.
func (c Confinement) Files() enforce.Level {
	if ok, why := c.Works(); !ok {
		return enforce.No("not confined (" + why + "): " + enforce.OwnAccount)
	}
	if unenforced := c.Machine().Unenforced(); unenforced != "" {
		return enforce.Partly("landlock; " + unenforced)
	}
	return enforce.Yes("landlock; it can read what the account of the server can, but the data folder")
}
