package e2e

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"taskyard/internal/testkit"
)

// response is a complete response to a request.
type response struct {
	status int
	header http.Header
	body   string
}

// newRequest returns a request with a token, unless that is empty, and a JSON body,
// unless that is. It panics if the address is invalid.
func newRequest(ctx context.Context, method, address, token, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if strings.HasSuffix(address, "/mcp") {
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	return req
}

// exchange sends a request and reads the whole response.
func exchange(c *http.Client, req *http.Request) (response, error) {
	res, err := c.Do(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return response{res.StatusCode, res.Header, string(b)}, err
}

// answerTo is exchange for a request that must get a response, with any status.
func answerTo(t testing.TB, c *http.Client, req *http.Request) response {
	t.Helper()
	r, err := exchange(c, req)
	testkit.NoError(t, err)
	return r
}

// requestStatus requests an address, with a token if there is one, and returns the status.
func requestStatus(t testing.TB, address, token string) int {
	t.Helper()
	return answerTo(t, http.DefaultClient, newRequest(t.Context(), http.MethodGet, address, token, "")).status
}

// page reads a page with a token.
func (s *server) page(token, path string) string {
	s.t.Helper()
	r := answerTo(s.t, http.DefaultClient, newRequest(s.t.Context(), http.MethodGet, s.url()+path, token, ""))
	if r.status != http.StatusOK {
		s.t.Fatalf("GET %s: %d", path, r.status)
	}
	return r.body
}
