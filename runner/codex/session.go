package codex

import (
	"path/filepath"

	"taskyard/runner/supervise"
)

// homeFolder is the CODEX_HOME below HOME.
const homeFolder = ".codex"

// takeThread copies the conversation of an earlier attempt into home, the
// CODEX_HOME of a run. It returns the name of the conversation, or "" if there
// is none. Codex then starts over, which does no harm.
func (c *Runner) takeThread(spec supervise.Spec, home string) string {
	pattern := "sessions/*/*/*/rollout-*-" + spec.Session + ".jsonl"
	if own := c.Env["CODEX_HOME"]; own != "" { // it is not replaced between attempts
		if found, _ := filepath.Glob(filepath.Join(own, pattern)); len(found) == 1 && spec.Former != "" && supervise.ValidSession(spec.Session) {
			return spec.Session
		}
		return ""
	}
	for _, former := range []string{supervise.FormerHome, "home"} {
		folder := filepath.Join(former, homeFolder)
		to := func(found string) string {
			inside, err := filepath.Rel(folder, found)
			if err != nil || !filepath.IsLocal(inside) {
				return ""
			}
			return filepath.Join(home, inside)
		}
		if supervise.TakeSession(spec, to, filepath.Join(folder, pattern)) != "" {
			return spec.Session
		}
	}
	return ""
}
