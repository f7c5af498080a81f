package handlers

import "testing"

// A browser that got no answer sends its form again, with the same key.
func TestAFormThatIsSentAgainGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	const definition = "---\ndescription: Rests.\ntools: read\nrunner: none\n---\nRest.\n"
	for _, f := range []struct {
		name, path, to string
		fields         []string
	}{
		{"a password", "/settings/password", "/settings", []string{"current", pagePassword, "password", "another " + pagePassword}},
		{"a new agent", "/agents", "/agents/napper", []string{"id", "napper", "new", "1", "text", definition}},
		{"the deletion of an agent", "/agents/napper/delete", "/agents", nil},
	} {
		t.Run(f.name, func(t *testing.T) {
			fields := append([]string{"_key", f.name}, f.fields...)
			b.post(f.path, fields...).redirectsTo(f.to)
			b.post(f.path, fields...).redirectsTo(f.to)
		})
	}
	t.Run("another agent does not get the name of one that exists", func(t *testing.T) {
		b.post("/agents", "id", "coder", "new", "1", "text", definition).is(409).shows("There is already an agent coder")
	})
	t.Run("the current password is checked in a new form", func(t *testing.T) {
		b.post("/settings/password", "current", pagePassword, "password", "a third "+pagePassword, "_key", "other").
			is(422).shows("Is not your current password")
	})
}
