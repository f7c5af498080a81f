package handlers

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/zstd"
)

// The minimum sizes for compression. The first 14 kB fit into one round trip in
// any case, and programs, which rarely have slow connections, get small answers
// sooner without compression.
const (
	pageCompressed = 1 << 10
	apiCompressed  = 14 << 10
)

// compressedTypes are the media types that are compressed. Event streams are
// not: each event must be sent at once.
var compressedTypes = []string{
	"text/html", "text/plain", "text/markdown", "text/csv", "application/json", "application/problem+json",
}

// acceptsGzip reports whether a caller accepts gzip.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if n, err := strconv.ParseFloat(strings.TrimPrefix(q, "q="), 64); strings.EqualFold(name, "gzip") && (err != nil || n > 0) {
			return true
		}
	}
	return false
}

// compress returns a handler that compresses the answers of h for callers that
// accept it. Secrets in pages are masked (formToken), so that the length of an
// answer reveals nothing about them.
func compress(h http.Handler) (http.Handler, error) {
	wrap := func(minSize int) (http.Handler, error) {
		w, err := gzhttp.NewWrapper(gzhttp.MinSize(minSize), gzhttp.ContentTypes(compressedTypes),
			// The next level uses 2.1 MiB per reader, this one 0.9; answers are
			// 8 % larger.
			gzhttp.ZstdCompressionLevel(int(zstd.SpeedFastest)))
		if err != nil {
			return nil, err
		}
		return w(h), nil
	}
	pages, err := wrap(pageCompressed)
	if err != nil {
		return nil, err
	}
	api, err := wrap(apiCompressed)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Accept-Encoding") == "":
			h.ServeHTTP(w, r)
		case isAPI(r.URL.Path) && r.URL.Path != docsPath || isMCP(r.URL.Path):
			api.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	}), nil
}
