package task

import "testing"

func TestAPermissionErrorNamesWhoIsAllowed(t *testing.T) {
	t.Parallel()
	for p, want := range map[Perm]string{
		Decide:  "reviewer or admin; use a token of scope review or higher",
		Person:  "operator, reviewer or admin; use a token of scope operate or higher",
		Admin:   "admin; use a token of scope admin",
		Execute: "worker; use a token of scope worker",
	} {
		want = "coder (agent) may not do this: it requires the role " + want
		err := Actor{Name: "coder", Role: RoleAgent, TokenID: 1}.CheckPerm(p)
		if err.Message != want || err.Code != CodeForbidden {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	// A signed-in person needs another role, not a token.
	got, want := Actor{Name: "vera", Role: RoleViewer}.CheckPerm(Admin).Message, "vera (viewer) may not do this: it requires the role admin"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
