package task

import (
	"strings"
	"testing"
)

func TestZonesAreFoundByName(t *testing.T) {
	t.Parallel()
	for range 2 {
		if z, ok := Zone("UTC"); !ok || z.String() != "UTC" {
			t.Errorf("UTC: got %v", z)
		}
	}
	for _, name := range []string{
		"", "Local", "../../etc/passwd", "/etc/localtime", "Mars/Phobos",
		strings.Repeat("a", 99), "Europe/", "<b>", "a\x00", "A/B/C/D",
	} {
		if z, ok := Zone(name); ok {
			t.Errorf("%q: got %v", name, z)
		}
	}
}

func TestPreferencesAreParsedOrRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p     Preference
		value string
		ok    bool
	}{
		{PrefZone, "", true},
		{PrefZone, "UTC", true},
		{PrefZone, "Mars/Phobos", false},
		{PrefDensity, "cozy", true},
		{PrefDensity, "tight", false},
		{PrefMotion, "less", true},
		{PrefMotion, "more", false},
		{"color", "red", false},
	} {
		if err := c.p.Check(c.value); (err == nil) != c.ok {
			t.Errorf("%s %q: got %v", c.p, c.value, err)
		}
	}
}
