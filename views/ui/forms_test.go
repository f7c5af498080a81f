package ui

import "testing"

func TestAFieldErrorNamesTheWrongEntry(t *testing.T) {
	t.Parallel()
	fe := FieldErrors{
		"steps[10].title": "is too long", "steps[2].title": "must not be blank", "resources[0].label": "is too long",
		"review.from[1]": "is unknown", "labels": "are too many", "labels[3]": "is wrong",
	}
	for field, want := range map[string]string{
		"steps": "step 3 must not be blank", "resources": "link 1: label is too long", "review.from": "entry 2 is unknown",
		"labels": "are too many", "title": "",
	} {
		if got := fe.FirstFor(field); got != want {
			t.Errorf("%s: got %q, want %q", field, got, want)
		}
	}
}
