package testkit

import (
	"bytes"
	"compress/gzip"
)

// Gzipped returns the size of a text after gzip compression, in bytes.
func Gzipped(text string) int {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer never fails
	_ = w.Close()
	return b.Len()
}
