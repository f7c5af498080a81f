package testkit

import (
	"bytes"
	"compress/gzip"
)

// Gzipped returns how many bytes a text takes when it is compressed by gzip.
func Gzipped(text string) int {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer takes everything
	_ = w.Close()
	return b.Len()
}
