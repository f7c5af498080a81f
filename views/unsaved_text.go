package views

import (
	"strconv"
	"strings"
)

// unsavedRows returns the height of a field for a text: the height of the text,
// within limits.
func unsavedRows(text string) string {
	return strconv.Itoa(min(max(1, strings.Count(text, "\n")+1+len(text)/90), 16))
}
