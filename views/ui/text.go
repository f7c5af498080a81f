package ui

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	"unicode"

	"taskyard/task"
)

// Short returns a duration as one number and unit: 12s, 6m, 2h, 3d.
func Short(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// Dur returns a duration with up to two units: 4.2s, 6m 12s, 3h 05m, 2d 4h.
func Dur(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d/time.Minute), int(d/time.Second)%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d/time.Hour), int(d/time.Minute)%60)
	}
	return fmt.Sprintf("%dd %dh", int(d/(24*time.Hour)), int(d/time.Hour)%24)
}

// Ago returns a time relative to now: "2h ago", or "in 5m" for the future.
func Ago(t, now task.Time) string {
	if t > now {
		return "in " + Short(t.Sub(now))
	}
	return Short(now.Sub(t)) + " ago"
}

// Exact returns a time to the second in UTC, for titles.
func Exact(t task.Time) string { return t.Std().Format("2006-01-02 15:04:05") + " UTC" }

// Count returns a number with the noun in the singular or plural: "1 step", "3 steps".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Tokens returns a shortened number of tokens: 950, 48.1k, 1.2M.
func Tokens(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return strings.Replace(strconv.FormatFloat(float64(n)/1000, 'f', 1, 64), ".0", "", 1) + "k"
	}
	return strings.Replace(strconv.FormatFloat(float64(n)/1_000_000, 'f', 1, 64), ".0", "", 1) + "M"
}

// USD returns an amount of dollars.
func USD(v float64) string { return "$" + strconv.FormatFloat(v, 'f', 2, 64) }

// ActorLabel returns an actor's name for people: maya, coder, Taskyard.
func ActorLabel(actor string) string { return task.ActorLabel(actor) }

// initials returns the one or two letters of an avatar.
func initials(actor string) string {
	out := ""
	for _, r := range ActorLabel(actor) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		if out == "" {
			out = string(unicode.ToUpper(r))
			continue
		}
		return out + string(r)
	}
	return out
}

// hue returns the class of an avatar's color, hue-1 to hue-6, based on a hash
// of the name.
func hue(actor string) string {
	if actor == task.System {
		return "hue-6"
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(actor)) // never fails
	return "hue-" + strconv.Itoa(int(h.Sum32()%6)+1)
}

func avatarClass(actor, size string) string {
	class := "avatar " + hue(actor)
	if size != "" {
		class += " " + size
	}
	if task.IsUserName(actor) {
		class += " round"
	}
	return class
}

// Millis returns a time as stored in data-now.
func Millis(t task.Time) string { return strconv.FormatInt(int64(t), 10) }
