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

// bearer is the caller that a fresh token speaks for, and the token.
func (y *instance) bearer(in NewToken) (task.Actor, MadeToken) {
	y.t.Helper()
	tok := must(y.s.CreateToken(y.ctx(), maya, in))
	return must(y.s.Authenticate(y.ctx(), tok.Secret, "")), tok
}

func TestARevokedTokenWinsNothing(t *testing.T) {
	ctx := context.Background()
	t.Run("a waiting signup ends at once, and leaves the task free", func(t *testing.T) {
		inBubble(t, func(t *testing.T, y *instance) {
			a, tok := y.bearer(NewToken{Name: "c", Agent: "coder"})
			p := y.waitFor(t, ctx, a, 50*time.Second)
			ok(t, y.s.RevokeToken(ctx, maya, tok.ID))
			synctest.Wait()
			refused(t, p.err, task.CodeUnauthorized, "revoked")
			equal(t, "waited", p.took, 0)
			tk := y.create(maya, "coder", noStart)
			equal(t, "claimed", y.task(tk.ID).Claim == nil, true)
		})
	})
	t.Run("a signup that waits while another process revokes claims nothing", func(t *testing.T) {
		inBubble(t, func(t *testing.T, y *instance) {
			a, tok := y.bearer(NewToken{Name: "c", Agent: "coder"})
			p := y.waitFor(t, ctx, a, 50*time.Second)
			ok(t, y.service().RevokeToken(ctx, maya, tok.ID))
			tk := y.create(maya, "coder", noStart)
			synctest.Wait()
			refused(t, p.err, task.CodeUnauthorized, "revoked")
			equal(t, "claimed", y.task(tk.ID).Claim == nil, true)
		})
	})
	t.Run("nor does one whose token expires or whose person is disabled meanwhile", func(t *testing.T) {
		y := newInstance(t)
		a, _ := y.bearer(NewToken{Name: "c", Agent: "coder", Days: 1})
		y.create(maya, "coder", noStart)
		y.Forward(25 * time.Hour)
		_, err := y.s.Signup(ctx, a, "coder", 1)
		refused(t, err, task.CodeUnauthorized)
		u := must(y.s.AddUser(ctx, maya, "nora", "some hats and gloves", task.RoleOperator))
		nora := task.Actor{Name: "user:nora", Role: task.RoleOperator, UserID: u.ID}
		tok := must(y.s.CreateToken(ctx, task.Actor{Name: nora.Name, Role: task.RoleAdmin, UserID: u.ID},
			NewToken{Name: "n", Scope: "operate", Own: true}))
		a = must(y.s.Authenticate(ctx, tok.Secret, ""))
		off := true
		must(y.s.UpdateUser(ctx, maya, u.ID, UserChange{Disabled: &off}))
		_, err = y.s.CreateTask(ctx, a, task.New{Title: "x", Owner: "coder"})
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("the runs of a worker are lost and tried again", func(t *testing.T) {
		y := newInstance(t, forGPU)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(ctx, maya, tk.ID))
		a, tok := y.bearer(NewToken{Name: "w", Scope: "worker"})
		l := must(y.s.LeaseRun(ctx, a, task.WorkerAsk{Labels: []string{"gpu"}}))
		ok(t, y.s.RevokeToken(ctx, maya, tok.ID))
		r := y.run(l.RunID)
		equal(t, "run", r.State().String()+": "+r.Reason, "failed/lost: the token of its worker was revoked")
		if next := y.openRun(tk.ID); next == nil || next.Attempt != 2 {
			t.Errorf("the next run is %+v", next)
		}
		_, err := y.s.ReportAlive(ctx, a, l.RunID, task.Hold{Attempt: l.Attempt, Lease: l.Lease}, false, 0)
		refused(t, err, task.CodeUnauthorized)
	})
	t.Run("a run whose own token is revoked is canceled", func(t *testing.T) {
		y := newInstance(t)
		tk := y.create(maya, "coder", noStart)
		must(y.s.RunNow(ctx, maya, tk.ID))
		st := y.start()
		stopped := make(chan error, 1)
		y.s.RegisterStop(st.Run.ID, func(cause error) { stopped <- cause })
		ok(t, y.s.RevokeToken(ctx, maya, y.actor(st).TokenID))
		r := y.run(st.Run.ID)
		equal(t, "run", r.State().String()+": "+r.Reason, "canceled/by: its token was revoked")
		equal(t, "stopped", <-stopped, ErrStopCanceled)
	})
}

func TestANewAgentDoesNotReviveTheTokensOfARemovedOne(t *testing.T) {
	ctx := context.Background()
	text := definition("tools: read", "runner: none")
	for name, remove := range map[string]func(y *instance){
		"through Taskyard": func(y *instance) { ok(y.t, y.s.DeleteAgent(ctx, maya, "pull")) },
		"in the folder": func(y *instance) {
			ok(y.t, os.Remove(filepath.Join(y.dir, "pull.md")))
			y.s.agents.Reload()
			ok(y.t, y.s.RevokeRemoved(ctx))
		},
		"in the folder, and nobody saw it": func(y *instance) { ok(y.t, os.Remove(filepath.Join(y.dir, "pull.md"))) },
	} {
		t.Run("removed "+name, func(t *testing.T) {
			y := newInstance(t)
			_, tok := y.bearer(NewToken{Name: "p", Agent: "pull"})
			_, other := y.bearer(NewToken{Name: "c", Agent: "coder"})
			remove(y)
			must(y.s.SaveAgent(ctx, maya, "pull", text, "", false))
			_, err := y.s.Authenticate(ctx, tok.Secret, "")
			refused(t, err, task.CodeUnauthorized)
			must(y.s.Authenticate(ctx, other.Secret, ""))
			y.bearer(NewToken{Name: "p", Agent: "pull"})
		})
	}
	t.Run("an agent without a name has none", func(t *testing.T) {
		y := newInstance(t)
		_, tok := y.bearer(NewToken{Name: "n", Scope: "operate"})
		_, err := y.s.SaveAgent(ctx, maya, "", text, "", false)
		refused(t, err, task.CodeInvalidField, "id")
		must(y.s.Authenticate(ctx, tok.Secret, ""))
	})
	t.Run("a definition that is changed, or broken, keeps them", func(t *testing.T) {
		y := newInstance(t)
		_, tok := y.bearer(NewToken{Name: "p", Agent: "pull"})
		y.define("pull", "---\nno definition")
		ok(t, y.s.RevokeRemoved(ctx))
		must(y.s.SaveAgent(ctx, maya, "pull", text, "", false))
		must(y.s.Authenticate(ctx, tok.Secret, ""))
	})
}

// A caller is read when a call begins; its body may come half a minute later.
func TestWhoLosesARightDuringACallDoesNotUseIt(t *testing.T) {
	t.Parallel()
	y := newInstance(t)
	text, err := os.ReadFile(filepath.Join(y.dir, "coder.md"))
	ok(t, err)
	y.account("last-admin", task.RoleAdmin)
	yes, viewer := true, task.RoleViewer
	for name, loses := range map[string]func(a task.Actor){
		"disabled": func(a task.Actor) { must(y.s.UpdateUser(y.ctx(), maya, a.UserID, UserChange{Disabled: &yes})) },
		"demoted":  func(a task.Actor) { must(y.s.UpdateUser(y.ctx(), maya, a.UserID, UserChange{Role: &viewer})) },
		"signed out": func(a task.Actor) {
			ok(t, y.s.SignOutEverywhere(y.ctx(), a))
		},
	} {
		session := y.account("session-"+strings.ReplaceAll(name, " ", "-"), task.RoleAdmin)
		session.Session = "hash of " + name
		ok(t, y.s.SaveSession(y.ctx(), session.Session, session.UserID, []byte("{}"), y.Now().Add(time.Hour)))
		byToken, _ := y.ownToken(session, "laptop", "admin")
		calls := []task.Actor{session, byToken}
		if name == "signed out" { // which ends no token
			calls = calls[:1]
		}
		for _, a := range calls {
			must(y.s.CreateTask(y.ctx(), a, task.New{Title: "before", Owner: "coder", Status: task.Draft}))
		}
		loses(session)
		last := y.lastEvent()
		for _, a := range calls {
			_, err := y.s.AddUser(y.ctx(), a, "friend", "correct horse battery", task.RoleAdmin)
			refused(t, err, task.CodeUnauthorized)
			_, err = y.s.SaveAgent(y.ctx(), a, "coder", string(text)+"And this.\n", "", false)
			refused(t, err, task.CodeUnauthorized)
		}
		now, err := os.ReadFile(filepath.Join(y.dir, "coder.md"))
		ok(t, err)
		equal(t, "definition after "+name, string(now), string(text))
		equal(t, "last event after "+name, y.lastEvent(), last)
	}
}

// A removal is a write, before which others wait that have read the definitions.
func TestNothingIsGivenToAnAgentThatIsBeingRemoved(t *testing.T) {
	dbtest.SQLiteOnly(t) // elsewhere writes do not wait for each other
	for name, give := range map[string]func(y *instance, other task.ID) error{
		"create": func(y *instance, _ task.ID) error {
			_, err := y.s.CreateTask(y.ctx(), maya, task.New{Title: "x", Owner: "pull"})
			return err
		},
		"reassign": func(y *instance, other task.ID) error {
			_, err := y.s.Reassign(y.ctx(), task.Actor{Name: maya.Name, Role: maya.Role}, "coder", []task.ID{other}, "pull", "yours")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, y *instance) {
				other := y.create(maya, "coder", noStart)
				removed, removal, given := make(chan bool), make(chan error), make(chan error)
				go func() {
					removal <- y.db.Write(y.ctx(), func(*db.Tx) error {
						<-removed
						return nil
					})
				}()
				synctest.Wait()
				go func() { given <- give(y, other.ID) }()
				synctest.Wait()
				ok(t, y.s.agents.Delete("pull"))
				close(removed)
				ok(t, <-removal)
				refused(t, <-given, task.CodeUnknownAgent)
			})
		})
	}
}
