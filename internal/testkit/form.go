package testkit

import "os"

// Long reports whether the tests run in their long form, as in CI and in
// `make check`: every page, button and input of a sweep, and more kills. It is
// asked for by CI=true, and part of the thorough form.
func Long() bool { return os.Getenv("CI") == "true" || Thorough }

// Thorough reports whether trials are asked for with TASKYARD_TRIALS. It is
// read before a test program removes the variable from the environment of the
// servers that it starts.
var Thorough = os.Getenv("TASKYARD_TRIALS") != ""

// EveryNth returns the whole list in the long form, else every nth of its
// items, beginning with the first.
func EveryNth[T any](n int, list []T) []T {
	if Long() {
		return list
	}
	var few []T
	for i := 0; i < len(list); i += n {
		few = append(few, list[i])
	}
	return few
}
