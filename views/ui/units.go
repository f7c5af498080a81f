package ui

import (
	"fmt"
	"strings"
	"time"
)

// LimitSpan formats a limit in seconds: "15m", "90s", "none" for 0.
func LimitSpan(seconds int) string {
	switch {
	case seconds == 0:
		return "none"
	case seconds%3600 == 0:
		return fmt.Sprintf("%dh", seconds/3600)
	case seconds%60 == 0:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 120:
		return fmt.Sprintf("%ds", seconds)
	}
	return fmt.Sprintf("%dm %02ds", seconds/60, seconds%60)
}

// LimitCount formats a limit of tokens or turns: "50k", "none" for 0.
func LimitCount(n int) string {
	if n == 0 {
		return "none"
	}
	return Tokens(n)
}

// Money formats dollars: "$0.31"; four decimals below a cent.
func Money(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return USD(usd)
}

// JobDuration formats the duration of a job; jobs often take less than a tenth of a
// second.
func JobDuration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	}
	return Dur(d)
}

// WordCount returns the length of a text in words.
func WordCount(s string) string { return Count(len(strings.Fields(s)), "word", "words") }
