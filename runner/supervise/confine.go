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

// Confinement restricts which files a program and its descendants may change:
// those of its workspace, of the run's folders, and Writable. It requires
// landlock (Linux 6.2). The zero value restricts nothing.
type Confinement struct {
	On       bool
	Writable []string        // additional folders, absolute; missing ones are skipped
	Hidden   []string        // folders that may not be read, except for the run's folders in them
	Kernel   *confine.Kernel // nil: that of this machine
}

// Machine returns what the kernel can enforce.
func (c Confinement) Machine() confine.Kernel {
	if c.Kernel != nil {
		return *c.Kernel
	}
	return confine.Machine()
}

// Works reports whether file access is confined, and if not, why.
func (c Confinement) Works() (bool, string) {
	switch {
	case !c.On:
		return false, "confine = false"
	case c.Machine().Landlock < confine.MinVersion:
		return false, "this machine has no landlock, which takes Linux 6.2"
	}
	return true, ""
}

// Describe describes for people how a program and its commands are confined.
// more is appended about what remains possible.
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

// ownFolders are the variables that name the program's own folders. If they are
// configured, those folders are writable.
var ownFolders = []string{"HOME", "TMPDIR", "CLAUDE_CONFIG_DIR"}

// Rules returns the rules for a run whose program has these configured
// variables; nil if nothing is confined. Only the subfolders of the run's
// folder are writable, because the folder itself contains the configuration of
// the program's tools.
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

// InFolders reports whether a path is below one of the folders. Symbolic links are
// followed as far as the path exists.
func InFolders(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(base string) bool { return instance.IsWithin(base, path) })
}

// Files returns how well a program is confined to its working folder.
func (c Confinement) Files() enforce.Level {
	if ok, why := c.Works(); !ok {
		return enforce.No("not confined (" + why + "): " + enforce.OwnAccount)
	}
	if unenforced := c.Machine().Unenforced(); unenforced != "" {
		return enforce.Partly("landlock; " + unenforced)
	}
	return enforce.Yes("landlock; it can read what the account of the server can, but the data folder")
}
