package handlers

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

const ownAgent = "---\ndescription: keeps to itself\ntools: read, task\nrunner: script\ncapabilities: [tasks:own]\n---\nKeep to it.\n"

// secret is part of every text that the agent must not see.
const secret = "Zebra"

// ownFamily is a task of an agent with tasks:own, and the related tasks.
type ownFamily struct {
	own, parent, child  task.ID
	sibling, stranger   task.ID
	archived, run, held task.ID // run is running, held has ended
}

// defineOwnAgent defines the agent own and its token.
func (s *site) defineOwnAgent() {
	s.t.Helper()
	if _, err := s.svc.SaveAgent(s.t.Context(), mayaActor, "own", ownAgent, "", false); err != nil {
		s.t.Fatal(err)
	}
	s.host.Mint("own", service.NewToken{Agent: "own"})
}

// family creates tasks; with strangers also tasks of other agents.
func (s *site) family(strangers bool) (f ownFamily) {
	s.t.Helper()
	ctx := s.t.Context()
	ok := func(err error) {
		s.t.Helper()
		s.ok(err)
	}
	steps := func(titles ...string) (list []task.Step) {
		for _, title := range titles {
			list = append(list, task.Step{Title: title})
		}
		return list
	}
	made := func(tk *task.Task, err error) task.ID {
		s.t.Helper()
		ok(err)
		return tk.ID
	}
	other := task.New{
		Title: secret, Description: secret, Owner: "coder", NoStart: true, Steps: steps(secret),
		Resources: []task.Resource{{Type: "url", Value: "https://example.org/" + secret}}, Labels: []string{"striped"},
	}
	link := []task.Resource{{Type: "url", Value: "https://example.org"}}
	if strangers { // first, so that the family has other run IDs
		f.archived = made(s.svc.CreateTask(ctx, mayaActor, other))
		run := func(id task.ID) *service.Start {
			start := s.runTask(id)
			ok(s.svc.AppendTranscript(ctx, start.Run.ID, start.Run.Lease,
				[]task.Message{{Role: task.SpeakerAssistant, Type: "text", Content: secret}}))
			return start
		}
		held := run(f.archived)
		s.endRun(held, secret)
		f.held = held.Run.ID
		_, err := s.svc.CompleteTask(ctx, mayaActor, f.archived, secret, 0)
		ok(err)
		f.stranger = made(s.svc.CreateTask(ctx, mayaActor, other))
		_, err = s.svc.Comment(ctx, mayaActor, f.stranger, secret)
		ok(err)
		_, err = s.svc.Notify(ctx, mayaActor, f.stranger, secret)
		ok(err)
		f.run = run(f.stranger).Run.ID
		_, err = s.svc.Todo(ctx, mayaActor, "coder", "rpush", secret)
		ok(err)
	}
	f.parent = made(s.svc.CreateTask(ctx, mayaActor, task.New{Title: "Parent", Owner: "coder", NoStart: true, Steps: steps("a", "b")}))
	f.own = made(s.svc.CreateSubtask(ctx, mayaActor, f.parent, 0,
		task.New{Title: "Own", Owner: "own", NoStart: true, Steps: steps("a", "b"), Resources: link}))
	f.child = made(s.svc.CreateSubtask(ctx, mayaActor, f.own, 0,
		task.New{Title: "Child", Owner: "coder", NoStart: true, Steps: steps("a"), Resources: link}))
	if strangers {
		f.sibling = made(s.svc.CreateSubtask(ctx, mayaActor, f.parent, 1, other))
	}
	return f
}

// ownBodies are valid bodies of routes, so that no request is refused because of its
// body. ID is replaced by the ID in the path.
var ownBodies = map[string]string{
	"PATCH /api/tasks/:id":                     `{"priority":3}`,
	"PATCH /api/tasks/:id/steps/:index":        `{"done":true}`,
	"PUT /api/tasks/:id/steps":                 `{"steps":[{"title":"x"}]}`,
	"PUT /api/tasks/:id/blocked-by":            `{"taskIds":[]}`,
	"POST /api/tasks/:id/cancel":               `{}`,
	"POST /api/tasks/:id/comments":             `{"content":"x"}`,
	"POST /api/tasks/:id/complete":             `{}`,
	"POST /api/tasks/:id/heartbeat":            `{}`,
	"POST /api/tasks/:id/move":                 `{"currentAgent":"own","newAgent":"coder","comment":"x"}`,
	"POST /api/tasks/:id/notify":               `{"message":"x"}`,
	"POST /api/tasks/:id/release":              `{}`,
	"POST /api/tasks/:id/resources":            `{"type":"url","value":"https://example.org"}`,
	"POST /api/tasks/:id/run":                  ``,
	"POST /api/tasks/:id/steps/:index/subtask": `{"title":"x"}`,
	"POST /api/runs/:id/cancel":                ``,
	"POST /api/runs/:id/messages":              `{"text":"x"}`,
	"POST /api/runs/:id/retry":                 ``,
	"POST /api/delegate/:id/stop":              ``,
	"POST /api/agents/own/complete-and-signup": `{"taskId":ID}`,
	"POST /api/agents/own/reassign":            `{"taskIds":["ID"],"newAgent":"coder","comment":"x"}`,
	"POST /api/tasks":                          `{"title":"x","owner":"own","start":false,"blockedBy":[ID]}`,
	"POST /api/delegate":                       `{"task":"x","agentType":"coder","taskId":ID}`,
}

func ownBody(route string, id task.ID) string {
	return strings.ReplaceAll(ownBodies[route], "ID", id.String())
}

// TestAnAgentRestrictedToItsOwnTasksSeesNoOthers requests every route for objects of
// other agents: no response may reveal anything, and the response of /api must be the
// same as for objects that do not exist.
func TestAnAgentRestrictedToItsOwnTasksSeesNoOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.defineOwnAgent()
	f := s.family(true)
	last, err := s.svc.LastEvent(t.Context())
	s.ok(err)
	seen, cases := 0, 0
	ask := func(caller, route string, id task.ID) (int, string) {
		method, path, _ := strings.Cut(strings.TrimSpace(route), " ")
		rec := s.serve(caller, method, fillPath(path, id.String(), "0"), ownBody(route, id),
			"Sec-Fetch-Site", "same-origin", "Accept", "application/json")
		return rec.Code, rec.Body.String()
	}
	routes := s.routes()
	for route := range ownBodies {
		if !strings.Contains(route, ":") && !slices.Contains(routes, route) {
			routes = append(routes, route)
		}
	}
	for _, route := range routes {
		if strings.HasPrefix(route, "GET /live") || strings.HasSuffix(route, "/logout") || strings.HasPrefix(route, "DELETE /api/agents") {
			continue
		}
		for _, id := range []task.ID{f.stranger, f.sibling, f.archived, f.run, f.held} {
			method, _, _ := strings.Cut(route, " ")
			if method == http.MethodGet {
				if _, body := ask("viewer", route, id); strings.Contains(body, secret) {
					seen++
				}
			}
			cases++
			code, body := ask("own", route, id)
			if strings.Contains(strings.ReplaceAll(body, "q="+secret, ""), secret) {
				t.Errorf("%s of %d reveals a secret: %d %.300s", route, id, code, body)
			}
			if code >= 500 && code != http.StatusServiceUnavailable {
				t.Errorf("%s of %d: got %d %.300s", route, id, code, body)
			}
			aims := strings.Contains(route, " /api/") && (strings.Contains(route, ":id") || strings.Contains(ownBodies[route], "ID"))
			if !aims {
				continue
			}
			none, want := ask("own", route, 999999)
			if code != none || comparableBody(body, id) != comparableBody(want, 999999) {
				t.Errorf("%s of %d differs from a missing object: got %d %.300s, want %d %.300s", route, id, code, body, none, want)
			}
		}
	}
	t.Logf("%d routes, %d cases; a viewer sees the secret %d times", len(routes), cases, seen)
	if seen < 30 {
		t.Errorf("a viewer sees the secret only %d times: the test reaches nothing", seen)
	}
	list, err := s.svc.Events(t.Context(), task.SystemActor, task.EventFilter{After: last, Limit: 500})
	s.ok(err)
	for _, e := range list {
		if e.Kind != task.EvRefused && (e.TaskID != 0 || e.RunID != 0 || e.Agent != "") {
			t.Errorf("the agent changed something: %+v", e)
		}
	}
}

// comparableBody returns a response without the parts that differ between requests
// and without the requested ID.
func comparableBody(body string, id task.ID) string {
	body, _, _ = strings.Cut(body, `"requestId"`)
	return regexp.MustCompile(`\b`+id.String()+`\b`).ReplaceAllString(body, "N")
}

// TestAnAgentRestrictedToItsOwnTasksReachesTheirFamilies requests each use case for
// each member of a family: an own task, its parent and its child. The codes are in this
// order. Parents can only be read, as by every agent.
func TestAnAgentRestrictedToItsOwnTasksReachesTheirFamilies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.defineOwnAgent()
	for route, want := range map[string]string{
		"GET /api/tasks/:id":                       "200 200 200",
		"GET /api/tasks/:id/comments":              "200 200 200",
		"GET /api/tasks/:id/events":                "200 200 200",
		"GET /api/tasks/:id/runs":                  "200 200 200",
		"GET /api/tasks/:id/steps/:index":          "200 200 200",
		"GET /api/tasks/:id/thread":                "200 200 200",
		"GET /api/tasks/:id/why":                   "200 200 200",
		"PATCH /api/tasks/:id":                     "200 403 200",
		"PATCH /api/tasks/:id/steps/:index":        "200 403 200",
		"PUT /api/tasks/:id/steps":                 "409 403 200", // a step is linked
		"PUT /api/tasks/:id/blocked-by":            "200 403 200",
		"POST /api/tasks/:id/cancel":               "200 403 200",
		"POST /api/tasks/:id/comments":             "201 201 201",
		"POST /api/tasks/:id/complete":             "200 403 200",
		"POST /api/tasks/:id/heartbeat":            "409 403 409", // not claimed
		"POST /api/tasks/:id/move":                 "409 409 409", // not claimed
		"POST /api/tasks/:id/notify":               "201 403 201",
		"POST /api/tasks/:id/release":              "409 403 409",
		"POST /api/tasks/:id/resources":            "201 403 201",
		"DELETE /api/tasks/:id/resources/:index":   "200 403 200",
		"POST /api/tasks/:id/run":                  "202 403 202",
		"POST /api/tasks/:id/steps/:index/subtask": "409 403 403", // the step has a subtask; the others are not own tasks
	} {
		var got []string
		for _, of := range []func(ownFamily) task.ID{
			func(f ownFamily) task.ID { return f.own }, func(f ownFamily) task.ID { return f.parent }, func(f ownFamily) task.ID { return f.child },
		} {
			id := of(s.family(false)) // newly created
			method, path, _ := strings.Cut(route, " ")
			rec := s.serve("own", method, fillPath(path, id.String(), "0"), ownBody(route, id))
			got = append(got, fmt.Sprint(rec.Code))
			if strings.Contains(rec.Body.String(), "tasks:own") {
				t.Errorf("%s of %d: got %s", route, id, rec.Body)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s for own, parent, child: got %v, want %s", route, got, want)
		}
	}
}

// TestListsOfAnAgentRestrictedToItsOwnTasks covers routes that are not about one task.
func TestListsOfAnAgentRestrictedToItsOwnTasks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.defineOwnAgent()
	f := s.family(true)
	titles := func(path string) string {
		t.Helper()
		var list []string
		for _, tk := range decode[struct{ Tasks []task.Task }](s.do("own", "GET", path, "").want(200)).Tasks {
			list = append(list, tk.Title)
		}
		return strings.Join(list, " ")
	}
	for path, want := range map[string]string{
		"/api/tasks":                                         "Own",
		"/api/tasks?owner=own":                               "Own",
		"/api/tasks?owner=coder":                             "",
		"/api/tasks?q=" + secret:                             "",
		"/api/tasks?label=striped":                           "",
		"/api/tasks?parent=" + f.own.String():                "Child",
		"/api/tasks?parent=" + f.parent.String():             "Own",
		"/api/tasks?parent=" + f.stranger.String():           "",
		"/api/agents/own/queue":                              "Own",
		"/api/agents/coder/queue":                            "",
		"/api/tasks/history":                                 "",
		"/api/tasks/history?owner=coder":                     "",
		"/api/tasks/history?createdBy=user:maya&q=" + secret: "",
	} {
		if got := titles(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{
		"/api/events", "/api/stats", "/api/usage", "/api/inbox",
		"/live?topics=events", "/live?topics=task:" + f.stranger.String(),
	} {
		if a := s.do("own", "GET", path, ""); a.Status != 403 || !strings.Contains(string(a.Body), "tasks:own") {
			t.Errorf("%s: got %d %s", path, a.Status, a.Body)
		}
	}
	if a := s.do("own", "GET", "/api/events?after=0", "", "Accept", "text/event-stream"); a.Status != 403 ||
		!strings.Contains(string(a.Body), "tasks:own") {
		t.Errorf("event stream: got %d %s", a.Status, a.Body)
	}
	for _, op := range []string{`"list"`, `"count"`, `"lpeek"`, `"rpop"`, `"rpush","item":"x"`} {
		if a := s.do("own", "POST", "/api/agents/coder/todo", `{"operation":`+op+`}`); a.Status != 403 ||
			!strings.Contains(string(a.Body), "tasks:own") {
			t.Errorf("todo list of another agent, %s: got %d %s", op, a.Status, a.Body)
		}
	}
	s.do("own", "POST", "/api/agents/own/todo", `{"operation":"rpush","item":"x"}`).want(200)
	if a := string(s.do("own", "GET", "/api/runs", "").want(200).Body); !strings.Contains(a, `"runs":[]`) {
		t.Errorf("runs: got %s", a)
	}
	if a := string(s.do("own", "GET", "/api/tasks", "").want(200).Body); !strings.Contains(a, `"inFlight":[]`) {
		t.Errorf("tasks with a run: got %s", a)
	}
	t.Run("messages of other agents' runs are hidden", func(t *testing.T) {
		list := decode[struct{ Messages []task.Message }](s.do("viewer", "GET", "/api/runs/"+f.run.String()+"/messages", "").want(200)).Messages
		i := slices.IndexFunc(list, func(m task.Message) bool { return m.Content == secret })
		if i < 0 {
			t.Fatalf("got %+v", list)
		}
		path := "/api/runs/" + f.run.String() + "/messages/" + list[i].ID.String()
		if a := s.do("viewer", "GET", path, "").want(200); !strings.Contains(string(a.Body), secret) {
			t.Errorf("viewer: got %s", a.Body)
		}
		s.do("own", "GET", path, "").problem(404, task.CodeRunNotFound)
	})
	t.Run("the agent claims its own tasks and owns what it creates", func(t *testing.T) {
		if a := string(s.do("own", "POST", "/api/agents/own/signup", "").want(200).Body); !strings.Contains(a, `"title":"Own"`) {
			t.Error(a)
		}
		made := decode[task.Task](s.do("own", "POST", "/api/tasks", `{"title":"For the coder","owner":"coder","start":false}`).want(201))
		s.do("own", "GET", "/api/tasks/"+made.ID.String(), "").want(200)
		s.do("own", "POST", "/api/tasks/"+made.ID.String()+"/cancel", `{}`).want(200)
	})
	t.Run("the agent reads its own runs", func(t *testing.T) {
		g := s.family(false)
		s.do("own", "POST", "/api/tasks/"+g.own.String()+"/run", "").want(202)
		runs := decode[struct{ Runs []runBody }](s.do("own", "GET", "/api/runs", "").want(200)).Runs
		if len(runs) != 1 {
			t.Fatalf("got %+v", runs)
		}
		s.do("own", "GET", "/api/runs/"+runs[0].ID+"/messages", "").want(200)
	})
}
