package task

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"taskyard/internal/lazyregexp"
)

var secretName = lazyregexp.New(`(?i)KEY|TOKEN|SECRET|PASSWORD`)

// IsSecretName reports whether the value of a variable with this name is a secret.
func IsSecretName(name string) bool { return secretName().MatchString(name) }

// Redacted replaces a secret.
const Redacted = "[redacted]"

// shortSecret is the length in bytes below which the encodings of a secret
// are not looked for: they would be too short to be told from other text.
const shortSecret = 8

// Redactor replaces secrets, in texts and in streams, as they are and in the
// forms that programs write them in: escaped for JSON or for an address, in
// base64 and in hexadecimal. Text is safe for concurrent use. Write and Close
// are for one stream: they keep back the end of what they were given while
// that may be the beginning of a secret, so that none passes in two pieces.
// Memory is bounded by the chunk and the longest secret.
type Redactor struct {
	secrets  [][]byte // in every form, the longest first
	replacer *strings.Replacer
	buf      []byte // not yet decided
	out      []byte // reused from call to call
}

// NewRedactor makes a redactor of some secrets; empty ones are passed over.
func NewRedactor(secrets ...string) *Redactor {
	var all []string
	for _, s := range secrets {
		if s != "" {
			all = append(all, secretForms(s)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	r := &Redactor{}
	var pairs []string
	for _, s := range slices.Compact(all) {
		r.secrets = append(r.secrets, []byte(s))
		pairs = append(pairs, s, Redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// Fresh returns a redactor of the same secrets for another stream.
func (r *Redactor) Fresh() *Redactor { return &Redactor{secrets: r.secrets, replacer: r.replacer} }

// Text redacts a whole text.
func (r *Redactor) Text(s string) string { return r.replacer.Replace(s) }

// Write takes the next bytes of a stream and returns those that are decided,
// redacted. The result is valid until the next call.
func (r *Redactor) Write(b []byte) []byte {
	r.buf = append(r.buf, b...)
	return r.decide(false)
}

// Close returns the bytes that were withheld.
func (r *Redactor) Close() []byte { return r.decide(true) }

// Reset drops the bytes that were withheld.
func (r *Redactor) Reset() { r.buf = r.buf[:0] }

func (r *Redactor) decide(all bool) []byte {
	r.out = r.out[:0]
	pending := r.buf
	for {
		limit := len(pending)
		if !all {
			limit = r.possibleSecretStart(pending)
		}
		at, length := r.find(pending)
		if at < 0 || at >= limit {
			r.out = append(r.out, pending[:limit]...)
			r.buf = r.buf[:copy(r.buf, pending[limit:])]
			return r.out
		}
		r.out = append(append(r.out, pending[:at]...), Redacted...)
		pending = pending[at+length:]
	}
}

// find returns where the first secret begins, and the longest that does.
func (r *Redactor) find(b []byte) (at, length int) {
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

// possibleSecretStart returns where the longest end of b begins that may become a secret.
func (r *Redactor) possibleSecretStart(b []byte) int {
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

// secretForms are the ways in which a secret is written.
func secretForms(s string) []string {
	list := []string{s}
	if len(s) < shortSecret {
		return list
	}
	for _, e := range []string{jsonForm(s, false), jsonForm(s, true), asciiForm(s)} {
		list = append(list, e, strings.ReplaceAll(e, "/", `\/`), jsonForm(e, false)) // the last: JSON in a text of JSON
	}
	list = append(list, url.QueryEscape(s), url.PathEscape(s), hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))))
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		// As it is in a longer text, whose bytes before it shift its letters.
		for shift := range 3 {
			text := enc.EncodeToString(append(make([]byte, shift), s...))
			list = append(list, text[(shift*8+5)/6:(shift+len(s))*8/6])
		}
	}
	return list
}

// jsonForm is a text as it is between the quotes of JSON.
func jsonForm(s string, page bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(page)
	if err := e.Encode(s); err != nil {
		return s
	}
	return string(bytes.TrimSuffix(bytes.TrimSpace(b.Bytes()), []byte{'"'})[1:])
}

// asciiForm is jsonForm with everything beyond ASCII escaped too.
func asciiForm(s string) string {
	var b strings.Builder
	for _, r := range jsonForm(s, false) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
