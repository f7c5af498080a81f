package service

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// account adds a person and returns the actor of a browser session.
func (inst *instance) account(name string, role task.Role) task.Actor {
	inst.t.Helper()
	u := must(inst.s.AddUser(inst.ctx(), maya, name, "correct horse battery", role))
	return must(inst.s.UserActor(inst.ctx(), u.ID, ""))
}

// ownToken creates a personal token and returns its caller and the token.
func (inst *instance) ownToken(a task.Actor, name, scope string) (task.Actor, MadeToken) {
	inst.t.Helper()
	tok := must(inst.s.CreateToken(inst.ctx(), a, NewToken{Name: name, Scope: scope, Own: true}))
	return must(inst.s.Authenticate(inst.ctx(), tok.Secret, "")), tok
}

func TestEveryPersonCreatesPersonalTokens(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	before := len(must(inst.s.Tokens(inst.ctx(), maya)))
	for _, role := range task.PeopleRoles {
		name := "p-" + string(role)
		by, tok := inst.ownToken(inst.account(name, role), "laptop", map[task.Role]string{
			task.RoleViewer: "read", task.RoleOperator: "operate", task.RoleReviewer: "review", task.RoleAdmin: "admin",
		}[role])
		equal(t, "name", by.Name, "user:"+name)
		equal(t, "role", by.Role, role)
		equal(t, "person in the response", tok.Person, name)
	}
	nora := inst.account("nora", task.RoleReviewer)
	_, mine := inst.ownToken(nora, "phone", "read")
	list := must(inst.s.Tokens(inst.ctx(), nora))
	equal(t, "tokens that nora sees", len(list), 1)
	equal(t, "whose", list[0].Person, "nora")
	equal(t, "tokens that an admin sees", len(must(inst.s.Tokens(inst.ctx(), maya)))-before, len(task.PeopleRoles)+1)
	ok(t, inst.s.RevokeToken(inst.ctx(), nora, mine.ID))
	_, err := inst.s.Authenticate(inst.ctx(), mine.Secret, "")
	refused(t, err, task.CodeUnauthorized)
	_, again := inst.ownToken(nora, "phone", "read")
	ok(t, inst.s.RevokeToken(inst.ctx(), maya, again.ID))
}

func TestAPersonalTokenNeverExceedsItsPersonsRights(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	nora, olga := inst.account("nora", task.RoleReviewer), inst.account("olga", task.RoleViewer)
	byToken, own := inst.ownToken(nora, "phone", "review")
	_, hers := inst.ownToken(olga, "phone", "read")
	last := inst.lastEvent()
	run := task.Actor{Name: "coder", Role: task.RoleAgent, RunID: 1, TokenID: 99}
	box, ci := task.Actor{Name: "worker:w", Role: task.RoleWorker}, task.Actor{Name: "user:ci", Role: task.RoleAdmin, TokenID: 98}
	asOlga := olga
	asOlga.Role = task.RoleAdmin // as in a session read before her demotion
	for name, c := range map[string]struct {
		by   task.Actor
		in   NewToken
		code task.Code
	}{
		"a reviewer for an admin's scope":     {nora, NewToken{Scope: "admin", Own: true}, task.CodeInvalidField},
		"a reviewer for it with act-as":       {nora, NewToken{Scope: "act-as,admin", Own: true}, task.CodeInvalidField},
		"a reviewer for a worker":             {nora, NewToken{Scope: "worker", Own: true}, task.CodeInvalidField},
		"a reviewer for only act-as":          {nora, NewToken{Scope: "act-as", Own: true}, task.CodeInvalidField},
		"a viewer for an operator's scope":    {olga, NewToken{Scope: "operate", Own: true}, task.CodeInvalidField},
		"a viewer whose session is outdated":  {asOlga, NewToken{Scope: "review", Own: true}, task.CodeInvalidField},
		"a reviewer for an agent":             {nora, NewToken{Agent: "coder", Own: true}, task.CodeInvalidField},
		"a reviewer for nobody":               {nora, NewToken{Scope: "read"}, task.CodeForbidden},
		"a reviewer for an agent, not own":    {nora, NewToken{Agent: "coder"}, task.CodeForbidden},
		"a reviewer's token for a token":      {byToken, NewToken{Scope: "read", Own: true}, task.CodeForbidden},
		"an agent":                            {coder, NewToken{Scope: "read", Own: true}, task.CodeForbidden},
		"the token of a run":                  {run, NewToken{Scope: "read", Own: true}, task.CodeForbidden},
		"the token of a run, for its agent":   {run, NewToken{Agent: "coder"}, task.CodeForbidden},
		"a worker":                            {box, NewToken{Scope: "read", Own: true}, task.CodeForbidden},
		"nobody":                              {task.Actor{}, NewToken{Scope: "read", Own: true}, task.CodeUnauthorized},
		"a program of an admin, for a person": {ci, NewToken{Scope: "read", Own: true}, task.CodeInvalidField},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			c.in.Name = "more"
			_, err := inst.s.CreateToken(inst.ctx(), c.by, c.in)
			refused(t, err, c.code)
		})
	}
	t.Run("people cannot see or revoke each other's tokens", func(t *testing.T) {
		refused(t, inst.s.RevokeToken(inst.ctx(), nora, hers.ID), task.CodeNotFound)
		refused(t, inst.s.RevokeToken(inst.ctx(), coder, own.ID), task.CodeForbidden)
		refused(t, inst.s.RevokeToken(inst.ctx(), byToken, hers.ID), task.CodeNotFound)
		_, err := inst.s.Tokens(inst.ctx(), coder)
		refused(t, err, task.CodeForbidden)
		equal(t, "tokens visible to a program",
			len(must(inst.s.Tokens(inst.ctx(), task.Actor{Name: "user:ci", Role: task.RoleReviewer}))), 0)
	})
	equal(t, "last event", inst.lastEvent(), last)
	t.Run("a token revokes only itself", func(t *testing.T) {
		_, second := inst.ownToken(nora, "tablet", "review")
		refused(t, inst.s.RevokeToken(inst.ctx(), byToken, second.ID), task.CodeNotFound)
		ok(t, inst.s.RevokeToken(inst.ctx(), byToken, own.ID))
	})
	t.Run("their number is bounded", func(t *testing.T) {
		for i := range maxOwnTokens - 1 {
			inst.ownToken(olga, fmt.Sprintf("t%d", i), "read")
		}
		_, err := inst.s.CreateToken(inst.ctx(), olga, NewToken{Name: "one more", Scope: "read", Own: true})
		refused(t, err, task.CodeQuotaExceeded, "olga has 50 tokens")
	})
}

func TestPersonalTokensFollowTheirPerson(t *testing.T) {
	t.Parallel()
	set := func(inst *instance, id task.ID, c UserChange) { must(inst.s.UpdateUser(inst.ctx(), maya, id, c)) }
	t.Run("a demoted person's token has the lower role", func(t *testing.T) {
		inst := newInstance(t)
		inst.account("anna", task.RoleAdmin)
		nora := inst.account("nora", task.RoleAdmin)
		_, all := inst.ownToken(nora, "all", "admin")
		_, box := inst.ownToken(nora, "box", "worker")
		set(inst, nora.UserID, UserChange{Role: ptr(task.RoleViewer)})
		a := must(inst.s.Authenticate(inst.ctx(), all.Secret, ""))
		equal(t, "role", a.Role, task.RoleViewer)
		_, err := inst.s.CreateToken(inst.ctx(), a, NewToken{Name: "x", Scope: "read"})
		refused(t, err, task.CodeForbidden)
		_, err = inst.s.Authenticate(inst.ctx(), box.Secret, "")
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("an open call ends when the role changes", func(t *testing.T) {
		inst := newInstance(t)
		nora := inst.account("nora", task.RoleOperator)
		a, _ := inst.ownToken(nora, "all", "operate")
		call, end := inst.s.WhileValid(inst.ctx(), a)
		defer end()
		set(inst, nora.UserID, UserChange{Role: ptr(task.RoleViewer)})
		refused(t, context.Cause(call), task.CodeUnauthorized, "role of the token's owner")
	})
	t.Run("open calls of a browser end on servers that missed the event, unless a session remains", func(t *testing.T) {
		inst := newInstance(t)
		nora, ben := inst.account("nora", task.RoleOperator), inst.account("ben", task.RoleOperator)
		ok(t, inst.s.SaveSession(inst.ctx(), "hash", ben.UserID, []byte("{}"), inst.Now().Add(time.Hour)))
		ended, forget := inst.s.WhileValid(inst.ctx(), nora)
		defer forget()
		kept, forget := inst.s.WhileValid(inst.ctx(), ben)
		defer forget()
		inst.s.publishAll(inst.ctx())
		refused(t, context.Cause(ended), task.CodeUnauthorized, "session has ended")
		ok(t, context.Cause(kept))
	})
	t.Run("they end with the account, and are not restored with it", func(t *testing.T) {
		inst := newInstance(t)
		nora := inst.account("nora", task.RoleReviewer)
		_, tok := inst.ownToken(nora, "phone", "review")
		set(inst, nora.UserID, UserChange{Disabled: ptr(true)})
		set(inst, nora.UserID, UserChange{Disabled: ptr(false)})
		_, err := inst.s.Authenticate(inst.ctx(), tok.Secret, "")
		refused(t, err, task.CodeUnauthorized)
		if list := must(inst.s.Tokens(inst.ctx(), nora)); len(list) != 1 || list[0].RevokedAt == 0 {
			t.Errorf("tokens of a disabled person: got %+v", list)
		}
	})
}

func TestAVoteByAPersonalTokenIsThePersonsVote(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	tk := inst.reviewed(func(p *task.Project) { p.Review.Approvals = 2 })
	r := inst.submitResult(tk, "done")
	nora := inst.account("nora", task.RoleReviewer)
	one, _ := inst.ownToken(nora, "phone", "review")
	two, _ := inst.ownToken(nora, "tablet", "review")
	weak, _ := inst.ownToken(nora, "reader", "operate")
	_, err := inst.s.AcceptResult(inst.ctx(), weak, tk.ID, 0, r.Digest, "")
	refused(t, err, task.CodeForbidden)
	for _, a := range []task.Actor{one, two, nora} {
		must(inst.s.AcceptResult(inst.ctx(), a, tk.ID, 0, r.Digest, ""))
		now := must(inst.s.Result(inst.ctx(), maya, tk.ID, 0))
		equal(t, "votes", len(now.Votes), 1)
		equal(t, "by", now.Votes[0].By, "user:nora")
		equal(t, "missing", now.VotesMissing(), 1)
	}
	must(inst.s.AcceptResult(inst.ctx(), rita, tk.ID, 0, r.Digest, ""))
	equal(t, "status", inst.task(tk.ID).Status, task.Done)
}

func TestATokenDoesNotTakeAPersonsName(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	if _, err := inst.s.AddUser(t.Context(), maya, "rita", "correct horse battery", task.RoleReviewer); err != nil {
		t.Fatal(err)
	}
	if _, err := inst.s.CreateToken(t.Context(), maya, NewToken{Name: "Rita", Scope: "review"}); !task.IsCode(err, task.CodeNameTaken) {
		t.Errorf("program with a person's name: got %v", err)
	}
	for _, in := range []NewToken{{Name: "rita", Agent: "coder"}, {Name: "ci", Scope: "review"}} {
		if _, err := inst.s.CreateToken(t.Context(), maya, in); err != nil {
			t.Errorf("%+v: got %v", in, err)
		}
	}
}

func TestScopesMayBeSeparatedByCommas(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	for _, scope := range []string{"operate act-as", "operate,act-as", " operate, act-as ", "operate,,act-as"} {
		made := must(inst.s.CreateToken(inst.ctx(), maya, NewToken{Name: "t " + strings.ReplaceAll(scope, ",", "-"), Scope: scope}))
		equal(t, "scope", made.Token.Scope, "operate act-as")
	}
	_, err := inst.s.CreateToken(inst.ctx(), maya, NewToken{Name: "x", Scope: "operate,rule"})
	refused(t, err, task.CodeInvalidField, `unknown scope "rule"`)
}
