package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/internal/testkit"
)

// sendRequest sends one request with a token and returns its response.
func sendRequest(t *testing.T, base, token, method, path string, in any) response {
	t.Helper()
	body := ""
	if in != nil {
		body = asJSON(in)
	}
	r, err := exchange(http.DefaultClient, newRequest(t.Context(), method, base+path, token, body))
	if err != nil {
		t.Error(err)
	}
	return r
}

// TestStory21AFloodingAgentDoesNotAffectOthers has one agent create tasks, notices and
// comments as fast as it can: queues, inbox and limits of the others are unaffected.
func TestStory21AFloodingAgentDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	// In the short form, each flooder stops after a while: refusals cost concurrent tests
	// as much as they cost the server.
	mayCreate, mayBeRefused := testkit.ByForm(150, math.MaxInt, math.MaxInt), testkit.ByForm(50, math.MaxInt, math.MaxInt)
	rounds, limit := 60, time.Second
	if testkit.Thorough() {
		rounds, limit = 3000, 250*time.Millisecond
	}
	s := newServer(t, "serve")
	for _, name := range []string{"flooder", "calm"} {
		s.file("agents/"+name+".md", "---\nname: "+name+"\ndescription: Claims its work itself.\ntools: read\n---\nWork.\n")
	}
	s.start()
	person := s.token("--scope", "operate")
	flooder, calm := s.token("--agent", "flooder"), s.token("--agent", "calm")
	create := func(token, owner string) string {
		r := sendRequest(t, s.url(), token, "POST", "/api/tasks", map[string]any{"title": "A task of " + owner, "owner": owner})
		var created struct{ ID string }
		if err := json.Unmarshal([]byte(r.body), &created); err != nil || r.status != 201 {
			t.Fatalf("create: got %d %s", r.status, r.body)
		}
		return created.ID
	}
	flooded := create(person, "flooder")

	var all sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]int{} // responses to the flood, by path and status
	done := make(chan struct{})
	for i := range 6 {
		all.Go(func() {
			path, in := "/api/tasks", map[string]any{"title": "More", "owner": "flooder"}
			switch i % 3 {
			case 1:
				path, in = "/api/tasks/"+flooded+"/notify", map[string]any{"message": "Look here"}
			case 2:
				path, in = "/api/tasks/"+flooded+"/comments", map[string]any{"content": strings.Repeat("again ", 1000)}
			}
			created, refused := 0, 0
			for created < mayCreate && refused < mayBeRefused {
				select {
				case <-done:
					return
				default:
				}
				r := sendRequest(t, s.url(), flooder, "POST", path, in)
				switch {
				case r.status == http.StatusTooManyRequests:
					refused++
				case i%3 == 0:
					created++
				}
				if r.status == http.StatusTooManyRequests && (r.header.Get("Retry-After") == "" || !strings.Contains(r.body, "quota_exceeded")) {
					t.Errorf("%s: %s", path, r.body)
				}
				if r.status >= 500 {
					t.Errorf("%s: %d %s", path, r.status, r.body)
				}
				mu.Lock()
				answers[fmt.Sprint(path[strings.LastIndex(path, "/")+1:], " ", r.status)]++
				mu.Unlock()
			}
		})
	}
	var took []time.Duration
	act := func(token, method, path string, in any) string {
		start := time.Now()
		r := sendRequest(t, s.url(), token, method, path, in)
		took = append(took, time.Since(start))
		if r.status < 200 || r.status > 299 {
			t.Errorf("%s %s: %d %s", method, path, r.status, r.body)
		}
		return r.body
	}
	asked := ""
	for i := range rounds {
		id := create(person, "calm")
		if got := act(calm, "POST", "/api/agents/calm/signup", map[string]any{}); !strings.Contains(got, `"`+id+`"`) {
			t.Errorf("round %d: for the signup, got %s", i, got)
		}
		act(calm, "POST", "/api/tasks/"+id+"/comments", map[string]any{"content": "Under way"})
		if i+1 == rounds {
			act(calm, "POST", "/api/tasks/"+id+"/notify", map[string]any{"message": "Which of both?", "needsReply": true})
			asked = id
			break
		}
		act(calm, "POST", "/api/tasks/"+id+"/complete", map[string]any{"summary": "done"})
	}
	if inbox := act(person, "GET", "/api/inbox", nil); !strings.Contains(inbox, "Which of both?") {
		t.Error("the question of the calm agent is not in the inbox")
	}
	testkit.Eventually(t, "the flood reaches its limits", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return answers["notify 429"] > 0 && answers["comments 429"] > 0
	})
	close(done)
	all.Wait()
	act(person, "POST", "/api/tasks/"+asked+"/reply", map[string]any{"content": "The first"})
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("the flood: %v; the others: %d calls, median %s, p99 %s", answers, len(took), took[len(took)/2], p99)
	if p99 > limit {
		t.Errorf("got p99 %s for the others, want at most %s", p99, limit)
	}
}
