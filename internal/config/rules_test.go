package config

import (
	"os"
	"testing"
)

func TestEqualFailuresAsConfigured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		set  map[string]string
		want int
	}{
		{"five by default", nil, 5},
		{"as configured", map[string]string{"runs.equal_failures": "2"}, 2},
		{"never with 0", map[string]string{"runs.equal_failures": "0"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, err := Load(LoadOptions{File: os.DevNull, Flags: tt.set})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Rules().EqualFailures; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestNoWakesAsConfigured(t *testing.T) {
	t.Parallel()
	c, _, err := Load(LoadOptions{File: os.DevNull, Flags: map[string]string{"scheduler.wake_budget_per_hour": "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Rules().Wakes {
		t.Error("wakes are enabled with a budget of 0")
	}
}
