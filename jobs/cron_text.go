package jobs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cronText describes a cron line in words, such as "every hour from 6:00 to
// 21:00"; "" if that would not be shorter than the line.
func cronText(line string) string {
	f := strings.Fields(line)
	if len(f) != 5 {
		return ""
	}
	at, single := timeText(f[0], f[1])
	days, ok := dayText(f[2], f[3], f[4])
	switch {
	case at == "" || !ok:
		return ""
	case days == "" && single:
		return "every day " + at
	case days == "":
		return at
	}
	return at + " " + days
}

// timeText describes minute and hour; single reports whether they are specific
// times of day.
func timeText(minute, hour string) (words string, single bool) {
	if every, ok := step(minute); ok {
		words = "every minute"
		if every > 1 {
			words = fmt.Sprintf("every %d minutes", every)
		}
		from, to, ok := span(hour, 23)
		switch {
		case hour == "*":
			return words, false
		case ok:
			return fmt.Sprintf("%s from %d:00 to %d:59", words, from, to), false
		}
		return "", false
	}
	m, err := strconv.Atoi(minute)
	if err != nil || m < 0 || m > 59 {
		return "", false
	}
	past := ""
	if m > 0 {
		past = fmt.Sprintf(" at minute %d", m)
	}
	if every, ok := step(hour); ok {
		if every == 1 {
			return "every hour" + past, false
		}
		return fmt.Sprintf("every %d hours%s", every, past), false
	}
	if from, to, ok := span(hour, 23); ok && strings.Contains(hour, "-") {
		return fmt.Sprintf("every hour from %d:%02d to %d:%02d", from, m, to, m), false
	}
	var times []string
	for _, h := range strings.Split(hour, ",") {
		n, err := strconv.Atoi(h)
		if err != nil || n < 0 || n > 23 {
			return "", false
		}
		times = append(times, fmt.Sprintf("%d:%02d", n, m))
	}
	return "at " + listed(times), true
}

// dayText describes the days, "" for every day; ok is false if they are too
// unusual for a short text.
func dayText(dom, month, dow string) (words string, ok bool) {
	switch {
	case dom == "*" && month == "*" && dow == "*":
		return "", true
	case dom == "*" && month == "*":
		return weekdayText(dow)
	case dow != "*":
		return "", false
	}
	day, err := strconv.Atoi(dom)
	if err != nil {
		return "", false
	}
	if month == "*" {
		return fmt.Sprintf("on day %d of each month", day), true
	}
	m, err := strconv.Atoi(month)
	if err != nil || m < 1 || m > 12 {
		return "", false
	}
	return fmt.Sprintf("on %d %s", day, time.Month(m)), true
}

func weekdayText(dow string) (string, bool) {
	if from, to, ok := span(dow, 7); ok && strings.Contains(dow, "-") {
		return fmt.Sprintf("from %s to %s", time.Weekday(from%7), time.Weekday(to%7)), true
	}
	var days []string
	for _, d := range strings.Split(dow, ",") {
		n, err := strconv.Atoi(d)
		if err != nil || n < 0 || n > 7 {
			return "", false
		}
		days = append(days, time.Weekday(n%7).String())
	}
	return "on " + listed(days), true
}

// step parses * and */n.
func step(s string) (n int, ok bool) {
	if s == "*" {
		return 1, true
	}
	rest, ok := strings.CutPrefix(s, "*/")
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n > 0
}

// span parses a number or a range.
func span(s string, most int) (from, to int, ok bool) {
	a, b, ranged := strings.Cut(s, "-")
	if !ranged {
		b = a
	}
	from, err1 := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	return from, to, err1 == nil && err2 == nil && 0 <= from && from <= to && to <= most
}

func listed(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return words[0]
}
