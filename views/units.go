package views

import (
	"fmt"
	"time"
)

// limitSpan writes a limit of seconds: "15m", "90s", "none" for 0.
func limitSpan(seconds int) string {
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

// limitCount writes a limit of tokens or turns: "50k", "none" for 0.
func limitCount(n int) string {
	if n == 0 {
		return "none"
	}
	return Tokens(n)
}

// money writes dollars: "$0.31"; four decimals below a cent.
func money(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return USD(usd)
}

// byteSize writes a size: "512 B", "4.2 MB".
func byteSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/unit, 0
	for f >= unit && i < 3 {
		f /= unit
		i++
	}
	return fmt.Sprintf("%.1f %s", f, []string{"KB", "MB", "GB", "TB"}[i])
}

// took writes how long a job took; jobs often take less than a tenth of a
// second.
func took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	}
	return Dur(d)
}
