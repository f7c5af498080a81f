package claude

import (
	"path"
	"path/filepath"

	"taskyard/runner/supervise"
)

// takeSession copies the session of an earlier attempt into the folder of this
// one, where the program continues to write it, and returns the path of the
// copy, or "" if there is none. The program then starts over, which does no
// harm.
func takeSession(spec supervise.Spec) string {
	name := spec.Session + ".jsonl"
	to := func(string) string { return filepath.Join(spec.Dir, supervise.SessionFolder, name) }
	return supervise.TakeSession(spec, to, path.Join(supervise.SessionFolder, name),
		supervise.FormerHome+"/.claude/projects/*/"+name, "home/.claude/projects/*/"+name)
}
