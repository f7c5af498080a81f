// Package task holds the nouns of Taskyard and their rules: tasks, steps,
// messages, runs, agents, events and errors. It imports the standard library
// alone, so that every other package may import it.
package task

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ID identifies a task, a run, a message or an event. It is a positive
// integer inside and a decimal string in JSON. Zero means "none".
type ID int64

// String returns the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// JoinIDs writes ids with sep between them.
func JoinIDs(ids []ID, sep string) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	return strings.Join(words, sep)
}

// MarshalText writes the decimal form.
func (id ID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// UnmarshalText reads what ParseID accepts.
func (id *ID) UnmarshalText(b []byte) error {
	v, err := ParseID(string(b))
	*id = v
	return err
}

// ParseID reads a positive decimal integer without sign, leading zeros or
// spaces. "5a", "0", "-1" and "7.5" are errors.
func ParseID(s string) (ID, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || s[0] < '1' || s[0] > '9' {
		return 0, fmt.Errorf("%q is not an id: give a positive whole number such as 5 or \"5\"", s)
	}
	return ID(n), nil
}

// Time is a moment in milliseconds since the Unix epoch, UTC. Zero means
// "never". In JSON it is RFC 3339 with milliseconds.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z"

// TimeFromStd converts t, truncated to milliseconds; the zero time is 0.
func TimeFromStd(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Std returns the moment as a time.Time in UTC; the zero Time gives the zero
// time.Time.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns the duration t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// String returns RFC 3339 with milliseconds, UTC.
func (t Time) String() string { return t.Std().Format(timeLayout) }

// Minute returns the time for the text of an error, which people and agents read.
func (t Time) Minute() string { return t.Std().Format("2006-01-02 15:04 UTC") }

// MarshalText returns RFC 3339 with milliseconds, UTC.
func (t Time) MarshalText() ([]byte, error) { return t.Std().AppendFormat(nil, timeLayout), nil }

// UnmarshalText reads RFC 3339.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("%q is not a time: give RFC 3339 such as 2026-01-31T12:00:00Z", b)
	}
	*t = TimeFromStd(v)
	return nil
}
