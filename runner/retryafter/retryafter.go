// Package retryafter parses how long a server's response asks to wait.
package retryafter

import (
	"net/http"
	"strconv"
	"time"
)

// Parse returns how long the headers of a response ask to wait, given in
// seconds, milliseconds or as a date; 0 if they do not.
func Parse(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
