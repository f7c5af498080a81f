package ui

import (
	"strings"
	"testing"
)

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

func TestTheErrorOfAFieldIsASentence(t *testing.T) {
	t.Parallel()
	for _, problem := range []string{"must not be blank", "Must not be blank", "Must not be blank."} {
		var b strings.Builder
		if err := TextField("name", "Name", "", "Its name.", problem, nil).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "Must not be blank.</p>") {
			t.Errorf("%q: got %s", problem, b.String())
		}
	}
	if got := Sentence(""); got != "" {
		t.Errorf("without an error, got %q", got)
	}
}
