package service

import (
	"testing"

	"taskyard/task"
)

func TestATokenDoesNotTakeAPersonsName(t *testing.T) {
	y := newInstance(t)
	if _, err := y.s.AddUser(t.Context(), maya, "rita", "correct horse battery", task.RoleReviewer); err != nil {
		t.Fatal(err)
	}
	if _, err := y.s.CreateToken(t.Context(), maya, NewToken{Name: "Rita", Scope: "review"}); !task.IsCode(err, task.CodeNameTaken) {
		t.Errorf("a program under a person's name: %v", err)
	}
	for _, in := range []NewToken{{Name: "rita", Agent: "coder"}, {Name: "ci", Scope: "review"}} {
		if _, err := y.s.CreateToken(t.Context(), maya, in); err != nil {
			t.Errorf("%+v: %v", in, err)
		}
	}
}
