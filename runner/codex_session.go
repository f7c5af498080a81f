package runner

import (
	"os"
	"path"
	"path/filepath"
)

// codexFolder is CODEX_HOME below HOME.
const codexFolder = ".codex"

// takeThread copies the conversation of a former start into home, the
// CODEX_HOME of a run. It returns the name of the conversation; "" where there
// is none. Then Codex starts over, which does no harm.
func (c *Codex) takeThread(spec Spec, home string) string {
	if spec.Former == "" || !sessionID.MatchString(spec.Session) {
		return ""
	}
	pattern := "sessions/*/*/*/rollout-*-" + spec.Session + ".jsonl"
	if own := c.Env["CODEX_HOME"]; own != "" { // it stays
		if found, _ := filepath.Glob(filepath.Join(own, pattern)); len(found) == 1 {
			return spec.Session
		}
		return ""
	}
	root, err := os.OpenRoot(spec.Former)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	for _, former := range []string{formerHome, "home"} {
		from := findSession(root, path.Join(former, codexFolder, pattern))
		if from == nil {
			continue
		}
		defer func() { _ = from.Close() }()
		inside, err := filepath.Rel(filepath.Join(spec.Former, former, codexFolder), from.Name())
		if err != nil || !filepath.IsLocal(inside) || copySession(filepath.Join(home, inside), from) != nil {
			return ""
		}
		return spec.Session
	}
	return ""
}
