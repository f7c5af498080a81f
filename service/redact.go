package service

import (
	"context"

	"taskyard/db"
	"taskyard/task"
)

// maxRedactors bounds how many runs' redactors are kept in memory.
const maxRedactors = 1000

// redactorKey distinguishes the starts of a run by their tokens. A reload of the
// configuration may bring further secrets.
type redactorKey struct {
	run   task.ID
	token string
	known *Config
}

// RunRedactor returns what takes secrets out of what the agent of a run writes
// over an API: the token that it calls with, the values of the variables that
// its definition names, and the server's own secrets. A run on a worker may be
// given variables that this server does not have: of those it knows nothing.
// Error: unknown run.
func (s *Service) RunRedactor(ctx context.Context, run task.ID, token string) (*task.Redactor, error) {
	key := redactorKey{run, token, s.config()}
	s.mu.Lock()
	red := s.redactors[key]
	s.mu.Unlock()
	if red != nil {
		return red, nil
	}
	r, err := read(ctx, s, func(rx *db.Rx) (*task.Run, error) { return rx.Run(run) })
	if err != nil {
		return nil, err
	}
	secrets := []string{token}
	if s.config().Secrets != nil {
		var names []string
		if r.Spec != nil {
			names = r.Spec.Env
		}
		secrets = append(secrets, s.config().Secrets(names)...)
	}
	red = task.NewRedactor(secrets...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redactors == nil || len(s.redactors) >= maxRedactors {
		s.redactors = map[redactorKey]*task.Redactor{}
	}
	s.redactors[key] = red
	return red, nil
}
