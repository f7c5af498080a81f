package handlers

import (
	"context"
	"crypto/sha256"
	"net/http"

	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
)

// maxKey is how many bytes an idempotency key may have.
const maxKey = 200

// withKey returns the request's context with its idempotency key, if it has
// one. The same key with another method, path or body is refused.
func withKey(r *http.Request, a task.Actor, key, body string) context.Context {
	ctx := r.Context()
	if key == "" || len(key) > maxKey {
		return ctx
	}
	h := sha256.New()
	for _, part := range []string{r.Method, r.URL.Path, body} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return service.WithIdempotency(ctx, &service.Idempotency{Caller: a.Name, Key: key, Request: h.Sum(nil)})
}

// formContext returns a context with the idempotency key of the form, so that a
// triple click is one act.
func formContext(c echo.Context) context.Context {
	return withKey(c.Request(), actorFrom(c), c.FormValue("_key"), c.Request().PostForm.Encode())
}
