package service

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"taskyard/task"
)

// quota is something of which each token, and each person with all tokens and
// sessions, gets so much: at a time, or within a span.
type quota int

const (
	quotaRequests quota = iota
	quotaStreams
	quotaSignups
	quotaComments
	quotaNotices
	quotaBytes
	quotaKinds
)

// The limits are far above what an agent or a person needs, and low enough
// that one of them leaves room for all others.
var quotaLimits = [quotaKinds]struct {
	name  string // in errors, metrics and the documentation
	max   float64
	per   time.Duration // 0: at a time
	words string        // what is counted
}{
	quotaRequests: {"requests", 2048, 0, "requests in progress"},
	quotaStreams:  {"streams", 256, 0, "open streams"},
	quotaSignups:  {"waiting_signups", 1024, 0, "waiting signups"},
	quotaComments: {"comments", 600, time.Minute, "comments"},
	quotaNotices:  {"notices", 120, time.Minute, "notices and questions"},
	quotaBytes:    {"bytes", 4 << 30, 24 * time.Hour, "bytes sent"},
}

// quotaSpans say within which time a quota counts.
var quotaSpans = map[time.Duration]string{0: "at a time", time.Minute: "per minute", 24 * time.Hour: "per day"}

// quotaCap is from how many counters on those that are at rest are dropped.
const quotaCap = 10_000

// quotas counts what callers use. It is safe for concurrent use.
type quotas struct {
	mu      sync.Mutex
	used    map[quotaKey]quotaUse
	refused [quotaKinds]atomic.Int64
}

// quotaKey is what a token, or a person, uses of a quota.
type quotaKey struct {
	of          quota
	token, user task.ID // one of both
}

// quotaUse is how much was used at a moment. What counts within a span falls
// by the limit in each span, as a bucket leaks.
type quotaUse struct {
	n  float64
	at task.Time
}

func (u quotaUse) left(of quota, now task.Time) float64 {
	lim := quotaLimits[of]
	if lim.per == 0 {
		return u.n
	}
	return max(0, u.n-max(0, now.Sub(u.at)).Seconds()*lim.max/lim.per.Seconds())
}

// quotaKeys are those that a caller's use counts for: of the token and of the
// person, as far as there are such.
func quotaKeys(a task.Actor, of quota) (keys []quotaKey) {
	if a.TokenID != 0 {
		keys = append(keys, quotaKey{of: of, token: a.TokenID})
	}
	if a.UserID != 0 {
		keys = append(keys, quotaKey{of: of, user: a.UserID})
	}
	return keys
}

// take counts n for a caller. back, to be called once or more, gives back what
// is counted at a time. Error: TooMany with Retry, which names the quota and
// its limit.
func (q *quotas) take(a task.Actor, of quota, n float64, now task.Time) (back func(), err error) {
	keys := quotaKeys(a, of)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range keys {
		if over := q.used[k].left(of, now) + n - quotaLimits[of].max; over > 0 {
			q.refused[of].Add(1)
			return func() {}, quotaError(k, over)
		}
	}
	q.add(keys, n, now)
	if quotaLimits[of].per != 0 {
		return func() {}, nil
	}
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.add(keys, -n, now)
	}), nil
}

// add counts without a bound; q.mu is held.
func (q *quotas) add(keys []quotaKey, n float64, now task.Time) {
	if q.used == nil {
		q.used = map[quotaKey]quotaUse{}
	}
	for _, k := range keys {
		u := quotaUse{q.used[k].left(k.of, now) + n, now}
		if q.used[k] = u; u.n <= 0 {
			delete(q.used, k)
		}
	}
	if len(q.used) <= quotaCap {
		return
	}
	for k, u := range q.used {
		if u.left(k.of, now) == 0 {
			delete(q.used, k)
		}
	}
}

// quotaError says what is used up and when some of it is free again.
func quotaError(k quotaKey, over float64) error {
	lim, subject := quotaLimits[k.of], "one token"
	if k.user != 0 {
		subject = "one person"
	}
	e := task.Errorf(task.TooMany, task.CodeQuotaExceeded, "The quota %q of %s is used up: at most %.0f %s %s",
		lim.name, subject, lim.max, lim.words, quotaSpans[lim.per])
	if lim.per == 0 {
		e.Retry = 5
		e.Message += "; end one of them, or try again in 5 s"
		return e
	}
	e.Retry = int(math.Ceil(over / lim.max * lim.per.Seconds()))
	e.Message += fmt.Sprintf("; free again in %s", time.Duration(e.Retry)*time.Second)
	return e
}

// OpenStream counts an open stream of a caller until closed is called. Error:
// the quota is used up.
func (s *Service) OpenStream(a task.Actor) (closed func(), err error) {
	return s.quotas.take(a, quotaStreams, 1, s.Now())
}

// BeginRequest counts a request of a caller until end is called, and the bytes
// of its body: length, or as they are read where length is negative. Error: a
// quota is used up.
func (s *Service) BeginRequest(a task.Actor, length int64, body io.ReadCloser) (read io.ReadCloser, end func(), err error) {
	if a.TokenID == 0 && a.UserID == 0 {
		return body, func() {}, nil // within the server
	}
	if length > 0 {
		if _, err := s.quotas.take(a, quotaBytes, float64(length), s.Now()); err != nil {
			return body, func() {}, err
		}
	}
	end, err = s.quotas.take(a, quotaRequests, 1, s.Now())
	if length < 0 {
		body = &countedBody{body, s, a}
	}
	return body, end, err
}

// countedBody counts the bytes of a body whose length was not told.
type countedBody struct {
	io.ReadCloser
	s *Service
	a task.Actor
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if _, over := b.s.quotas.take(b.a, quotaBytes, float64(n), b.s.Now()); over != nil {
		return 0, over
	}
	return n, err
}

// QuotaInfo is a quota with how often it refused since the start.
type QuotaInfo struct {
	Name    string
	Counts  string // what is counted, such as "open streams"
	Limit   string // such as "600 per minute"
	Refused int64
}

// Quotas lists all quotas.
func (s *Service) Quotas() []QuotaInfo {
	list := make([]QuotaInfo, quotaKinds)
	for i, lim := range quotaLimits {
		list[i] = QuotaInfo{lim.name, lim.words, quotaAmount(int64(lim.max)) + " " + quotaSpans[lim.per], s.quotas.refused[i].Load()}
	}
	return list
}

// quotaAmount writes a number as people read it: "2,048", "4 GiB".
func quotaAmount(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1000:
		return fmt.Sprintf("%s,%03d", quotaAmount(n/1000), n%1000)
	}
	return strconv.FormatInt(n, 10)
}
