package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskyard/internal/testkit"
)

// knock sends one request with a token and returns its answer.
func knock(t *testing.T, base, token, method, path string, in any) (status int, h http.Header, body []byte) {
	t.Helper()
	var b []byte
	if in != nil {
		var err error
		if b, err = json.Marshal(in); err != nil {
			t.Error(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewReader(b))
	if err != nil {
		t.Error(err)
		return 0, nil, nil
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, nil, nil
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, res.Header, body
}

// TestStory21OneAgentFloodsAndTheOthersWorkOn is one agent that creates tasks,
// notices and comments as fast as it can: queues, inbox and limits of the others are unaffected.
func TestStory21OneAgentFloodsAndTheOthersWorkOn(t *testing.T) {
	t.Parallel()
	// In the short form each flooder stops at some time: refusals cost the tests
	// beside this one as much as they cost the server.
	mayCreate, mayBeRefused := testkit.ByForm(150, math.MaxInt, math.MaxInt), testkit.ByForm(50, math.MaxInt, math.MaxInt)
	rounds, most := 60, time.Second
	if testkit.Thorough() {
		rounds, most = 3000, 250*time.Millisecond
	}
	s := newServer(t, "serve")
	for _, name := range []string{"flooder", "calm"} {
		s.file("agents/"+name+".md", "---\nname: "+name+"\ndescription: Claims its work itself.\ntools: read\n---\nWork.\n")
	}
	s.start()
	person := s.token("--scope", "operate")
	flooder, calm := s.token("--agent", "flooder"), s.token("--agent", "calm")
	create := func(token, owner string) string {
		status, _, body := knock(t, s.url(), token, "POST", "/api/tasks", map[string]any{"title": "A task of " + owner, "owner": owner})
		var created struct{ ID string }
		if err := json.Unmarshal(body, &created); err != nil || status != 201 {
			t.Fatalf("create: %d %s", status, body)
		}
		return created.ID
	}
	flooded := create(person, "flooder")

	var all sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]int{} // of the flood, by path and status
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
				status, h, body := knock(t, s.url(), flooder, "POST", path, in)
				switch {
				case status == http.StatusTooManyRequests:
					refused++
				case i%3 == 0:
					created++
				}
				if status == http.StatusTooManyRequests && (h.Get("Retry-After") == "" || !bytes.Contains(body, []byte("quota_exceeded"))) {
					t.Errorf("%s: %s", path, body)
				}
				if status >= 500 {
					t.Errorf("%s: %d %s", path, status, body)
				}
				mu.Lock()
				answers[fmt.Sprint(path[strings.LastIndex(path, "/")+1:], " ", status)]++
				mu.Unlock()
			}
		})
	}
	var took []time.Duration
	act := func(token, method, path string, in any) []byte {
		start := time.Now()
		status, _, body := knock(t, s.url(), token, method, path, in)
		took = append(took, time.Since(start))
		if status < 200 || status > 299 {
			t.Errorf("%s %s: %d %s", method, path, status, body)
		}
		return body
	}
	asked := ""
	for i := range rounds {
		id := create(person, "calm")
		if got := act(calm, "POST", "/api/agents/calm/signup", map[string]any{}); !bytes.Contains(got, []byte(`"`+id+`"`)) {
			t.Errorf("round %d: the signup gave %s", i, got)
		}
		act(calm, "POST", "/api/tasks/"+id+"/comments", map[string]any{"content": "Under way"})
		if i+1 == rounds {
			act(calm, "POST", "/api/tasks/"+id+"/notify", map[string]any{"message": "Which of both?", "needsReply": true})
			asked = id
			break
		}
		act(calm, "POST", "/api/tasks/"+id+"/complete", map[string]any{"summary": "done"})
	}
	if inbox := act(person, "GET", "/api/inbox", nil); !bytes.Contains(inbox, []byte("Which of both?")) {
		t.Error("the question of the calm agent is not in the inbox")
	}
	testkit.Eventually(t, "the flood meets its limits", func() bool {
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
	if p99 > most {
		t.Errorf("p99 of the others is %s, want at most %s", p99, most)
	}
}
