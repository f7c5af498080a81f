package testkit

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// formKey selects the form of tests that find more the longer they run: short
// if unset, "whole", or a number of trials for the thorough form.
const formKey = "TASKYARD_TRIALS"

type testForm struct {
	whole  bool
	trials int
}

// form is the selected form. The variable is removed from the environment,
// because the server rejects unknown variables with its prefix.
var form = func() testForm {
	f, err := parseForm(os.Getenv(formKey))
	if err != nil {
		panic(err)
	}
	_ = os.Unsetenv(formKey)
	return f
}()

func parseForm(v string) (testForm, error) {
	if v == "" || v == "whole" {
		return testForm{whole: v != ""}, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return testForm{}, fmt.Errorf("%s is %q: write whole, or a number of trials", formKey, v)
	}
	return testForm{whole: true, trials: n}, nil
}

// Whole reports whether tests try all cases, as in `make check` and CI, and not
// only a few. The thorough form is also whole.
func Whole() bool {
	_ = os.Getenv(formKey) // reading it during the test invalidates its cached result
	return form.whole
}

// Trials returns how often the thorough form tries what the whole form tries a
// few times; 0 in the other forms.
func Trials() int {
	_ = os.Getenv(formKey) // as in Whole
	return form.trials
}

// Thorough reports whether the thorough form is selected; see Trials.
func Thorough() bool { return Trials() > 0 }

// OneGoroutine skips a test under the race detector: it processes many bytes in
// one goroutine, where the detector finds nothing and takes ten times as long.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("uses one goroutine, which the race detector only slows down")
	}
}

// ByForm returns the value for the selected form.
func ByForm[T any](short, whole, thorough T) T {
	switch {
	case Thorough():
		return thorough
	case Whole():
		return whole
	}
	return short
}

// Sample returns every nth element of a list, starting with the first; in the
// whole form, all of them.
func Sample[T any](n int, list []T) []T { return sample(Whole(), n, list) }

func sample[T any](whole bool, n int, list []T) []T {
	if whole {
		return list
	}
	var some []T
	for i := 0; i < len(list); i += n {
		some = append(some, list[i])
	}
	return some
}
