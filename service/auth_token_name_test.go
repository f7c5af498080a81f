package service

import (
	"strings"
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

func TestScopesAreSeparatedByCommasToo(t *testing.T) {
	y := newInstance(t)
	for _, scope := range []string{"operate act-as", "operate,act-as", " operate, act-as ", "operate,,act-as"} {
		made := must(y.s.CreateToken(y.ctx(), maya, NewToken{Name: "t " + strings.ReplaceAll(scope, ",", "-"), Scope: scope}))
		equal(t, "scope", made.Token.Scope, "operate act-as")
	}
	_, err := y.s.CreateToken(y.ctx(), maya, NewToken{Name: "x", Scope: "operate,rule"})
	refused(t, err, task.CodeInvalidField, `unknown scope "rule"`)
}
