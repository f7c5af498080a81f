package app

import (
	"maps"
	"testing"

	"taskyard/internal/config"
)

func TestEqualFailuresAsConfigured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		set  map[string]string
		want int
	}{
		{"five by default", nil, 5},
		{"as many as are named", map[string]string{"runs.equal_failures": "2"}, 2},
		{"0 is never", map[string]string{"runs.equal_failures": "0"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, err := config.Load(config.LoadOptions{Flags: withData(t, tt.set)})
			if err != nil {
				t.Fatal(err)
			}
			if got := serviceConfig(c, Options{}, nil).EqualFailures; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestNoWakesAsConfigured(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load(config.LoadOptions{Flags: withData(t, map[string]string{"scheduler.wake_budget_per_hour": "0"})})
	if err != nil {
		t.Fatal(err)
	}
	if serviceConfig(c, Options{}, nil).Wakes {
		t.Error("a budget of 0 leaves wakes on, with the service's own budget")
	}
}

// withData adds a data folder to settings.
func withData(t *testing.T, set map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{"data": t.TempDir()}
	maps.Copy(all, set)
	return all
}
