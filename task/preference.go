package task

import "slices"

// Preference is a choice that a person makes for themselves. It is kept with
// their account, so it applies in every browser.
type Preference string

// The preferences. "" is the default of each.
const (
	PrefKeys    Preference = "keys"    // "off": no single-key shortcuts
	PrefGuide   Preference = "guide"   // "off": the guide of the demo is dismissed
	PrefDensity Preference = "density" // "cozy": more room
	PrefMotion  Preference = "motion"  // "less": nothing moves, whatever the system says
	PrefDiff    Preference = "diff"    // "split": old and new side by side
	PrefZone    Preference = "zone"    // a name of the time zone database; "": that of the browser
)

var preferenceValues = map[Preference][]string{
	PrefKeys:    {"", "off"},
	PrefGuide:   {"", "off"},
	PrefDensity: {"", "cozy"},
	PrefMotion:  {"", "less"},
	PrefDiff:    {"", "split"},
}

// Check refuses unknown preferences and values.
func (p Preference) Check(value string) error {
	if _, ok := Zone(value); p == PrefZone && (ok || value == "") {
		return nil
	} else if p == PrefZone {
		return FieldErrorf("value", "is not a time zone")
	}
	values, known := preferenceValues[p]
	if !known {
		return FieldErrorf("name", "is not a preference")
	}
	if !slices.Contains(values, value) {
		return FieldErrorf("value", "is not a value of the preference %s", p)
	}
	return nil
}

// Preferences are those of one person that differ from the default.
type Preferences map[Preference]string

// Bounds of saved views.
const (
	MaxSavedViews = 50   // a person
	MaxViewName   = 60   // characters
	MaxViewPath   = 2000 // bytes
)

// SavedView is a filter of a list that a person keeps under a name.
type SavedView struct {
	ID        ID     `json:"id"`
	Name      string `json:"name" doc:"1 to 60 characters"`
	Path      string `json:"path" doc:"path and query of the page"`
	CreatedAt Time   `json:"createdAt"`
}
