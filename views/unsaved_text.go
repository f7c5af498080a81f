package views

import (
	"strconv"
	"strings"
)

// unsavedRows is how tall a field for a text is: as tall as the text, within reason.
func unsavedRows(text string) string {
	return strconv.Itoa(min(max(1, strings.Count(text, "\n")+1+len(text)/90), 16))
}
