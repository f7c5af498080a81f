package task

import (
	"slices"

	"taskyard/internal/lazyregexp"
)

var label = lazyregexp.New(`^[a-z0-9-]{1,32}$`)

// ValidLabel reports whether s can be a label.
func ValidLabel(s string) bool { return label().MatchString(s) }

// CheckLabels notes every wrong label, or that they are too many, and returns
// them sorted, each once.
func (p *Problems) CheckLabels(field string, list []string) []string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	if len(sorted) > MaxLabels {
		p.Add(field, "must be at most %d labels, is %d", MaxLabels, len(sorted))
		return sorted
	}
	for i, l := range list {
		if !ValidLabel(l) {
			p.Add(field+"["+ID(i).String()+"]", "must be 1 to 32 characters of a-z, 0-9 and -")
		}
	}
	return sorted
}
