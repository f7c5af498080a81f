//go:build linux && !amd64

package confine

var (
	ownerCalls  []uint32
	makingRules []rule
	attributes  = attributesAt
)
