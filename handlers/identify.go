package handlers

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// identify determines the caller: by bearer token, else by session cookie, else
// nobody.
func (s *Server) identify(c echo.Context) error {
	r := c.Request()
	if strings.HasPrefix(r.URL.Path, "/static/") || r.URL.Path == "/healthz" {
		return nil
	}
	if h := r.Header.Get("Authorization"); h != "" {
		secret, ok := strings.CutPrefix(h, "Bearer ")
		if !ok {
			return task.Errorf(task.Unauthorized, task.CodeUnauthorized, "Send the token as: Authorization: Bearer ty_…")
		}
		a, err := s.svc.Authenticate(r.Context(), secret, c.RealIP())
		if err != nil {
			if errorKind(err) == task.Unauthorized {
				s.svc.RefusedBearer(r.Context(), caller(c), secret)
			}
			return err
		}
		setActor(c, a)
		return s.loadEmptySession(c)
	}
	if isMCP(r.URL.Path) {
		return nil // cookies are ignored there
	}
	return s.loadSession(c)
}

// loadEmptySession gives pages that are read with a token an empty session,
// which is never saved. The JSON endpoints use none.
func (s *Server) loadEmptySession(c echo.Context) error {
	r := c.Request()
	if isAPI(r.URL.Path) || isMCP(r.URL.Path) {
		return nil
	}
	ctx, err := s.sessions.Load(r.Context(), "")
	if err != nil {
		return err
	}
	c.SetRequest(r.WithContext(ctx))
	return nil
}

func isAPI(path string) bool { return path == "/api" || strings.HasPrefix(path, "/api/") }

func setActor(c echo.Context, a task.Actor) {
	info := requestInfoFromContext(c.Request().Context())
	a.RequestID = info.id
	info.actor = a
}

// caller returns what is known about someone who is signing in.
func caller(c echo.Context) task.Actor {
	return task.Actor{Addr: c.RealIP(), RequestID: requestIDFromContext(c.Request().Context())}
}

// actorFrom returns the caller; the zero Actor is nobody.
func actorFrom(c echo.Context) task.Actor { return actorIn(c.Request().Context()) }

// actorIn is like actorFrom, for operations, which have only the context.
func actorIn(ctx context.Context) task.Actor { return requestInfoFromContext(ctx).actor }

// sameSite rejects cross-site requests that use a cookie. Browsers report the
// origin of a request; for those that do not, the form token is required.
func (s *Server) sameSite(c echo.Context) error {
	r := c.Request()
	if isMCP(r.URL.Path) {
		return s.mcpOrigin(r)
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return nil
	}
	if r.Header.Get("Authorization") != "" {
		return nil // no browser sends this by itself
	}
	if actorFrom(c).Role == task.RoleNone && isAPI(r.URL.Path) {
		return nil // nobody: without a cookie there is nothing to protect, and authorize rejects the request
	}
	if err := s.origin.Check(r); err != nil {
		return errCrossSite
	}
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" && !s.formTokenGood(c) {
		return errCrossSite
	}
	return nil
}

var errCrossSite = task.Errorf(task.Forbidden, task.CodeCrossSite,
	"The request came from another site, or from a page that was open too long: reload the page and send it again")

// formCookie returns the name of the cookie that form tokens belong to.
func (s *Server) formCookie() string { return s.cookieName("taskyard_form") }

// cookieName returns a cookie's name with the prefix that prevents other hosts
// of the domain, and plain http, from setting it. __Host- requires the path /:
// below a prefix, the cookie has that path instead.
func (s *Server) cookieName(name string) string {
	switch {
	case !s.secure():
		return name
	case s.prefix != "":
		return "__Secure-" + name
	}
	return "__Host-" + name
}

// cookiePath returns the path of all cookies.
func (s *Server) cookiePath() string { return cmp.Or(s.prefix, "/") }

// formToken returns the token for this browser's forms: it matches only the
// nonce in the browser's cookie. It is masked with different bytes in each
// page. If it stayed the same, the lengths of compressed pages would reveal it
// to someone who can insert guesses (BREACH).
func (s *Server) formToken(c echo.Context) string {
	nonce := ""
	if cookie, err := c.Cookie(s.formCookie()); err == nil && len(cookie.Value) >= 20 && len(cookie.Value) <= 64 {
		nonce = cookie.Value
	} else {
		nonce = rand.Text()
		c.SetCookie(&http.Cookie{
			Name: s.formCookie(), Value: nonce, Path: s.cookiePath(), HttpOnly: true,
			SameSite: http.SameSiteStrictMode, Secure: s.secure(),
		})
	}
	token := make([]byte, 2*sha256.Size)
	mask := token[:sha256.Size]
	_, _ = rand.Read(mask) // never fails
	subtle.XORBytes(token[sha256.Size:], mask, s.sign(nonce))
	return base64.RawURLEncoding.EncodeToString(token)
}

// sign returns the token for a nonce, with sha256.Size bytes.
func (s *Server) sign(nonce string) []byte {
	m := hmac.New(sha256.New, s.formKey)
	m.Write([]byte(nonce))
	return m.Sum(nil)
}

func (s *Server) formTokenGood(c echo.Context) bool {
	cookie, err := c.Cookie(s.formCookie())
	if err != nil || !strings.HasPrefix(c.Request().Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return false
	}
	token, err := base64.RawURLEncoding.DecodeString(c.FormValue("_token"))
	if err != nil || len(token) != 2*sha256.Size {
		return false
	}
	plain := make([]byte, sha256.Size)
	subtle.XORBytes(plain, token[:sha256.Size], token[sha256.Size:])
	return hmac.Equal(plain, s.sign(cookie.Value))
}

// secure reports whether cookies are sent only over https.
func (s *Server) secure() bool { return strings.HasPrefix(s.opt.PublicURL, "https://") }

// unencrypted reports whether a request is sent unencrypted over a network,
// where passwords and cookies can be read.
func (s *Server) unencrypted(c echo.Context) bool {
	if s.secure() || c.Request().TLS != nil {
		return false
	}
	host := c.Request().Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback())
}
