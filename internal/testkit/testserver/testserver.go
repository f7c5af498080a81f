// Package testserver provides a server on 127.0.0.1 with its own service. The
// test creates the handler, because it may need the address.
package testserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"taskyard/internal/testkit/testservice"
	"taskyard/service"
	"taskyard/task"
)

// Server is an instance with an address.
type Server struct {
	*testservice.Instance
	URL     string                      // such as http://127.0.0.1:34567
	Client  *http.Client                // follows no redirects
	Callers map[string]service.NewToken // callers with a token, by name

	t      testing.TB
	ln     net.Listener
	mu     sync.Mutex
	tokens map[string]string // created so far, by caller name
}

// New listens on a free port for an instance. Requests wait until Serve is
// called.
func New(t testing.TB, inst *testservice.Instance) *Server {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return &Server{
		Instance: inst, URL: "http://" + ln.Addr().String(), t: t, ln: ln, tokens: map[string]string{},
		Client: &http.Client{
			Transport:     connections,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Addr returns the listening address.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Serve serves until the test ends.
func (s *Server) Serve(srv *http.Server) {
	done := make(chan error, 1)
	go func() { done <- srv.Serve(s.ln) }()
	s.t.Cleanup(func() {
		s.Service.Hub().Close() // ends requests that wait for changes
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := errors.Join(srv.Shutdown(ctx), srv.Close()); err != nil {
			s.t.Error("the server does not stop: ", err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			s.t.Error(err)
		}
	})
}

// Mint creates a token for a caller, which replaces the previous one.
func (s *Server) Mint(caller string, n service.NewToken) task.ID {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mint(caller, n)
}

func (s *Server) mint(caller string, n service.NewToken) task.ID {
	s.t.Helper()
	n.Name = caller
	made, err := s.Service.CreateToken(context.Background(), task.SystemActor, n)
	if err != nil {
		s.t.Fatal(err)
	}
	s.tokens[caller] = made.Secret
	return made.ID
}

// SetToken sets a caller's token that was created elsewhere.
func (s *Server) SetToken(caller, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[caller] = secret
}

// Token returns the token of a caller, created on first use, and "" for a
// caller without one.
func (s *Server) Token(caller string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.Callers[caller]
	if ok && s.tokens[caller] == "" {
		s.mint(caller, n)
	}
	return s.tokens[caller]
}
