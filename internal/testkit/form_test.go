package testkit

import (
	"slices"
	"testing"
)

func TestTheShortFormTakesEveryNthElement(t *testing.T) {
	t.Parallel()
	list := []string{"a", "b", "c", "d", "e"}
	if got := sample(false, 2, list); !slices.Equal(got, []string{"a", "c", "e"}) {
		t.Errorf("every second of five: got %v", got)
	}
	if got := sample(false, 9, list); !slices.Equal(got, list[:1]) {
		t.Errorf("every ninth of five: got %v", got)
	}
	if got := sample(true, 2, list); !slices.Equal(got, list) {
		t.Errorf("the whole form: got %v", got)
	}
}

func TestTheVariableSelectsTheForm(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]testForm{"": {}, "whole": {whole: true}, "300": {whole: true, trials: 300}} {
		if got, err := parseForm(v); err != nil || got != want {
			t.Errorf("%q: got %+v, %v", v, got, err)
		}
	}
	for _, v := range []string{"all", "0", "-1"} {
		if got, err := parseForm(v); err == nil {
			t.Errorf("%q: got %+v, want an error", v, got)
		}
	}
}
