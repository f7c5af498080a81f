package service

import (
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func TestEasilyGuessedPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		password, name string
		want           string // part of the error, or "" for none
	}{
		{"short", "maya", "at least 12 characters, not 5"},
		{"aaaaaaaaaaaa", "maya", "too easily guessed"},
		{"abcabcabcabcabc", "maya", "too easily guessed"},
		{"123456789012", "maya", "too easily guessed"},
		{"abcdefghijklmn", "maya", "too easily guessed"},
		{"qwertyuiopasdf", "maya", "too easily guessed"},
		{"password1234", "maya", "guessed first"},
		{"superman!!2024", "maya", "guessed first"},
		{"12345superman12345", "maya", "guessed first"},
		{"contortionist", "maya", "guessed first"},
		{"Taskyard-2026!", "maya", "too easily guessed"},
		{"maya.lindgren1", "maya.lindgren", "too easily guessed"},
		{"lindgrenlindgren", "Maya-Lindgren", "too easily guessed"},
		{"correct horse battery", "maya", ""},
		{"0000-a garden-of 12 elms", "maya", ""},
		{"xq8vJr2mPz0d", "maya", ""},
		{"ein langer Spaziergang", "maya", ""},
		{"長い散歩は健康に良いですよね", "maya", ""},
		{strings.Repeat("x", 513), "maya", "at most 512"},
	} {
		var p task.Problems
		checkPassword(&p, c.password, c.name)
		err := p.Err()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want %q", c.password, err, c.want)
		}
	}
}

// The rules apply wherever a password is set.
func TestEveryWayToSetAPasswordChecksIt(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	const weak = "rita-rita-rita-1"
	wantWeak := func(what string, err error) {
		t.Helper()
		if !task.IsCode(err, task.CodeInvalidField) || !strings.Contains(err.Error(), "too easily guessed") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err := inst.s.AddUser(inst.ctx(), maya, "rita", weak, task.RoleReviewer)
	wantWeak("add", err)
	u := must(inst.s.AddUser(inst.ctx(), maya, "rita", "correct horse battery", task.RoleReviewer))
	other := weak
	_, err = inst.s.UpdateUser(inst.ctx(), maya, u.ID, UserChange{Password: &other})
	wantWeak("reset", err)
	wantWeak("change", inst.s.ChangePassword(inst.ctx(), task.Actor{Name: "user:rita", UserID: u.ID, Role: u.Role}, "correct horse battery",
		weak, ""))
}

// Someone with another person's session must not be able to guess the password.
func TestChangingAPasswordIsThrottled(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	u := must(inst.s.AddUser(inst.ctx(), maya, "rita", "correct horse battery", task.RoleReviewer))
	rita := task.Actor{Name: "user:rita", UserID: u.ID, Role: u.Role, Addr: "192.0.2.1"}
	change := func(old string) error {
		return inst.s.ChangePassword(inst.ctx(), rita, old, "a quite different sentence", "")
	}
	for range 3 {
		if err := change("not this"); !task.IsCode(err, task.CodeInvalidField) {
			t.Fatalf("wrong password: got %v", err)
		}
	}
	if err := change("correct horse battery"); !task.IsCode(err, task.CodeRateLimited) {
		t.Fatalf("fourth attempt: got %v", err)
	}
	// Signing in is not affected.
	must(inst.s.SignIn(inst.ctx(), "rita", "correct horse battery", task.Actor{Addr: "192.0.2.2"}))
	inst.Forward(time.Hour)
	ok(t, change("correct horse battery"))
}
