package claude

import (
	"path"
	"path/filepath"

	"taskyard/runner/supervise"
)

// takeSession copies the session of a former attempt into the folder of this
// one, where the program keeps writing it, and returns the path of the copy;
// "" where there is none. Then the program starts over, which does no harm.
func takeSession(spec supervise.Spec) string {
	name := spec.Session + ".jsonl"
	to := func(string) string { return filepath.Join(spec.Dir, supervise.SessionFolder, name) }
	return supervise.TakeSession(spec, to, path.Join(supervise.SessionFolder, name),
		supervise.FormerHome+"/.claude/projects/*/"+name, "home/.claude/projects/*/"+name)
}
