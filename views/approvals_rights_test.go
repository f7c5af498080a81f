package views

import (
	"testing"

	"taskyard/task"
)

func TestRequestedLimitsReadAsOnOtherPages(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"900 s": "15m", "899 s": "14m 59s", "50000": "50,000", "1.50 USD": "$1.50",
		"not allowed": "not allowed", "writes only in its workspace": "writes only in its workspace",
	} {
		if got := askedText(task.Enforcement{Asked: asked}); got != want {
			t.Errorf("%q: got %q, want %q", asked, got, want)
		}
	}
	if got := askedText(task.Enforcement{Asked: "none", Level: task.NotAsked}); got != "no limit" {
		t.Errorf("no limit: got %q", got)
	}
}
