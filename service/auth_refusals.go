package service

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"taskyard/task"
)

// Why a call was refused, as the metric names it.
const (
	refusedPermission = "permission" // the role lacks it
	refusedRelation   = "relation"   // the role has it, but not for this task, run or person
	refusedToken      = "token"      // a bearer token that is unknown, expired or revoked
	refusedSite       = "cross_site" // a page of another site, or one without the form token
)

const (
	refusalEvery = time.Minute // a caller's same refusal is recorded once in this time
	maxRefusals  = 60          // refusals recorded in this time by all callers together
)

// refusals counts all refusals, and samples those that are recorded: a caller
// who is refused without end must not fill the log.
type refusals struct {
	mu       sync.Mutex
	counts   map[string]uint64    // by reason
	recorded map[string]task.Time // by caller and action: recorded when
	since    task.Time            // start of the present minute
	n        int                  // recorded in it
}

func newRefusals() *refusals {
	return &refusals{counts: map[string]uint64{}, recorded: map[string]task.Time{}}
}

// count counts one and reports whether it is recorded.
func (r *refusals) count(reason, key string, now task.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[reason]++
	if passed := now.Sub(r.since); passed >= refusalEvery || passed < 0 {
		r.since, r.n = now, 0
		maps.DeleteFunc(r.recorded, func(_ string, at task.Time) bool { return now.Sub(at) >= refusalEvery })
	}
	if at, ok := r.recorded[key]; ok && now.Sub(at) < refusalEvery || r.n >= maxRefusals {
		return false
	}
	r.recorded[key] = now
	r.n++
	return true
}

// Refusals returns how many calls were refused since the start, by reason:
// permission, relation, token or cross_site.
func (s *Service) Refusals() map[string]uint64 {
	r := s.auth.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// Refused counts a refusal of authorization and puts a sample on record: at
// most one a minute for the same caller and action, and 60 of all. action is
// what was tried, such as "POST /api/tasks" or "tool complete_task". Other
// errors than refusals are none of its business.
func (s *Service) Refused(ctx context.Context, a task.Actor, action string, err error) {
	var e *task.Error
	if !errors.As(err, &e) || e.Kind != task.Forbidden {
		return
	}
	reason := refusedRelation
	switch {
	case e.Perm != "":
		reason = refusedPermission
	case e.Code == task.CodeCrossSite:
		reason = refusedSite
	}
	s.refuse(ctx, a, action, reason, changes{"what": action, "reason": reason, "message": e.Message})
}

// RefusedBearer is Refused for a token that did not let its bearer in. from has
// the address and the request.
func (s *Service) RefusedBearer(ctx context.Context, from task.Actor, secret string) {
	from.Name = task.System
	what := changes{"what": "token", "reason": refusedToken}
	if len(secret) > 2*hintSize && strings.HasPrefix(secret, "ty_") {
		what["hint"] = secret[:hintSize]
	}
	s.refuse(ctx, from, from.Addr, refusedToken, what)
}

func (s *Service) refuse(ctx context.Context, a task.Actor, action, reason string, what changes) {
	if !s.auth.refusals.count(reason, a.Name+"\x00"+action, s.Now()) {
		return
	}
	if a.Name == "" {
		a.Name = task.System // nobody, who has only an address
	}
	err := change(WithIdempotency(context.WithoutCancel(ctx), nil), s, a,
		func(tx *txn) error { return tx.event(task.EvRefused, task.Event{}, what) })
	if err != nil {
		s.log.Error("failed to record a refusal", "error", err)
	}
}
