package service

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"
	"unicode"

	"taskyard/db"
	"taskyard/task"
)

// NewToken is what is said of a token to be made.
type NewToken struct {
	Name  string
	Agent string // for an agent's token
	Scope string // read, operate, review or admin, and act-as: for a person's or a program's
	Days  int    // 0: the configured life; -1: for ever
	Own   bool   // bound to the caller's account and role
}

// MadeToken is a token with its secret, which is shown only once.
type MadeToken struct {
	task.Token
	Secret string `json:"secret"`
}

// maxOwnTokens bounds the valid tokens that a person who is not an admin has.
const maxOwnTokens = 50

// hintSize is how many characters of a secret tell tokens apart.
const hintSize = 9

// CreateToken creates a bearer token: any token for admins, tokens of their own
// account for everyone else who is signed in. Errors: no such person, more
// rights than the person has, invalid fields, unknown agent, name used by a
// token that is still valid, too many tokens.
func (s *Service) CreateToken(ctx context.Context, a task.Actor, in NewToken) (MadeToken, error) {
	if err := s.mayMakeToken(a, in.Own); err != nil {
		return MadeToken{}, err
	}
	tok, err := s.newToken(a, in)
	if err != nil {
		return MadeToken{}, err
	}
	secret := newSecret()
	sum := sha256.Sum256([]byte(secret))
	tok.Hint = secret[:hintSize]
	// The secret must not be stored, so the answer is never an idempotent one.
	made, err := mutate(WithIdempotency(ctx, nil), s, a, func(tx *txn) (task.Token, error) {
		made := tok
		if err := tx.checkToken(&made); err != nil {
			return made, err
		}
		if in.Days >= 0 {
			life := s.config().TokenLife
			if in.Days > 0 {
				life = time.Duration(in.Days) * 24 * time.Hour
			}
			made.ExpiresAt = tx.Now.Add(life)
		}
		id, err := tx.InsertToken(made, sum[:])
		if err != nil {
			return made, err
		}
		made.ID, made.CreatedAt = id, tx.Now
		return made, tx.event(task.EvTokenCreated, task.Event{Agent: made.Agent}, changes{"token": id, "name": made.Name, "scope": made.Scope})
	})
	return MadeToken{made, secret}, err
}

// mayMakeToken checks who makes a token. A token that is not an admin's makes
// none: one that leaked must end when it is revoked.
func (s *Service) mayMakeToken(a task.Actor, own bool) error {
	switch {
	case a.May(task.Admin):
		return nil
	case !own:
		return checkPerm(a, task.Admin)
	}
	if err := s.allowed(a, task.Account); err != nil {
		return err
	}
	if a.TokenID != 0 {
		return task.Errorf(task.Forbidden, task.CodeForbidden,
			"%s is using a token, which cannot create another one: sign in to create one", a.Name)
	}
	return nil
}

// checkToken checks a new token against what is stored. The name of a token
// that belongs to no person must not be a person's: it acts under that name.
func (tx *txn) checkToken(tok *task.Token) error {
	if err := tx.checkTokenName(*tok); err != nil {
		return err
	}
	if tok.UserID != 0 {
		return tx.checkFitsPerson(tok)
	}
	if tok.Agent != "" {
		return nil
	}
	if _, _, taken, err := tx.UserByName(tok.Name); err != nil || taken {
		return errorOrTaken(tok.Name, err)
	}
	return nil
}

// checkFitsPerson checks that a token gives no more rights than the person has now,
// and names the person.
func (tx *txn) checkFitsPerson(tok *task.Token) error {
	u, ok, err := tx.User(tok.UserID)
	if err != nil {
		return err
	}
	if !ok || u.DisabledAt != 0 {
		return errTokenEnded
	}
	tok.Person = u.Name
	role, _, _ := task.ParseScope(tok.Scope)
	if u.Role == task.RoleAdmin {
		return nil
	}
	if lowerRole(role, u.Role) != role {
		return task.FieldErrorf("scope", "must not exceed the role of %s, which is %s", u.Name, u.Role)
	}
	valid, err := tx.ValidUserTokens(u.ID)
	if err == nil && len(valid) >= maxOwnTokens {
		err = task.Errorf(task.Conflict, task.CodeQuotaExceeded, "%s has %d tokens: revoke some first", u.Name, len(valid))
	}
	return err
}

// checkTokenName refuses the name of a token that is still valid: the audit
// and the list of tokens name one each, for each person. An expired one gives
// its name up.
func (tx *txn) checkTokenName(tok task.Token) error {
	free, err := tx.FreeTokenName(tok.UserID, tok.Name)
	if err != nil || free {
		return err
	}
	return &task.Error{
		Kind: task.Conflict, Code: task.CodeNameTaken, Field: "name",
		Message: "another token is named " + tok.Name + ": choose another name, or revoke that one first",
	}
}

func (s *Service) newToken(a task.Actor, in NewToken) (task.Token, error) {
	var p task.Problems
	p.CheckLine("name", in.Name, 60)
	if in.Days < -1 || in.Days > 3650 {
		p.Add("days", "must be 1 to 3650, 0 for the default, or -1 for never")
	}
	in.Scope = strings.Join(strings.FieldsFunc(in.Scope, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }), " ")
	tok := task.Token{Name: in.Name, Agent: in.Agent, Scope: in.Scope, CreatedBy: a.Name}
	if in.Own {
		if tok.UserID = a.UserID; a.UserID == 0 {
			p.Add("own", "requires a person, and %s is not one", a.Name)
		} else if in.Agent != "" {
			p.Add("own", "must be left out for an agent's token")
		}
	}
	switch {
	case in.Agent != "" && in.Scope != "":
		p.Add("scope", "must be left out for an agent's token")
	case in.Agent != "":
		tok.Scope = "agent:" + in.Agent
	default:
		checkScope(&p, in.Scope)
	}
	if err := p.Err(); err != nil {
		return tok, err
	}
	if in.Agent != "" {
		if _, err := s.knownAgent("agent", in.Agent); err != nil {
			return tok, err
		}
	}
	return tok, nil
}

func checkScope(p *task.Problems, scope string) {
	words := strings.Fields(scope)
	if len(words) > 1 && slices.Contains(words, task.ScopeWorker) {
		p.Add("scope", "the scope worker cannot be combined with others")
		return
	}
	roles := 0
	for _, w := range words {
		if task.Scopes[w] != "" {
			roles++
		} else if w != "act-as" {
			p.Add("scope", "unknown scope %q: valid scopes are read, operate, review, admin, and act-as in addition to one of them, or worker", w)
			return
		}
	}
	if roles != 1 {
		p.Add("scope", "must name one of read, operate, review, admin, worker")
	}
}

// Tokens returns tokens, without those of runs: all of them for admins, those
// of their own account for other people. Error: no person.
func (s *Service) Tokens(ctx context.Context, a task.Actor) ([]task.Token, error) {
	if err := s.allowed(a, task.Account); err != nil {
		return nil, err
	}
	return read(ctx, s, func(rx *db.Rx) ([]task.Token, error) {
		switch {
		case a.May(task.Admin):
			return rx.Tokens()
		case a.UserID == 0:
			return []task.Token{}, nil
		}
		return rx.UserTokens(a.UserID)
	})
}
