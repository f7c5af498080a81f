package runner

import "bytes"

// redacted stands for a secret.
const redacted = "[redacted]"

// redactor replaces secrets in a stream. It keeps back the end of what it was
// given while that may be the beginning of a secret, so that none passes in
// two pieces. Its memory is bounded by the chunk and the longest secret.
type redactor struct {
	secrets [][]byte
	buf     []byte // not yet decided
	out     []byte // reused from call to call
}

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	for _, s := range secrets {
		if s != "" {
			r.secrets = append(r.secrets, []byte(s))
		}
	}
	return r
}

// Write takes the next bytes and returns those that are decided, redacted.
// The result is valid until the next call.
func (r *redactor) Write(b []byte) []byte {
	r.buf = append(r.buf, b...)
	return r.decide(false)
}

// Close returns what was kept back.
func (r *redactor) Close() []byte { return r.decide(true) }

func (r *redactor) decide(all bool) []byte {
	r.out = r.out[:0]
	rest := r.buf
	for {
		limit := len(rest)
		if !all {
			limit = r.unsure(rest)
		}
		at, length := r.find(rest)
		if at < 0 || at >= limit {
			r.out = append(r.out, rest[:limit]...)
			r.buf = r.buf[:copy(r.buf, rest[limit:])]
			return r.out
		}
		r.out = append(append(r.out, rest[:at]...), redacted...)
		rest = rest[at+length:]
	}
}

// find returns where the first secret begins, and the longest that does.
func (r *redactor) find(b []byte) (at, length int) {
	at = -1
	for _, s := range r.secrets {
		switch i := bytes.Index(b, s); {
		case i < 0:
		case at < 0 || i < at:
			at, length = i, len(s)
		case i == at:
			length = max(length, len(s))
		}
	}
	return at, length
}

// unsure returns where the longest end of b begins that may become a secret.
func (r *redactor) unsure(b []byte) int {
	from := len(b)
	for _, s := range r.secrets {
		for k := min(len(s)-1, len(b)); k > len(b)-from; k-- {
			if bytes.HasSuffix(b, s[:k]) {
				from = len(b) - k
				break
			}
		}
	}
	return from
}

// text redacts a whole text.
func (r *redactor) text(s string) string {
	one := redactor{secrets: r.secrets, buf: []byte(s)}
	return string(one.Close())
}
