package tools

import (
	"fmt"
	"unicode/utf8"

	"taskyard/task"
)

// keepBytes is enough for half of the characters of an output.
const keepBytes = utf8.UTFMax * maxOutput / 2

// output keeps the beginning and the end of a command's output.
type output struct {
	head, tail []byte
	total      int64 // bytes
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	o.total += int64(n)
	if room := keepBytes - len(o.head); room > 0 {
		k := min(room, len(p))
		o.head, p = append(o.head, p[:k]...), p[k:]
	}
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*keepBytes {
		o.tail = o.tail[:copy(o.tail, o.tail[len(o.tail)-keepBytes:])]
	}
	return n, nil
}

// text returns the whole output, or its beginning and end with a note about
// what is missing.
func (o *output) text() string {
	all := o.total == int64(len(o.head)+len(o.tail))
	if all {
		joined := append(append([]byte(nil), o.head...), o.tail...)
		if utf8.RuneCount(joined) <= maxOutput {
			return task.CleanText(string(joined))
		}
		o.tail = joined // the halves may overlap, but what is shown does not
	}
	head, tail := o.head[:firstChars(o.head, maxOutput/2)], o.tail[lastChars(o.tail, maxOutput/2):]
	missing := o.total - int64(len(head)+len(tail))
	return fmt.Sprintf("%s\n[%s bytes are left out here; to get them run the command again with > out.txt 2>&1 and read that file]\n%s",
		task.CleanText(string(head)), count(missing), task.CleanText(string(tail)))
}

// firstChars returns where the first n characters of b end.
func firstChars(b []byte, n int) (end int) {
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return end
}

// lastChars returns where the last n characters of b begin.
func lastChars(b []byte, n int) (begin int) {
	begin = len(b)
	for ; n > 0 && begin > 0; n-- {
		_, size := utf8.DecodeLastRune(b[:begin])
		begin -= size
	}
	return begin
}
