package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// discardWriter is a response writer that discards its output.
type discardWriter struct {
	head   http.Header
	status int
	body   []byte
}

func (q *discardWriter) Header() http.Header { return q.head }
func (q *discardWriter) WriteHeader(n int)   { q.status = n }
func (q *discardWriter) Write(p []byte) (int, error) {
	q.body = append(q.body, p...)
	return len(p), nil
}

// serveBench serves one request with a token and without a network.
func (s *site) serveBench(b *testing.B, req *http.Request, body string, want int) *discardWriter {
	again := *req
	req = &again
	if body != "" {
		req.Body, req.ContentLength = nopBody{strings.NewReader(body)}, int64(len(body))
	}
	q := &discardWriter{head: http.Header{}}
	s.srv.ServeHTTP(q, req)
	if q.status != want {
		b.Fatalf("got %d: %s", q.status, q.body)
	}
	return q
}

type nopBody struct{ *strings.Reader }

func (nopBody) Close() error { return nil }

func (s *site) benchRequest(b *testing.B, caller, method, path string) *http.Request {
	req := httptest.NewRequest(method, "http://127.0.0.1"+path, nil)
	req.Header.Set("Authorization", "Bearer "+s.host.Token(caller))
	req.Header.Set("Content-Type", "application/json")
	b.ReportAllocs()
	b.ResetTimer()
	return req
}

const benchTask = `{"title":"a task of the bench","description":"some words to read","owner":"pull","start":false}`

func BenchmarkGetTask(b *testing.B) {
	s := newSite(b)
	s.create("pull", `"description":"some words to read"`)
	req := s.benchRequest(b, "pull", "GET", "/api/tasks/1")
	for b.Loop() {
		s.serveBench(b, req, "", 200)
	}
}

func BenchmarkCreate(b *testing.B) {
	s := newSite(b)
	req := s.benchRequest(b, "pull", "POST", "/api/tasks")
	for b.Loop() {
		s.serveBench(b, req, benchTask, 201)
	}
}

// BenchmarkCreateParallel measures requests whose writes share commits.
func BenchmarkCreateParallel(b *testing.B) {
	s := newSite(b)
	req := s.benchRequest(b, "pull", "POST", "/api/tasks")
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			s.serveBench(b, req, benchTask, 201)
		}
	})
}

func BenchmarkClaimParallel(b *testing.B) {
	s := newSite(b)
	s.fillQueue(b, b.N)
	req := s.benchRequest(b, "pull", "POST", "/api/agents/pull/signup")
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if q := s.serveBench(b, req, "{}", 200); len(q.body) < 100 {
				b.Fatalf("got %s", q.body)
			}
		}
	})
}

// fillQueue adds n tasks to the queue of pull.
func (s *site) fillQueue(b *testing.B, n int) {
	a := task.Actor{Name: "user:bench", Role: task.RoleAdmin}
	done := make(chan error)
	for w := range 64 {
		go func() {
			var err error
			for i := w; i < n && err == nil; i += 64 {
				_, err = s.svc.CreateTask(context.Background(), a,
					task.New{Title: "a task of the bench", Description: "some words to read", Owner: "pull", NoStart: true})
			}
			done <- err
		}()
	}
	for range 64 {
		testkit.NoError(b, <-done)
	}
}

// BenchmarkRefuse measures everything that a request passes before a handler,
// without the handler's use of the store.
func BenchmarkRefuse(b *testing.B) {
	s := newSite(b)
	req := s.benchRequest(b, "pull", "GET", "/api/nothing")
	for b.Loop() {
		s.serveBench(b, req, "", 404)
	}
}

// BenchmarkServiceOnly calls the service directly, to be subtracted from the above.
func BenchmarkServiceOnly(b *testing.B) {
	s := newSite(b)
	s.create("pull", `"description":"some words to read"`)
	a := task.Actor{Name: "pull", Role: task.RoleAgent}
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.svc.Task(context.Background(), a, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("authenticate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.svc.Authenticate(context.Background(), s.host.Token("pull"), "127.0.0.1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, err := s.svc.CreateTask(context.Background(), a, task.New{Title: "x", Owner: "pull", NoStart: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("claim", func(b *testing.B) {
		s := newSite(b)
		s.fillQueue(b, b.N)
		b.ReportAllocs()
		b.ResetTimer()
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, err := s.svc.Signup(context.Background(), a, "pull", 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
