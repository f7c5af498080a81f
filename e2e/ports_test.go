package e2e

import (
	"testing"
)

func TestEveryTestGetsItsOwnAddress(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 300 { // without a record, two of them would be equal with a probability of 95 %
		a := freeAddress(t)
		if given[a] {
			t.Fatalf("%s was given twice", a)
		}
		given[a] = true
	}
}
