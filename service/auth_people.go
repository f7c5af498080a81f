package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// AddUser adds a person. Errors: not an admin, invalid fields, name taken.
func (s *Service) AddUser(ctx context.Context, a task.Actor, name, password string, role task.Role) (task.User, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return task.User{}, err
	}
	return s.addUser(ctx, a, name, password, role, func(*txn) error { return nil })
}

func (s *Service) addUser(ctx context.Context, a task.Actor, name, password string,
	role task.Role, first func(*txn) error,
) (task.User, error) {
	var p task.Problems
	checkUser(&p, name, password)
	checkRole(&p, role)
	if err := p.Err(); err != nil {
		return task.User{}, err
	}
	hash, err := s.hashPassword(password)
	if err != nil {
		return task.User{}, err
	}
	return mutate(ctx, s, a, func(tx *txn) (task.User, error) {
		if err := first(tx); err != nil {
			return task.User{}, err
		}
		if _, _, taken, err := tx.UserByName(name); err != nil || taken {
			return task.User{}, errorOrTaken(name, err)
		}
		id, err := tx.InsertUser(name, role, hash)
		if err != nil {
			return task.User{}, err
		}
		u, _, err := tx.User(id)
		if err != nil {
			return task.User{}, err
		}
		return u, tx.event(task.EvUserCreated, task.Event{}, changes{"user": name, "role": role})
	})
}

func errorOrTaken(name string, err error) error {
	if err != nil {
		return err
	}
	return &task.Error{Kind: task.Conflict, Code: task.CodeNameTaken, Field: "name", Message: "the name " + name + " is taken"}
}

func checkRole(p *task.Problems, role task.Role) {
	if !slices.Contains(task.PeopleRoles, role) {
		p.Add("role", "must be viewer, operator, reviewer or admin")
	}
}

// Users returns all people. Error: not an admin.
func (s *Service) Users(ctx context.Context, a task.Actor) ([]task.User, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.User, error) { return rx.Users() })
}

// UserChange is what an admin changes of a person; nil fields stay.
type UserChange struct {
	Role     *task.Role
	Disabled *bool
	Password *string
}

// UpdateUser changes a person. Their sessions end, and if the role changes, so
// do the open calls of their own tokens. Disabling a person revokes those
// tokens. Errors: not an admin, unknown person, last admin.
func (s *Service) UpdateUser(ctx context.Context, a task.Actor, id task.ID, c UserChange) (task.User, error) {
	if err := s.allowed(a, task.Admin); err != nil {
		return task.User{}, err
	}
	var p task.Problems
	if c.Role != nil {
		checkRole(&p, *c.Role)
	}
	if c.Password != nil {
		u, err := read(ctx, s, func(rx *db.Rx) (task.User, error) {
			u, _, err := rx.User(id)
			return u, err
		})
		if err != nil {
			return task.User{}, err
		}
		checkPassword(&p, *c.Password, u.Name)
	}
	if err := p.Err(); err != nil {
		return task.User{}, err
	}
	hash := ""
	if c.Password != nil {
		var err error
		if hash, err = s.hashPassword(*c.Password); err != nil {
			return task.User{}, err
		}
	}
	return mutate(ctx, s, a, func(tx *txn) (task.User, error) {
		u, ok, err := tx.User(id)
		if err != nil {
			return u, err
		}
		if !ok {
			return u, task.Errorf(task.NotFound, task.CodeNotFound, "No person has the id %d", id)
		}
		if err := tx.checkLastAdmin(u, c); err != nil {
			return u, err
		}
		return tx.updateUser(u, c, hash)
	})
}

func (tx *txn) checkLastAdmin(u task.User, c UserChange) error {
	loses := c.Role != nil && *c.Role != task.RoleAdmin || c.Disabled != nil && *c.Disabled
	if u.Role != task.RoleAdmin || u.DisabledAt != 0 || !loses {
		return nil
	}
	n, err := tx.AdminCount()
	if err == nil && n <= 1 {
		err = task.Errorf(task.Conflict, task.CodeLastAdmin, "%s is the last admin: add another one first", u.Name)
	}
	return err
}

func (tx *txn) updateUser(u task.User, c UserChange, hash string) (task.User, error) {
	diff := changes{"user": u.Name}
	if c.Role != nil && *c.Role != u.Role {
		diff["role"] = []task.Role{u.Role, *c.Role}
		if err := tx.SetRole(u.ID, *c.Role); err != nil {
			return u, err
		}
		if err := tx.endUserCalls(u.ID); err != nil {
			return u, err
		}
	}
	if c.Disabled != nil {
		diff["disabled"] = *c.Disabled
		if err := tx.SetDisabled(u.ID, *c.Disabled); err != nil {
			return u, err
		}
		if *c.Disabled {
			if err := tx.revokePerson(u.ID); err != nil {
				return u, err
			}
		}
	}
	if hash != "" {
		diff["password"] = "changed"
		if err := tx.SetPassword(u.ID, hash); err != nil {
			return u, err
		}
	}
	if err := tx.endSessions(u.ID, ""); err != nil {
		return u, err
	}
	if err := tx.event(task.EvUserUpdated, task.Event{}, diff); err != nil {
		return u, err
	}
	u, _, err := tx.User(u.ID)
	return u, err
}

// ChangePassword lets a signed-in person choose a new password; their other
// sessions end. keep is the hash of the session that stays. Wrong guesses of
// the current one are throttled as those of a sign-in are.
func (s *Service) ChangePassword(ctx context.Context, a task.Actor, old, password, keep string) error {
	if _, done, err := answered[struct{}](ctx, s); done || err != nil {
		return err
	}
	name := strings.TrimPrefix(a.Name, "user:")
	var p task.Problems
	checkPassword(&p, password, name)
	if err := p.Err(); err != nil {
		return err
	}
	hash, err := read(ctx, s, func(rx *db.Rx) (string, error) {
		_, hash, _, err := rx.UserByName(name)
		return hash, err
	})
	if err != nil {
		return err
	}
	tries := throttleKey{attemptsByPair, "password of " + a.UserID.String()}
	if err := s.checkThrottle(tries); err != nil {
		return err
	}
	if a.UserID == 0 || !s.passwordMatches(old, hash) {
		return task.FieldErrorf("old", "is not your current password")
	}
	s.auth.forget(tries)
	fresh, err := s.hashPassword(password)
	if err != nil {
		return err
	}
	return change(ctx, s, a, func(tx *txn) error {
		if err := tx.SetPassword(a.UserID, fresh); err != nil {
			return err
		}
		if err := tx.endSessions(a.UserID, keep); err != nil {
			return err
		}
		return tx.event(task.EvUserUpdated, task.Event{}, changes{"user": a.Name, "password": "changed"})
	})
}

// endSessions ends the sessions of a person but the one kept ("" for none), and
// the streams of all of them: a browser opens that of the one kept again.
func (tx *txn) endSessions(user task.ID, kept string) error {
	tx.signals.Revocations = append(tx.signals.Revocations, task.Revocation{User: user})
	return tx.DropSessions(user, kept)
}

// SignOutEverywhere ends all sessions of the caller.
func (s *Service) SignOutEverywhere(ctx context.Context, a task.Actor) error {
	return change(ctx, s, a, func(tx *txn) error {
		if err := tx.endSessions(a.UserID, ""); err != nil {
			return err
		}
		return tx.event(task.EvSignedOut, task.Event{}, changes{"everywhere": true})
	})
}

// Sessions returns the browser sessions of the caller, at most 100.
func (s *Service) Sessions(ctx context.Context, a task.Actor) ([]db.Session, error) {
	if a.UserID == 0 {
		return nil, nil
	}
	return read(ctx, s, func(rx *db.Rx) ([]db.Session, error) { return rx.Sessions(a.UserID) })
}

// SignOut ends one session of the caller, known by the hash of its token.
// Error: NotFound when it has ended already, or is another person's.
func (s *Service) SignOut(ctx context.Context, a task.Actor, hash string) error {
	return change(ctx, s, a, func(tx *txn) error {
		existed, err := tx.DropUserSession(a.UserID, hash)
		if err != nil {
			return err
		}
		if !existed {
			return task.Errorf(task.NotFound, task.CodeNotFound, "This session has already ended")
		}
		return tx.event(task.EvSignedOut, task.Event{}, nil)
	})
}

// Session returns the data of a browser session, under the hash of its token.
func (s *Service) Session(ctx context.Context, hash string) (data []byte, ok bool, err error) {
	err = s.db.Read(ctx, func(rx *db.Rx) error {
		sess, found, err := rx.Session(hash)
		data, ok = sess.Data, found
		return err
	})
	return data, ok, err
}

// SaveSession writes a browser session of a person (0: nobody yet).
func (s *Service) SaveSession(ctx context.Context, hash string, user task.ID, data []byte, expires time.Time) error {
	return s.db.Write(ctx, func(tx *db.Tx) error {
		return tx.SaveSession(hash, user, db.Session{Data: data, Expires: task.TimeFromStd(expires)})
	})
}

// KeepSession writes a browser session again; one that has ended meanwhile stays
// ended.
func (s *Service) KeepSession(ctx context.Context, hash string, data []byte, expires time.Time) (kept bool, err error) {
	err = s.db.Write(ctx, func(tx *db.Tx) (err error) {
		kept, err = tx.KeepSession(hash, db.Session{Data: data, Expires: task.TimeFromStd(expires)})
		return err
	})
	return kept, err
}

// DropSession ends a browser session.
func (s *Service) DropSession(ctx context.Context, hash string) error {
	return s.db.Write(ctx, func(tx *db.Tx) error { return tx.DropSession(hash) })
}
