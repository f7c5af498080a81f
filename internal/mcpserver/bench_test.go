package mcpserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"taskyard/task"
)

// fill puts n tasks into the queue of coder.
func (ts *testServer) fill(b *testing.B, n int) {
	done := make(chan error)
	for w := range 64 {
		go func() {
			var err error
			for i := w; i < n && err == nil; i += 64 {
				_, err = ts.Service.CreateTask(context.Background(), maya,
					task.New{Title: "a task of the bench", Description: "some words to read", Owner: "coder", NoStart: true})
			}
			done <- err
		}()
	}
	for range 64 {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// claims makes b.N claims over HTTP with 64 callers.
func claims(b *testing.B, path, body string, with ...func(*http.Request)) {
	ts := newTestServer(b)
	ts.fill(b, b.N)
	ts.Client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			res, err := ts.post(context.Background(), "coder", path, body, with...)
			if err != nil {
				b.Error(err)
				return
			}
			text, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !strings.Contains(string(text), "expiresAt") {
				b.Errorf("%v %s", err, text)
				return
			}
		}
	})
}

// These benchmarks compare what a claim costs over MCP and over the JSON endpoints:
// for clients of the old protocol, of the new one, and for those that only the SDK serves.

func BenchmarkClaimJSON(b *testing.B) { claims(b, "/api/agents/coder/signup", "{}") }

func BenchmarkClaimMCP(b *testing.B) {
	claims(b, "/mcp", rpc(1, "signup_for_task", `{"agent_name":"coder"}`))
}

func BenchmarkClaimMCPNew(b *testing.B) {
	claims(b, "/mcp", newRPC(1, "signup_for_task", `{"agent_name":"coder"}`), newHeaders("signup_for_task"))
}

func BenchmarkClaimMCPOfTheSDK(b *testing.B) {
	claims(b, "/mcp", newRPC(1, "signup_for_task", `{"agent_name":"coder"}`), newHeaders("signup_for_task"), viaSDK)
}
