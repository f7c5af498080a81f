package service

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"taskyard/task"
)

// throttle slows down guessing. It counts failures by key; those of a key
// decay, and while too many are left, each further try must wait twice as long
// as the last. It is safe for concurrent use, and its memory is bounded.
type throttle struct {
	mu    sync.Mutex
	fails map[throttleKey]failCount
}

// throttleKey names what failures are counted of.
type throttleKey struct {
	kind throttleKind
	of   string // at most about 100 bytes: it is kept
}

// throttleKind says how many failures of a key are free, how long it takes
// until one of them is forgotten, and how long a try waits at most.
type throttleKind int

const (
	// attemptsByPair are those at one account from one address.
	attemptsByPair throttleKind = iota
	// attemptsAtAccount are those at one account from addresses that it never
	// signed in from: many addresses together guess no faster than this.
	attemptsAtAccount
	// attemptsFromAddress are those from one address at accounts that never signed
	// in from there. One account alone does not use it up, as its pair is slower.
	attemptsFromAddress
)

var throttleLimits = [...]struct {
	free        int
	forget, max time.Duration
}{
	attemptsByPair:      {free: 3, forget: 5 * time.Minute, max: 5 * time.Minute},
	attemptsAtAccount:   {free: 20, forget: time.Minute, max: time.Minute},
	attemptsFromAddress: {free: 20, forget: time.Minute, max: time.Minute},
}

// throttleCap is how many keys are remembered at most.
const throttleCap = 10_000

type failCount struct {
	n    float64 // at last; it falls with the time since
	last task.Time
}

// left is how many of the failures are not yet forgotten.
func (f failCount) left(kind throttleKind, now task.Time) float64 {
	return max(0, f.n-max(0, now.Sub(f.last)).Seconds()/throttleLimits[kind].forget.Seconds())
}

func newThrottle() *throttle { return &throttle{fails: map[throttleKey]failCount{}} }

// signInKeys returns the keys of an attempt to sign in. At an address that the account has
// signed in from nothing else counts than what was tried there at that account.
func signInKeys(name, addr string, known bool) []throttleKey {
	account := strings.ToLower(task.ClipChars(task.CleanText(name), maxUserName))
	pair := throttleKey{attemptsByPair, account + " " + addr}
	if known {
		return []throttleKey{pair}
	}
	return []throttleKey{pair, {attemptsAtAccount, account}, {attemptsFromAddress, addr}}
}

// addressNetwork returns the part of an address that one caller has to itself: all of
// an IPv4 address, the first 64 bits of an IPv6 one.
func addressNetwork(addr string) string {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return task.ClipChars(task.CleanText(addr), 45)
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64) // fails for no IPv6 address
	return p.String()
}

// attempt returns how long the keys must still wait: 2ⁿ s after the nth failure
// beyond the free ones. One that may be made now (0) counts as a failure until
// it turns out well: else all that are made at the same time would find none.
func (t *throttle) attempt(now task.Time, keys ...throttleKey) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		f, lim := t.fails[k], throttleLimits[k.kind]
		if over := int(math.Ceil(f.n)) - lim.free; over >= 0 {
			d := min(time.Second<<min(over, 20), lim.max)
			wait = max(wait, min(f.last, now).Add(d).Sub(now)) // the clock may have been set back
		}
	}
	if wait > 0 {
		return wait
	}
	for _, k := range keys {
		t.fails[k] = failCount{t.fails[k].left(k.kind, now) + 1, now}
	}
	t.bound(now)
	return 0
}

// undo undoes what attempt counted, of an attempt that neither failed nor was good.
func (t *throttle) undo(keys ...throttleKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		if f, ok := t.fails[k]; ok {
			f.n = max(0, f.n-1)
			t.fails[k] = f
		}
	}
}

// forget drops all failures of a key, since a try turned out well.
func (t *throttle) forget(k throttleKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.fails, k)
}

// bound drops a quarter of the keys when there are too many, those with the
// fewest failures first: a flood of names or addresses, each tried once, does
// not wash away what is known of one that is tried often. t.mu is held.
func (t *throttle) bound(now task.Time) {
	if len(t.fails) <= throttleCap {
		return
	}
	type aged struct {
		k    throttleKey
		left float64
	}
	list := make([]aged, 0, len(t.fails))
	for k, f := range t.fails {
		list = append(list, aged{k, f.left(k.kind, now) / float64(throttleLimits[k.kind].free)})
	}
	slices.SortFunc(list, func(a, b aged) int { return cmp.Compare(a.left, b.left) })
	for _, a := range list[:len(list)/4] {
		delete(t.fails, a.k)
	}
}
