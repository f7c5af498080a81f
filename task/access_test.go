package task

import "testing"

func TestARefusalNamesWhoMay(t *testing.T) {
	t.Parallel()
	for p, want := range map[Perm]string{
		Decide:  `coder (agent) may not do this: it needs the permission "decide", which reviewer and admin have`,
		Person:  `coder (agent) may not do this: it needs the permission "person", which operator, reviewer and admin have`,
		Admin:   `coder (agent) may not do this: it needs the permission "admin", which admin has`,
		Execute: `coder (agent) may not do this: it needs the permission "execute", which worker has`,
	} {
		err := Actor{Name: "coder", Role: RoleAgent}.Lacks(p)
		if err.Message != want || err.Code != CodeForbidden {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
