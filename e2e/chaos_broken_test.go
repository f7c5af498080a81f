package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// buildBrokenClaim builds a program whose claims take what another one took a
// moment ago, as if they had read the queue before it.
func buildBrokenClaim(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("db/claims.go")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const right = "WHERE owner = ?1 AND status = 'active' AND claim_holder IS NULL\n"
	broken := strings.Replace(string(b), right, "WHERE owner = ?1 AND status = 'active' AND (claim_holder IS NULL OR claim_since + 20 > ?2)\n", 1)
	if broken == string(b) {
		t.Fatalf("%s has no %q", path, right)
	}
	file := filepath.Join(t.TempDir(), "claims.go")
	put(t, file, broken)
	to, err := buildWith(t, map[string]string{path: file})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// buildWith builds the program with other files in the place of its own, and
// returns its path.
func buildWith(t *testing.T, replace map[string]string, flags ...string) (string, error) {
	dir := t.TempDir()
	overlay, to := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "taskyard")
	if err := os.WriteFile(overlay, []byte(asJSON(map[string]any{"Replace": replace})), 0o600); err != nil {
		return "", err
	}
	args := append([]string{"build", "-o", to, "-overlay", overlay}, flags...)
	out, err := exec.CommandContext(t.Context(), "go", append(args, "taskyard")...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return to, err
}

// What the chaos finds nothing wrong with is worth something only if it finds what
// is: the same servers, load and kills, with a claim that is broken.
func TestChaosFlagsABrokenClaim(t *testing.T) {
	t.Parallel()
	c := newChaos(t, []string{buildBrokenClaim(t)}, chaosPlan{
		clients: 16, kills: 4, crashes: 1, gap: time.Second, limit: time.Minute,
	})
	c.unleash()
	for _, err := range c.load.errs {
		t.Error(err) // it is the history alone that flags it
	}
	if got := c.load.hist.check(); got != porcupine.Illegal {
		t.Errorf("the history of claims is %s", got)
	}
}
