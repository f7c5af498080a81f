package service

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/alexedwards/argon2id"

	"taskyard/db"
	"taskyard/task"
)

// argonParams are OWASP's: 19 MiB, two passes, one lane.
var argonParams = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// cheapParams are those of Config.CheapPasswords.
var cheapParams = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// authState is what sign-in needs in memory.
type authState struct {
	cost    *argon2id.Params
	hashing chan struct{} // at most two hashes at once
	decoy   string        // hashed against for unknown names: equal work

	*throttle // of those who guess
	refusals  *refusals

	mu   sync.Mutex
	used map[task.ID]task.Time // tokens used since the last flush
}

func newAuthState(cheap bool) *authState {
	cost := argonParams
	if cheap {
		cost = cheapParams
	}
	return &authState{
		cost:    cost,
		hashing: make(chan struct{}, 2),
		decoy: fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$c29tZXNhbHRzb21lc2FsdA$G1oQ7X3pO1wLTvb2Wc0mKxk0gq3Xn5b2M7oTqf9uJ0k",
			cost.Memory, cost.Iterations, cost.Parallelism),
		throttle: newThrottle(), refusals: newRefusals(), used: map[task.ID]task.Time{},
	}
}

func (s *Service) hashPassword(pw string) (string, error) {
	s.auth.hashing <- struct{}{}
	defer func() { <-s.auth.hashing }()
	return argon2id.CreateHash(pw, s.auth.cost)
}

func (s *Service) passwordMatches(pw, hash string) bool {
	s.auth.hashing <- struct{}{}
	defer func() { <-s.auth.hashing }()
	ok, err := argon2id.ComparePasswordAndHash(pw, hash)
	return err == nil && ok
}

// maxUserName is in characters.
const maxUserName = 40

func checkUser(p *task.Problems, name, password string) {
	p.CheckLine("name", name, maxUserName)
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-@+", r)
	}) {
		p.Add("name", "may contain only letters, digits and . _ - @ +, without spaces")
	}
	checkPassword(p, password, name)
}

// SignIn checks name and password and returns the person. Failures are
// answered alike for unknown, disabled and wrong; they are throttled with a
// growing delay (TooMany with Retry), so that guesses from elsewhere keep
// nobody out at an address where they signed in within the last 90 days.
// caller has the address and the request.
func (s *Service) SignIn(ctx context.Context, name, password string, caller task.Actor) (task.User, error) {
	var u task.User
	var hash string
	var ok, known bool
	from := addressNetwork(caller.Addr)
	err := s.db.Read(ctx, func(rx *db.Rx) (err error) {
		if u, hash, ok, err = rx.UserByName(name); err != nil || !ok {
			return err
		}
		known, err = rx.KnownAddress(u.ID, from)
		return err
	})
	if err != nil {
		return task.User{}, err
	}
	keys := signInKeys(name, from, known)
	if err := s.checkThrottle(keys...); err != nil {
		return task.User{}, err
	}
	if !ok {
		hash = s.auth.decoy
	}
	matched := s.passwordMatches(password, hash) && ok && u.DisabledAt == 0
	a := task.Actor{Name: task.UserActorName(u.Name), Role: u.Role, UserID: u.ID, Addr: caller.Addr, RequestID: caller.RequestID}
	if !matched {
		a.Name = task.System
		err := change(ctx, s, a, func(tx *txn) error {
			return tx.event(task.EvSignInFailed, task.Event{}, changes{"name": task.ClipChars(task.CleanText(name), maxUserName)})
		})
		if err != nil {
			return task.User{}, err
		}
		return task.User{}, task.Errorf(task.Unauthorized, task.CodeUnauthorized, "Wrong name or password")
	}
	s.auth.forget(keys[0])
	s.auth.undo(keys[1:]...)
	return u, change(ctx, s, a, func(tx *txn) error {
		if err := tx.recordSignIn(u.ID, caller.Addr); err != nil {
			return err
		}
		return tx.event(task.EvSignedIn, task.Event{}, nil)
	})
}

// checkThrottle counts a try at a password, and refuses it while too many were wrong.
func (s *Service) checkThrottle(keys ...throttleKey) error {
	wait := s.auth.attempt(s.Now(), keys...)
	if wait <= 0 {
		return nil
	}
	e := task.Errorf(task.TooMany, task.CodeRateLimited, "Too many failed attempts; try again in %s", wait.Round(time.Second))
	e.Retry = int(wait.Seconds()) + 1
	return e
}

// recordSignIn records when and from where a person signed in.
func (tx *txn) recordSignIn(id task.ID, addr string) error {
	if err := tx.NoteSignIn(id); err != nil {
		return err
	}
	return tx.RememberAddress(id, addressNetwork(addr))
}

// Authenticate returns who a bearer token speaks for. Error: Unauthorized for
// unknown, expired and revoked ones, and for tokens of disabled people.
func (s *Service) Authenticate(ctx context.Context, secret, addr string) (task.Actor, error) {
	sum := sha256.Sum256([]byte(secret))
	var tok task.Token
	var user task.User
	var ok bool
	err := s.db.Read(ctx, func(rx *db.Rx) (err error) {
		if tok, ok, err = rx.TokenByHash(sum[:]); err != nil || !ok || tok.UserID == 0 {
			return err
		}
		user, ok, err = rx.User(tok.UserID)
		ok = ok && user.DisabledAt == 0
		return err
	})
	if err != nil {
		return task.Actor{}, err
	}
	if !ok || !strings.HasPrefix(secret, "ty_") {
		return task.Actor{}, errTokenEnded
	}
	s.auth.touch(tok.ID, s.Now())
	role, agent, actAs := task.ParseScope(tok.Scope)
	a := task.Actor{Role: role, ActAs: actAs, TokenID: tok.ID, UserID: tok.UserID, RunID: tok.RunID, Addr: addr}
	switch {
	case agent != "":
		a.Name, a.Role = agent, task.RoleAgent
	case role == task.RoleWorker:
		if tok.UserID != 0 && user.Role != task.RoleAdmin {
			return task.Actor{}, errTokenEnded // only admins let workers in
		}
		a.Name = "worker:" + tok.Name
	case tok.UserID != 0:
		a.Name = task.UserActorName(user.Name)
		a.Role = lowerRole(role, user.Role)
	default:
		a.Name = task.UserActorName(tok.Name)
	}
	return a, nil
}

// lowerRole keeps a person's token from doing more than the person may by now.
func lowerRole(a, b task.Role) task.Role {
	for _, r := range task.PeopleRoles {
		if r == a || r == b {
			return r
		}
	}
	return task.RoleNone
}

func (a *authState) touch(id task.ID, now task.Time) {
	a.mu.Lock()
	a.used[id] = now
	a.mu.Unlock()
}

// FlushTokenUse writes when tokens were last used.
func (s *Service) FlushTokenUse(ctx context.Context) error {
	s.auth.mu.Lock()
	used := s.auth.used
	s.auth.used = map[task.ID]task.Time{}
	s.auth.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	return change(ctx, s, task.SystemActor, func(tx *txn) error { return tx.TouchTokens(used) })
}

// UserActor returns the person of a session, as they are now. Error:
// Unauthorized when they are gone or disabled.
func (s *Service) UserActor(ctx context.Context, id task.ID, addr string) (task.Actor, error) {
	var u task.User
	var ok bool
	err := s.db.Read(ctx, func(rx *db.Rx) (err error) {
		u, ok, err = rx.User(id)
		return err
	})
	if err != nil {
		return task.Actor{}, err
	}
	if !ok || u.DisabledAt != 0 {
		return task.Actor{}, task.Errorf(task.Unauthorized, task.CodeUnauthorized, "Sign in")
	}
	return task.Actor{Name: task.UserActorName(u.Name), Role: u.Role, UserID: u.ID, Addr: addr}, nil
}

const (
	setupKey  = "setup_link"
	signInKey = "sign_in_link"
	linkLife  = time.Hour
)

// SetupLink returns a one-time secret, valid for an hour, for creating the
// first admin, or "" if someone can already sign in. It replaces the previous
// secret of this server and leaves those of other servers on the database, each
// of which has written one to its log.
func (s *Service) SetupLink(ctx context.Context) (string, error) {
	secret := newSecret()
	return mutate(ctx, s, task.SystemActor, func(tx *txn) (string, error) {
		n, err := tx.UserCount()
		if err != nil || n > 0 {
			return "", err
		}
		stored, err := tx.Setting(setupKey)
		if err != nil {
			return "", err
		}
		links := setupLinks(stored)
		links[s.serverID()] = link(secret, tx.Now, 0)
		text, err := json.Marshal(links)
		if err != nil {
			return "", err
		}
		return secret, tx.SetSetting(setupKey, string(text))
	})
}

// setupLinks reads the stored set-up links, by server. What is not read is one
// of an earlier version, which a start replaces.
func setupLinks(stored string) map[string]string {
	links := map[string]string{}
	if json.Unmarshal([]byte(stored), &links) != nil {
		return map[string]string{}
	}
	return links
}

// SignInLink makes a one-time secret, good for an hour, that signs a person in.
func (s *Service) SignInLink(ctx context.Context, user task.ID) (string, error) {
	secret := newSecret()
	return mutate(ctx, s, task.SystemActor, func(tx *txn) (string, error) {
		return secret, tx.SetSetting(signInKey, link(secret, tx.Now, user))
	})
}

func link(secret string, now task.Time, user task.ID) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:]) + " " + now.Add(linkLife).String() + " " + user.String()
}

// linkUser checks a secret against a stored link.
func linkUser(stored, secret string, now task.Time) (task.ID, bool) {
	parts := strings.Fields(stored)
	if len(parts) != 3 {
		return 0, false
	}
	sum := sha256.Sum256([]byte(secret))
	var until task.Time
	if until.UnmarshalText([]byte(parts[1])) != nil || until < now {
		return 0, false
	}
	id, _ := task.ParseID(parts[2]) // 0 for a set-up link
	return id, subtle.ConstantTimeCompare([]byte(parts[0]), []byte(hex.EncodeToString(sum[:]))) == 1
}

var errLink = task.Errorf(task.Forbidden, task.CodeForbidden,
	"The link has been used or is older than an hour; restart the server to get a new one")

// SetupValid reports whether the set-up link still holds. Errors: set-up done,
// link used up.
func (s *Service) SetupValid(ctx context.Context, secret string) error {
	return s.db.Read(ctx, func(rx *db.Rx) error { return setupValid(rx, secret) })
}

func setupValid(rx *db.Rx, secret string) error {
	n, err := rx.UserCount()
	if err != nil {
		return err
	}
	if n > 0 {
		return task.Errorf(task.NotFound, task.CodeSetupDone, "The first admin already exists: sign in")
	}
	stored, err := rx.Setting(setupKey)
	if err != nil {
		return err
	}
	for _, stored := range setupLinks(stored) {
		if _, ok := linkUser(stored, secret, rx.Now); ok {
			return nil
		}
	}
	return errLink
}

// FirstAdmin makes the first admin with a set-up link, which is used up.
func (s *Service) FirstAdmin(ctx context.Context, secret, name, password string) (task.User, error) {
	if err := s.SetupValid(ctx, secret); err != nil {
		return task.User{}, err
	}
	return s.addUser(ctx, task.SystemActor, name, password, task.RoleAdmin, func(tx *txn) error {
		if err := setupValid(&tx.Rx, secret); err != nil {
			return err
		}
		return tx.SetSetting(setupKey, "")
	})
}

// UseSignInLink signs a person in once. caller has the address and the request.
func (s *Service) UseSignInLink(ctx context.Context, secret string, caller task.Actor) (task.User, error) {
	return mutate(ctx, s, task.Actor{Name: task.System, Role: task.RoleAdmin, Addr: caller.Addr, RequestID: caller.RequestID},
		func(tx *txn) (task.User, error) {
			stored, err := tx.Setting(signInKey)
			if err != nil {
				return task.User{}, err
			}
			id, ok := linkUser(stored, secret, tx.Now)
			if !ok || id == 0 {
				return task.User{}, errLink
			}
			u, ok, err := tx.User(id)
			if err != nil || !ok || u.DisabledAt != 0 {
				return task.User{}, errLink
			}
			if err := tx.SetSetting(signInKey, ""); err != nil {
				return task.User{}, err
			}
			if err := tx.recordSignIn(id, caller.Addr); err != nil {
				return task.User{}, err
			}
			tx.actor.Name = task.UserActorName(u.Name)
			return u, tx.event(task.EvSignedIn, task.Event{}, changes{"by": "link"})
		})
}
