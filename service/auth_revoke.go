package service

import (
	"context"
	"slices"

	"taskyard/db"
	"taskyard/task"
)

// errTokenEnded is what a caller gets whose token ended after it was read.
var errTokenEnded = task.Errorf(task.Unauthorized, task.CodeUnauthorized, "The token is unknown, expired or revoked")

// errRoleChanged ends the open calls of a person's own tokens.
var errRoleChanged = task.Errorf(task.Unauthorized, task.CodeUnauthorized,
	"The role of the token's owner has changed: try again")

// errSessionEnded ends the open calls of a person's sessions.
var errSessionEnded = task.Errorf(task.Unauthorized, task.CodeUnauthorized, "The session has ended: sign in again")

// credential is what calls are held open with: a token, or the sessions of a
// person.
type credential struct{ token, user task.ID }

func actorCredential(a task.Actor) credential {
	if a.TokenID != 0 {
		return credential{token: a.TokenID}
	}
	return credential{user: a.UserID}
}

// openCredentials returns those with which calls are open.
func (s *Service) openCredentials() map[credential]bool {
	set := map[credential]bool{}
	s.openCalls.Range(func(_, c any) bool { set[c.(credential)] = true; return true })
	return set
}

// disconnect ends the calls of a credential that has ended or lost a right.
func (s *Service) disconnect(c task.Revocation) {
	cause := errTokenEnded
	switch {
	case c.User != 0:
		cause = errSessionEnded
	case c.Role:
		cause = errRoleChanged
	}
	s.openCalls.Range(func(end, of any) bool {
		if of == (credential{c.Token, c.User}) {
			(*end.(*context.CancelCauseFunc))(cause)
		}
		return true
	})
}

// isStillValid reports whether a credential has not ended: a token that is valid, a
// person who has a session.
func isStillValid(rx *db.Rx, c credential) (bool, error) {
	if c.token != 0 {
		valid, _, err := rx.TokenValid(c.token)
		return valid, err
	}
	list, err := rx.Sessions(c.user)
	return len(list) > 0, err
}

// WhileValid returns a context for a call or stream that lasts. It ends when
// a server revokes the caller's token, or ends the sessions of the person who
// calls; its cause is then the error to answer. A revocation by a command beside
// SQLite is found at the caller's next write.
func (s *Service) WhileValid(ctx context.Context, a task.Actor) (context.Context, context.CancelFunc) {
	task.BeginWait(ctx)
	ctx, end := context.WithCancelCause(ctx)
	c := actorCredential(a)
	if c == (credential{}) {
		return ctx, func() { end(nil) }
	}
	s.openCalls.Store(&end, c)
	return ctx, func() { s.openCalls.Delete(&end); end(nil) }
}

// checkCaller checks again, in the transaction that acts for the caller, that their
// token or session has not ended or lost a right: the call may have waited since, or
// its body was long on the way. A change of a person ends their sessions.
func checkCaller(rx *db.Rx, a task.Actor) error {
	if a.Session != "" {
		_, ok, err := rx.Session(a.Session)
		if err == nil && !ok {
			err = errSessionEnded
		}
		return err
	}
	if a.TokenID == 0 {
		return nil
	}
	valid, person, err := rx.TokenValid(a.TokenID)
	if err == nil && !valid {
		err = errTokenEnded
	}
	if err != nil || a.UserID == 0 {
		return err
	}
	role := a.Role
	if role == task.RoleWorker {
		role = task.RoleAdmin // only admins let workers in
	}
	if lowerRole(role, person) != role {
		return errRoleChanged
	}
	return nil
}

// RevokeToken ends a token at once, with its open calls and streams and the
// runs that it executes: its own run is canceled; those of a worker are lost
// and retried. Admins can revoke any token, everyone else those of their own
// account, and a token of such a person only itself. Errors: no person, unknown
// token.
func (s *Service) RevokeToken(ctx context.Context, a task.Actor, id task.ID) error {
	if err := s.allowed(a, task.Account); err != nil {
		return err
	}
	return change(ctx, s, a, func(tx *txn) error {
		tok, ok, err := tx.Token(id)
		if err != nil {
			return err
		}
		if !ok || !mayRevoke(a, tok) {
			return task.Errorf(task.NotFound, task.CodeNotFound, "No token has the id %d", id)
		}
		return tx.revoke(tok, changes{"token": id, "name": tok.Name})
	})
}

func mayRevoke(a task.Actor, tok task.Token) bool {
	switch {
	case a.May(task.Admin):
		return true
	case a.TokenID != 0:
		return a.TokenID == tok.ID
	}
	return a.UserID != 0 && a.UserID == tok.UserID
}

// revokePerson revokes the own tokens of a person who is disabled: they do not
// come back with the person.
func (tx *txn) revokePerson(id task.ID) error {
	list, err := tx.ValidUserTokens(id)
	if err != nil {
		return err
	}
	return tx.revokeAll(list, "the person was disabled")
}

func (tx *txn) revokeAll(list []task.Token, reason string) error {
	for _, tok := range list {
		if err := tx.revoke(tok, changes{"token": tok.ID, "name": tok.Name, "reason": reason}); err != nil {
			return err
		}
	}
	return nil
}

// endUserCalls ends the calls and streams that the own tokens of a person hold
// open: the next ones have the rights of the new role.
func (tx *txn) endUserCalls(id task.ID) error {
	list, err := tx.ValidUserTokens(id)
	for _, tok := range list {
		tx.signals.Revocations = append(tx.signals.Revocations, task.Revocation{Token: tok.ID, Role: true})
	}
	return err
}

func (tx *txn) revoke(tok task.Token, c changes) error {
	if err := tx.RevokeToken(tok.ID); err != nil {
		return err
	}
	tx.signals.Revocations = append(tx.signals.Revocations, task.Revocation{Token: tok.ID})
	if err := tx.event(task.EvTokenRevoked, task.Event{Agent: tok.Agent}, c); err != nil {
		return err
	}
	return tx.endTokenRuns(tok)
}

// endTokenRuns ends the runs that are executed under a token.
func (tx *txn) endTokenRuns(tok task.Token) error {
	if tok.RunID != 0 {
		r, err := tx.Run(tok.RunID)
		if err != nil || r.Status != task.RunRunning {
			return err
		}
		return tx.endCanceled(r, task.PhaseBy, "its token was revoked", ErrStopCanceled)
	}
	if tok.Scope != task.ScopeWorker {
		return nil
	}
	running, err := tx.Running()
	if err != nil {
		return err
	}
	actor := tx.actor
	tx.actor = task.SystemActor
	defer func() { tx.actor = actor }()
	for _, r := range running {
		if r.Worker != tok.ID {
			continue
		}
		if err := tx.conclude(r, lostRun("the token of its worker was revoked")); err != nil {
			return err
		}
		tx.stopRun(r.ID, ErrStopCanceled)
	}
	return nil
}

// revokeAgent ends the tokens of an agent that is removed: an agent that gets
// its name later is another one. Tokens of runs end with their runs.
func (tx *txn) revokeAgent(agent string) error {
	list, err := tx.AgentTokens(agent)
	if err != nil {
		return err
	}
	return tx.revokeAll(list, "the agent was removed")
}

// RevokeRemoved ends the tokens of agents whose definition files are gone,
// whoever removed them. The server calls it at its start and after each change
// of the agents folder; it may be repeated.
//
// Where servers share the database, an agent is gone when the database says so: a
// folder may not have the files of all agents yet.
func (s *Service) RevokeRemoved(ctx context.Context) error {
	removed, err := read(ctx, s, func(rx *db.Rx) ([]string, error) {
		named, err := rx.TokenAgents()
		if err != nil || !s.db.Shared() {
			return named, err
		}
		return undefinedAgents(rx, named)
	})
	if err != nil {
		return err
	}
	removed = slices.DeleteFunc(removed, s.agents.Defined)
	if len(removed) == 0 {
		return nil
	}
	return change(ctx, s, task.SystemActor, func(tx *txn) error {
		for _, agent := range removed {
			if err := tx.revokeAgent(agent); err != nil {
				return err
			}
		}
		return nil
	})
}
