package retryafter

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterIsRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "12", 12 * time.Second},
		{"a date", "Retry-After", "Fri, 02 Jan 2026 03:04:35 GMT", 30 * time.Second},
		{"a date in the past", "Retry-After", "Fri, 02 Jan 2026 03:04:00 GMT", 0},
		{"milliseconds", "Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"nonsense", "Retry-After", "soon", 0},
		{"a negative number", "Retry-After", "-4", 0},
		{"a huge number", "Retry-After", "1e300", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tt.header, tt.value)
			if got := Parse(h, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
