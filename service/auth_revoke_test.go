package service

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// bearer creates a token and returns its caller and the token.
func (inst *instance) bearer(in NewToken) (task.Actor, MadeToken) {
	inst.t.Helper()
	tok := must(inst.s.CreateToken(inst.ctx(), maya, in))
	return must(inst.s.Authenticate(inst.ctx(), tok.Secret, "")), tok
}

func TestARevokedTokenClaimsNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("a waiting signup ends at once and leaves the task unclaimed", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			a, tok := inst.bearer(NewToken{Name: "c", Agent: "coder"})
			p := inst.waitFor(t, ctx, a, 50*time.Second)
			ok(t, inst.s.RevokeToken(ctx, maya, tok.ID))
			synctest.Wait()
			refused(t, p.err, task.CodeUnauthorized, "revoked")
			equal(t, "waited", p.took, 0)
			tk := inst.create(maya, "coder", noStart)
			equal(t, "claimed", inst.task(tk.ID).Claim == nil, true)
		})
	})
	t.Run("a waiting signup claims nothing after another process revokes the token", func(t *testing.T) {
		inBubble(t, func(t *testing.T, inst *instance) {
			a, tok := inst.bearer(NewToken{Name: "c", Agent: "coder"})
			p := inst.waitFor(t, ctx, a, 50*time.Second)
			ok(t, inst.service().RevokeToken(ctx, maya, tok.ID))
			tk := inst.create(maya, "coder", noStart)
			synctest.Wait()
			refused(t, p.err, task.CodeUnauthorized, "revoked")
			equal(t, "claimed", inst.task(tk.ID).Claim == nil, true)
		})
	})
	t.Run("nor after the token expires or the person is disabled", func(t *testing.T) {
		inst := newInstance(t)
		a, _ := inst.bearer(NewToken{Name: "c", Agent: "coder", Days: 1})
		inst.create(maya, "coder", noStart)
		inst.Forward(25 * time.Hour)
		_, err := inst.s.Signup(ctx, a, "coder", 1)
		refused(t, err, task.CodeUnauthorized)
		u := must(inst.s.AddUser(ctx, maya, "nora", "some hats and gloves", task.RoleOperator))
		nora := task.Actor{Name: "user:nora", Role: task.RoleOperator, UserID: u.ID}
		tok := must(inst.s.CreateToken(ctx, task.Actor{Name: nora.Name, Role: task.RoleAdmin, UserID: u.ID},
			NewToken{Name: "n", Scope: "operate", Own: true}))
		a = must(inst.s.Authenticate(ctx, tok.Secret, ""))
		off := true
		must(inst.s.UpdateUser(ctx, maya, u.ID, UserChange{Disabled: &off}))
		_, err = inst.s.CreateTask(ctx, a, task.New{Title: "x", Owner: "coder"})
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("the runs of a worker are lost and retried", func(t *testing.T) {
		inst := newInstance(t, forGPU)
		tk := inst.create(maya, "coder", noStart)
		must(inst.s.RunNow(ctx, maya, tk.ID))
		a, tok := inst.bearer(NewToken{Name: "w", Scope: "worker"})
		l := must(inst.s.LeaseRun(ctx, a, task.WorkerAsk{Labels: []string{"gpu"}}))
		ok(t, inst.s.RevokeToken(ctx, maya, tok.ID))
		r := inst.run(l.RunID)
		equal(t, "run", r.State().String()+": "+r.Reason, "failed/lost: the token of its worker was revoked")
		if next := inst.openRun(tk.ID); next == nil || next.Attempt != 2 {
			t.Errorf("got next run %+v", next)
		}
		_, err := inst.s.ReportAlive(ctx, a, l.RunID, task.LeaseRef{Attempt: l.Attempt, Lease: l.Lease}, false, 0)
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("a run whose token is revoked is canceled", func(t *testing.T) {
		inst := newInstance(t)
		tk := inst.create(maya, "coder", noStart)
		st := inst.runTask(tk.ID)
		stopped := make(chan error, 1)
		inst.s.RegisterStop(st.Run.ID, func(cause error) { stopped <- cause })
		ok(t, inst.s.RevokeToken(ctx, maya, inst.actor(st).TokenID))
		r := inst.run(st.Run.ID)
		equal(t, "run", r.State().String()+": "+r.Reason, "canceled/by: its token was revoked")
		equal(t, "stopped", <-stopped, ErrStopCanceled)
	})
}

func TestANewAgentDoesNotReviveTokensOfARemovedOne(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	text := definition("tools: read", "runner: none")
	for name, remove := range map[string]func(inst *instance){
		"through Taskyard": func(inst *instance) { ok(inst.t, inst.s.DeleteAgent(ctx, maya, "pull")) },
		"in the folder": func(inst *instance) {
			ok(inst.t, os.Remove(filepath.Join(inst.dir, "pull.md")))
			inst.s.agents.Reload()
			ok(inst.t, inst.s.RevokeRemoved(ctx))
		},
		"in the folder, unnoticed": func(inst *instance) { ok(inst.t, os.Remove(filepath.Join(inst.dir, "pull.md"))) },
	} {
		t.Run("removed "+name, func(t *testing.T) {
			inst := newInstance(t)
			_, tok := inst.bearer(NewToken{Name: "p", Agent: "pull"})
			_, other := inst.bearer(NewToken{Name: "c", Agent: "coder"})
			remove(inst)
			must(inst.s.SaveAgent(ctx, maya, "pull", text, "", false))
			_, err := inst.s.Authenticate(ctx, tok.Secret, "")
			refused(t, err, task.CodeUnauthorized)
			must(inst.s.Authenticate(ctx, other.Secret, ""))
			inst.bearer(NewToken{Name: "p", Agent: "pull"})
		})
	}
	t.Run("an agent without a name has no tokens", func(t *testing.T) {
		inst := newInstance(t)
		_, tok := inst.bearer(NewToken{Name: "n", Scope: "operate"})
		_, err := inst.s.SaveAgent(ctx, maya, "", text, "", false)
		refused(t, err, task.CodeInvalidField, "id")
		must(inst.s.Authenticate(ctx, tok.Secret, ""))
	})
	t.Run("a changed or broken definition keeps the tokens", func(t *testing.T) {
		inst := newInstance(t)
		_, tok := inst.bearer(NewToken{Name: "p", Agent: "pull"})
		inst.define("pull", "---\nno definition")
		ok(t, inst.s.RevokeRemoved(ctx))
		must(inst.s.SaveAgent(ctx, maya, "pull", text, "", false))
		must(inst.s.Authenticate(ctx, tok.Secret, ""))
	})
}

// The caller is read when a call begins; the body may arrive half a minute later.
func TestARightLostDuringACallIsNotUsed(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	text, err := os.ReadFile(filepath.Join(inst.dir, "coder.md"))
	ok(t, err)
	inst.account("last-admin", task.RoleAdmin)
	yes, viewer := true, task.RoleViewer
	for name, loses := range map[string]func(a task.Actor){
		"disabled": func(a task.Actor) { must(inst.s.UpdateUser(inst.ctx(), maya, a.UserID, UserChange{Disabled: &yes})) },
		"demoted":  func(a task.Actor) { must(inst.s.UpdateUser(inst.ctx(), maya, a.UserID, UserChange{Role: &viewer})) },
		"signed out": func(a task.Actor) {
			ok(t, inst.s.SignOutEverywhere(inst.ctx(), a))
		},
	} {
		session := inst.account("session-"+strings.ReplaceAll(name, " ", "-"), task.RoleAdmin)
		session.Session = "hash of " + name
		ok(t, inst.s.SaveSession(inst.ctx(), session.Session, session.UserID, []byte("{}"), inst.Now().Add(time.Hour)))
		byToken, _ := inst.ownToken(session, "laptop", "admin")
		calls := []task.Actor{session, byToken}
		if name == "signed out" { // signing out ends no token
			calls = calls[:1]
		}
		for _, a := range calls {
			must(inst.s.CreateTask(inst.ctx(), a, task.New{Title: "before", Owner: "coder", Status: task.Draft}))
		}
		loses(session)
		last := inst.lastEvent()
		for _, a := range calls {
			_, err := inst.s.AddUser(inst.ctx(), a, "friend", "correct horse battery", task.RoleAdmin)
			refused(t, err, task.CodeUnauthorized)
			_, err = inst.s.SaveAgent(inst.ctx(), a, "coder", string(text)+"And this.\n", "", false)
			refused(t, err, task.CodeUnauthorized)
		}
		now, err := os.ReadFile(filepath.Join(inst.dir, "coder.md"))
		ok(t, err)
		equal(t, "definition after "+name, string(now), string(text))
		equal(t, "last event after "+name, inst.lastEvent(), last)
	}
}

// While a removal waits to be written, others may have read the definitions already.
func TestAnAgentBeingRemovedGetsNoTasks(t *testing.T) {
	t.Parallel()
	dbtest.SQLiteOnly(t) // PostgreSQL writes do not wait for each other
	for name, give := range map[string]func(inst *instance, other task.ID) error{
		"create": func(inst *instance, _ task.ID) error {
			_, err := inst.s.CreateTask(inst.ctx(), maya, task.New{Title: "x", Owner: "pull"})
			return err
		},
		"reassign": func(inst *instance, other task.ID) error {
			_, err := inst.s.Reassign(inst.ctx(), task.Actor{Name: maya.Name, Role: maya.Role}, "coder", []task.ID{other}, "pull", "yours")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, inst *instance) {
				other := inst.create(maya, "coder", noStart)
				removed, removal, given := make(chan bool), make(chan error), make(chan error)
				go func() {
					removal <- inst.db.Write(inst.ctx(), func(*db.Tx) error {
						<-removed
						return nil
					})
				}()
				synctest.Wait()
				go func() { given <- give(inst, other.ID) }()
				synctest.Wait()
				ok(t, inst.s.agents.Delete("pull"))
				close(removed)
				ok(t, <-removal)
				refused(t, <-given, task.CodeUnknownAgent)
			})
		})
	}
}
