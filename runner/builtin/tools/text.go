package tools

import (
	"bytes"
	"strconv"
)

// sniff is how many bytes decide whether a file is binary.
const sniff = 8000

// isBinary reports whether a file that begins with b is not text.
func isBinary(b []byte) bool {
	return bytes.IndexByte(b[:min(len(b), sniff)], 0) >= 0
}

// cutMiddle removes the middle of a text that is longer than limit characters.
func cutMiddle(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit/2]) + " … " + string(r[len(r)-limit/2:])
}

// count formats a number with commas: 12,345.
func count[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural returns "1 line", "2 lines".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}

// lineWindow returns at most limit characters of a line from column (counted
// from 1), and the number of characters in the line.
func lineWindow(line string, column, limit int) (shown string, total int) {
	from, to := len(line), len(line)
	for at := range line {
		if total == column-1 {
			from = at
		}
		if total == column-1+limit {
			to = at
		}
		total++
	}
	return line[from:to], total
}
