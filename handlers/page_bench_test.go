package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"taskyard/task"
)

// BenchmarkQueuesPage renders the board of two busy agents with 25 cards each for a
// signed-in person, without a network.
func BenchmarkQueuesPage(b *testing.B) {
	inst := newSite(b)
	person := inst.maya()
	for i := range 1000 {
		owner := []string{"pull", "planner"}[i%2]
		_, err := inst.svc.CreateTask(b.Context(), mayaActor,
			task.New{Title: fmt.Sprintf("A task of the board, number %d", i), Owner: owner, Priority: i % 10, NoStart: true})
		inst.ok(err)
	}
	person.get("/queues")
	u := person.client.Jar
	req := httptest.NewRequest(http.MethodGet, inst.url+"/queues", http.NoBody)
	for _, c := range u.Cookies(req.URL) {
		req.AddCookie(c)
	}
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		inst.srv.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
