package handlers

import (
	"context"
	"crypto/sha256"
	"net/http"

	"github.com/labstack/echo/v4"

	"taskyard/service"
	"taskyard/task"
	"taskyard/views"
)

// maxKey bounds an idempotency key, in bytes.
const maxKey = 200

// withKey returns the request's context with its idempotency key, if it has
// one. The same key with another method, path or body is an error.
func withKey(r *http.Request, a task.Actor, key, body string) context.Context {
	return withIdempotency(r, &service.Idempotency{Caller: a.Name, Key: key}, body)
}

// withFormKey is like withKey, for a form.
func withFormKey(r *http.Request, a task.Actor, key, body string) context.Context {
	return withIdempotency(r, &service.Idempotency{Caller: a.Name, Key: key, Form: true}, body)
}

func withIdempotency(r *http.Request, i *service.Idempotency, body string) context.Context {
	ctx := r.Context()
	if i.Key == "" || len(i.Key) > maxKey {
		return ctx
	}
	h := sha256.New()
	for _, part := range []string{r.Method, r.URL.Path, body} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	i.Request = h.Sum(nil)
	return service.WithIdempotency(ctx, i)
}

// nextKey returns the key for a form that is shown again with an error; a used
// key is not offered again.
func nextKey(c echo.Context, e *task.Error) string {
	if e.Code == task.CodeIdempotencyReuse {
		return views.NewKey()
	}
	return c.FormValue("_key")
}

// formContext returns a context with the idempotency key of the form, so that
// repeated clicks have one effect.
func formContext(c echo.Context) context.Context {
	return withFormKey(c.Request(), actorFrom(c), c.FormValue("_key"), c.Request().PostForm.Encode())
}
