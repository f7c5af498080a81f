package e2e

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// brokenClaim makes the database forget one in four claims when it is made, as if
// the next claim had read the queue before it.
const brokenClaim = `CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	UPDATE tasks SET claim_holder = NULL, claim_since = NULL, claim_expires = NULL WHERE id = NEW.id;
	RETURN NULL;
END $$;
CREATE TRIGGER forget AFTER UPDATE ON tasks FOR EACH ROW
	WHEN (OLD.claim_holder IS NULL AND NEW.claim_holder IS NOT NULL AND random() < 0.25) EXECUTE FUNCTION forget()`

// The result of TestChaosOfThreeServers is worth something only if the checks find
// real errors: the same servers, load and kills, with broken claims.
func TestChaosFlagsABrokenClaim(t *testing.T) {
	t.Parallel()
	c := newChaos(t, chaosPlan{clients: 16, kills: 4, crashes: 1, gap: time.Second, limit: time.Minute})
	if _, err := c.db.ExecContext(t.Context(), brokenClaim); err != nil {
		t.Fatal(err)
	}
	c.unleash()
	for _, err := range c.load.errs {
		t.Error(err) // only the history flags it
	}
	if got := c.load.hist.check(); got != porcupine.Illegal {
		t.Errorf("the checker says that the history of claims is %s", got)
	}
}
