package service

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// account adds a person and returns them as a browser session does.
func (y *instance) account(name string, role task.Role) task.Actor {
	y.t.Helper()
	u := must(y.s.AddUser(y.ctx(), maya, name, "correct horse battery", role))
	return must(y.s.UserActor(y.ctx(), u.ID, ""))
}

// ownToken makes a token of a person's account and returns the caller that it
// speaks for.
func (y *instance) ownToken(a task.Actor, name, scope string) (task.Actor, MadeToken) {
	y.t.Helper()
	tok := must(y.s.CreateToken(y.ctx(), a, NewToken{Name: name, Scope: scope, Own: true}))
	return must(y.s.Authenticate(y.ctx(), tok.Secret, "")), tok
}

func TestEveryPersonMakesTokensOfTheirOwn(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	before := len(must(y.s.Tokens(y.ctx(), maya)))
	for _, role := range task.PeopleRoles {
		name := "p-" + string(role)
		by, tok := y.ownToken(y.account(name, role), "laptop", map[task.Role]string{
			task.RoleViewer: "read", task.RoleOperator: "operate", task.RoleReviewer: "review", task.RoleAdmin: "admin",
		}[role])
		equal(t, "name", by.Name, "user:"+name)
		equal(t, "role", by.Role, role)
		equal(t, "person in the answer", tok.Person, name)
	}
	nora := y.account("nora", task.RoleReviewer)
	_, mine := y.ownToken(nora, "phone", "read")
	list := must(y.s.Tokens(y.ctx(), nora))
	equal(t, "tokens that nora sees", len(list), 1)
	equal(t, "whose", list[0].Person, "nora")
	equal(t, "tokens that an admin sees", len(must(y.s.Tokens(y.ctx(), maya)))-before, len(task.PeopleRoles)+1)
	ok(t, y.s.RevokeToken(y.ctx(), nora, mine.ID))
	_, err := y.s.Authenticate(y.ctx(), mine.Secret, "")
	refused(t, err, task.CodeUnauthorized)
	_, again := y.ownToken(nora, "phone", "read")
	ok(t, y.s.RevokeToken(y.ctx(), maya, again.ID))
}

func TestAnOwnTokenNeverGivesMoreThanItsPersonHas(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	nora, olga := y.account("nora", task.RoleReviewer), y.account("olga", task.RoleViewer)
	byToken, own := y.ownToken(nora, "phone", "review")
	_, hers := y.ownToken(olga, "phone", "read")
	last := y.lastEvent()
	run := task.Actor{Name: "coder", Role: task.RoleAgent, RunID: 1, TokenID: 99}
	box, ci := task.Actor{Name: "worker:w", Role: task.RoleWorker}, task.Actor{Name: "user:ci", Role: task.RoleAdmin, TokenID: 98}
	asOlga := olga
	asOlga.Role = task.RoleAdmin // of a session that was read before she was demoted
	for name, c := range map[string]struct {
		by   task.Actor
		in   NewToken
		code task.Code
	}{
		"a reviewer for an admin's scope":     {nora, NewToken{Scope: "admin", Own: true}, task.CodeInvalidField},
		"a reviewer for it beside act-as":     {nora, NewToken{Scope: "act-as,admin", Own: true}, task.CodeInvalidField},
		"a reviewer for a worker":             {nora, NewToken{Scope: "worker", Own: true}, task.CodeInvalidField},
		"a reviewer for act-as alone":         {nora, NewToken{Scope: "act-as", Own: true}, task.CodeInvalidField},
		"a viewer for an operator's scope":    {olga, NewToken{Scope: "operate", Own: true}, task.CodeInvalidField},
		"a viewer whose session is outdated":  {asOlga, NewToken{Scope: "review", Own: true}, task.CodeInvalidField},
		"a reviewer for an agent":             {nora, NewToken{Agent: "coder", Own: true}, task.CodeInvalidField},
		"a reviewer for nobody":               {nora, NewToken{Scope: "read"}, task.CodeForbidden},
		"a reviewer for an agent, not own":    {nora, NewToken{Agent: "coder"}, task.CodeForbidden},
		"a reviewer's token for another":      {byToken, NewToken{Scope: "read", Own: true}, task.CodeForbidden},
		"an agent":                            {coder, NewToken{Scope: "read", Own: true}, task.CodeForbidden},
		"the token of a run":                  {run, NewToken{Scope: "read", Own: true}, task.CodeForbidden},
		"the token of a run, for its agent":   {run, NewToken{Agent: "coder"}, task.CodeForbidden},
		"a worker":                            {box, NewToken{Scope: "read", Own: true}, task.CodeForbidden},
		"nobody":                              {task.Actor{}, NewToken{Scope: "read", Own: true}, task.CodeUnauthorized},
		"a program of an admin, for a person": {ci, NewToken{Scope: "read", Own: true}, task.CodeInvalidField},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			c.in.Name = "more"
			_, err := y.s.CreateToken(y.ctx(), c.by, c.in)
			refused(t, err, c.code)
		})
	}
	t.Run("nobody sees or revokes the token of another person", func(t *testing.T) {
		refused(t, y.s.RevokeToken(y.ctx(), nora, hers.ID), task.CodeNotFound)
		refused(t, y.s.RevokeToken(y.ctx(), coder, own.ID), task.CodeForbidden)
		refused(t, y.s.RevokeToken(y.ctx(), byToken, hers.ID), task.CodeNotFound)
		_, err := y.s.Tokens(y.ctx(), coder)
		refused(t, err, task.CodeForbidden)
		equal(t, "tokens of a program that is no person", len(must(y.s.Tokens(y.ctx(), task.Actor{Name: "user:ci", Role: task.RoleReviewer}))), 0)
	})
	equal(t, "last event", y.lastEvent(), last)
	t.Run("a token revokes itself and no other", func(t *testing.T) {
		_, second := y.ownToken(nora, "tablet", "review")
		refused(t, y.s.RevokeToken(y.ctx(), byToken, second.ID), task.CodeNotFound)
		ok(t, y.s.RevokeToken(y.ctx(), byToken, own.ID))
	})
	t.Run("their number is bounded", func(t *testing.T) {
		for i := range maxOwnTokens - 1 {
			y.ownToken(olga, fmt.Sprintf("t%d", i), "read")
		}
		_, err := y.s.CreateToken(y.ctx(), olga, NewToken{Name: "one more", Scope: "read", Own: true})
		refused(t, err, task.CodeQuotaExceeded, "olga has 50 tokens")
	})
}

func TestOwnTokensFollowTheirPerson(t *testing.T) {
	t.Parallel()
	set := func(y *instance, id task.ID, c UserChange) { must(y.s.UpdateUser(y.ctx(), maya, id, c)) }
	t.Run("a demoted person's token has the lower role", func(t *testing.T) {
		y := newInstance(t)
		y.account("anna", task.RoleAdmin)
		nora := y.account("nora", task.RoleAdmin)
		_, all := y.ownToken(nora, "all", "admin")
		_, box := y.ownToken(nora, "box", "worker")
		set(y, nora.UserID, UserChange{Role: ptr(task.RoleViewer)})
		a := must(y.s.Authenticate(y.ctx(), all.Secret, ""))
		equal(t, "role", a.Role, task.RoleViewer)
		_, err := y.s.CreateToken(y.ctx(), a, NewToken{Name: "x", Scope: "read"})
		refused(t, err, task.CodeForbidden)
		_, err = y.s.Authenticate(y.ctx(), box.Secret, "")
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("an open call ends when the role changes", func(t *testing.T) {
		y := newInstance(t)
		nora := y.account("nora", task.RoleOperator)
		a, _ := y.ownToken(nora, "all", "operate")
		call, end := y.s.WhileValid(y.ctx(), a)
		defer end()
		set(y, nora.UserID, UserChange{Role: ptr(task.RoleViewer)})
		refused(t, context.Cause(call), task.CodeUnauthorized, "role of the person")
	})
	t.Run("the open calls of a browser end on other servers, if they missed why, unless a session is left", func(t *testing.T) {
		y := newInstance(t)
		nora, ben := y.account("nora", task.RoleOperator), y.account("ben", task.RoleOperator)
		ok(t, y.s.SaveSession(y.ctx(), "hash", ben.UserID, []byte("{}"), y.Now().Add(time.Hour)))
		ended, forget := y.s.WhileValid(y.ctx(), nora)
		defer forget()
		kept, forget := y.s.WhileValid(y.ctx(), ben)
		defer forget()
		y.s.publishAll(y.ctx())
		refused(t, context.Cause(ended), task.CodeUnauthorized, "session has ended")
		ok(t, context.Cause(kept))
	})
	t.Run("they end with the account, and do not come back with it", func(t *testing.T) {
		y := newInstance(t)
		nora := y.account("nora", task.RoleReviewer)
		_, tok := y.ownToken(nora, "phone", "review")
		set(y, nora.UserID, UserChange{Disabled: ptr(true)})
		set(y, nora.UserID, UserChange{Disabled: ptr(false)})
		_, err := y.s.Authenticate(y.ctx(), tok.Secret, "")
		refused(t, err, task.CodeUnauthorized)
		if list := must(y.s.Tokens(y.ctx(), nora)); len(list) != 1 || list[0].RevokedAt == 0 {
			t.Errorf("the tokens of a person who was disabled: %+v", list)
		}
	})
}

func TestAVoteByAnOwnTokenIsTheVoteOfItsPerson(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	tk := y.reviewed(func(p *task.Project) { p.Review.Approvals = 2 })
	r := y.handIn(tk, "done")
	nora := y.account("nora", task.RoleReviewer)
	one, _ := y.ownToken(nora, "phone", "review")
	two, _ := y.ownToken(nora, "tablet", "review")
	weak, _ := y.ownToken(nora, "reader", "operate")
	_, err := y.s.AcceptResult(y.ctx(), weak, tk.ID, 0, r.Digest, "")
	refused(t, err, task.CodeForbidden)
	for _, a := range []task.Actor{one, two, nora} {
		must(y.s.AcceptResult(y.ctx(), a, tk.ID, 0, r.Digest, ""))
		now := must(y.s.Result(y.ctx(), maya, tk.ID, 0))
		equal(t, "votes", len(now.Votes), 1)
		equal(t, "by", now.Votes[0].By, "user:nora")
		equal(t, "missing", now.VotesMissing(), 1)
	}
	must(y.s.AcceptResult(y.ctx(), rita, tk.ID, 0, r.Digest, ""))
	equal(t, "status", y.task(tk.ID).Status, task.Done)
}

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
