package service

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"taskyard/db"
	"taskyard/task"
)

// Idempotency makes a write happen once for its key: the effect and the
// answer are stored in one transaction; a repeat within 24 h gets the answer
// again.
type Idempotency struct {
	Caller   string
	Key      string
	Request  []byte // hash of method, path and body
	Form     bool   // a person sends a form, and knows of no key
	Replayed bool   // set when the answer was a stored one
}

type idemKey struct{}

const idempotencyLife = 24 * time.Hour

// WithIdempotency sets the idempotency key of the next write of ctx.
func WithIdempotency(ctx context.Context, i *Idempotency) context.Context {
	return context.WithValue(ctx, idemKey{}, i)
}

func idempotencyFromContext(ctx context.Context) *Idempotency {
	i, _ := ctx.Value(idemKey{}).(*Idempotency)
	return i
}

// firstWrite is the key of the first of two writes that a request makes, nil for
// nil. Nobody is called so, so that no other request has it.
func (i *Idempotency) firstWrite() *Idempotency {
	if i == nil {
		return nil
	}
	return &Idempotency{Caller: i.Caller + " first write", Key: i.Key, Request: i.Request, Form: i.Form}
}

// answered returns the stored answer to the request of ctx, if there is one, for
// what has to be known before the write. Error: the key belongs to another request.
func answered[T any](ctx context.Context, s *Service) (out T, ok bool, err error) {
	i := idempotencyFromContext(ctx)
	if i == nil {
		return out, false, nil
	}
	err = s.db.Read(ctx, func(rx *db.Rx) (err error) {
		ok, err = replay(rx, i, &out)
		return err
	})
	return out, ok, err
}

func replay(rx *db.Rx, i *Idempotency, out any) (bool, error) {
	i.Replayed = false
	req, answer, ok, err := rx.Answer(i.Caller, i.Key, rx.Now.Add(-idempotencyLife))
	if err != nil || !ok {
		return false, err
	}
	if i.Form && !bytes.Equal(req, i.Request) {
		return false, task.Errorf(task.Invalid, task.CodeIdempotencyReuse, "This form was already sent with other content, and that was done. "+
			"See what it did before you send it again")
	}
	if !bytes.Equal(req, i.Request) {
		return false, task.Errorf(task.Invalid, task.CodeIdempotencyReuse,
			"The Idempotency-Key was already used for another request; use a new key")
	}
	i.Replayed = true
	return true, json.Unmarshal([]byte(answer), out)
}

func remember(tx *txn, i *Idempotency, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.SaveAnswer(i.Caller, i.Key, i.Request, string(b))
}

// Replayed reports whether the answer of ctx's write was a stored one.
func Replayed(ctx context.Context) bool {
	i := idempotencyFromContext(ctx)
	return i != nil && i.Replayed
}
