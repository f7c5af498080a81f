package handlers

import (
	"net/http"
	"testing"

	"taskyard/task"
)

func TestCreateReturnsTheTaskWithLocationAndETag(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.do("agent", "POST", "/api/tasks",
		`{"title":"x","owner":"pull","description":"d","steps":[{"title":"one"}],"resources":[{"type":"url","value":"https://example.org/","label":"l"}],"start":false}`).want(201)
	tk := decode[task.Task](a)
	if a.Header.Get("Location") != "/api/tasks/"+tk.ID.String() || a.Header.Get("ETag") != `"1"` {
		t.Fatalf("got headers %v", a.Header)
	}
	if tk.CreatedBy != "coder" || tk.Owner != "pull" || len(tk.Steps) != 1 || len(tk.Resources) != 1 ||
		tk.Links[0].URL != "https://example.org/" {
		t.Fatalf("got %s", a.Body)
	}
	raw := decode[object](a)
	if raw["id"] != "1" || raw["threadId"] != "1" || raw["workStatus"] != "idle" {
		t.Fatalf("IDs must be strings: %s", a.Body)
	}
	for _, absent := range []string{"parentTaskId", "waitingFor", "claim", "summary", "archivedAt"} {
		if _, there := raw[absent]; there {
			t.Errorf("%s must be absent, not empty", absent)
		}
	}
	got := s.do("viewer", "GET", a.Header.Get("Location"), "").want(200)
	if string(got.Body) != string(a.Body) {
		t.Errorf("GET returned\n%s\nPOST returned\n%s", got.Body, a.Body)
	}
}

func TestTheListReturnsTasksAgentsAndRunsInFlight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("coder", `"priority":1,"description":"long"`)
	s.create("pull", `"priority":5`)
	s.create("pull", `"status":"draft"`)
	s.claim("pull", "pull")
	type list struct {
		Tasks    []task.Task
		Agents   []agentLine
		InFlight []string
		Next     string
	}
	get := func(query string) list { return decode[list](s.do("viewer", "GET", "/api/tasks"+query, "").want(200)) }
	all := get("")
	if len(all.Tasks) != 3 || all.Tasks[0].ID != 2 || all.Tasks[1].ID != 1 || all.InFlight == nil || all.Next != "" {
		t.Fatalf("got %+v", all)
	}
	if all.Tasks[1].Description != "" || get("?full=true").Tasks[1].Description != "long" {
		t.Error("descriptions must be present only with full")
	}
	for _, l := range all.Agents {
		if l.ID == "pull" && (l.Working != 1 || l.Queued != 0 || l.Status != task.AgentValid) {
			t.Errorf("got %+v", l)
		}
	}
	for query, want := range map[string]int{
		"?owner=pull": 2, "?status=draft": 1, "?workStatus=working": 1, "?workStatus=idle": 1,
		"?q=task": 3, "?q=nothing": 0, "?parent=1": 0, "?owner=nobody": 0,
	} {
		if got := get(query); len(got.Tasks) != want {
			t.Errorf("%s: got %d tasks, want %d", query, len(got.Tasks), want)
		}
	}
	first := get("?limit=2")
	if rest := get("?limit=2&after=" + first.Next); len(first.Tasks) != 2 || len(rest.Tasks) != 1 || rest.Tasks[0].ID != 3 || rest.Next != "" {
		t.Errorf("got pages %+v then %+v", first, rest)
	}
	for query, field := range map[string]string{
		"?limit=0": "limit", "?limit=501": "limit", "?limit=x": "limit", "?status=done": "status", "?after=zzz": "after",
		"?full=maybe": "full", "?parent=0": "parent", "?color=red": "color",
	} {
		s.do("viewer", "GET", "/api/tasks"+query, "").field(task.CodeInvalidField, field)
	}
}

func TestHistoryIsNewestFirstAndPaged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		s.do("operator", "POST", "/api/tasks/"+s.create("pull", "")+"/complete", `{"summary":"did it"}`).want(200)
		s.Forward(1e9)
	}
	c := decode[struct {
		Canceled []string
		Task     task.Task
	}](s.do("operator", "POST", "/api/tasks/"+s.create("pull", "")+"/cancel", `{"reason":"no"}`).want(200))
	if len(c.Canceled) != 1 || c.Task.Status != task.Canceled {
		t.Fatalf("got %+v", c)
	}
	type page struct {
		Tasks []task.Task
		Next  string
	}
	get := func(q string) page { return decode[page](s.do("viewer", "GET", "/api/tasks/history"+q, "").want(200)) }
	first := get("?limit=3")
	if len(first.Tasks) != 3 || first.Tasks[0].ID != 4 || first.Next == "" {
		t.Fatalf("got %+v", first)
	}
	if rest := get("?limit=3&before=" + first.Next); len(rest.Tasks) != 1 || rest.Tasks[0].ID != 1 || rest.Tasks[0].Summary != "did it" {
		t.Fatalf("got %+v", rest)
	}
	if n := len(get("?status=canceled").Tasks); n != 1 {
		t.Errorf("got %d canceled", n)
	}
	if n := len(get("?from=2026-03-02T09:00:01Z&to=2026-03-02T09:00:02Z").Tasks); n != 1 {
		t.Errorf("got %d in that second", n)
	}
	for query, field := range map[string]string{
		"?limit=201": "limit", "?limit=-1": "limit",
		"?status=active": "status", "?from=yesterday": "from", "?before=1": "before",
	} {
		s.do("viewer", "GET", "/api/tasks/history"+query, "").field(task.CodeInvalidField, field)
	}
}

func TestAStaleVersionIsRefusedWithTheCurrentTask(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path := "/api/tasks/" + s.create("pull", "")
	a := s.do("operator", "PATCH", path, `{"title":"first","version":1}`).want(200)
	if a.Header.Get("ETag") != `"2"` {
		t.Fatalf("got ETag %s", a.Header.Get("ETag"))
	}
	for name, again := range map[string]answer{
		"version":  s.do("operator", "PATCH", path, `{"title":"second","version":1}`),
		"If-Match": s.do("operator", "PATCH", path, `{"title":"second"}`, "If-Match", `"1"`),
	} {
		p := again.problem(http.StatusConflict, task.CodeStaleVersion)
		if p.Task == nil || p.Task.Title != "first" || p.Task.Version != 2 {
			t.Errorf("%s: got %s", name, again.Body)
		}
	}
	s.do("operator", "PATCH", path, `{"title":"second"}`, "If-Match", `"2"`).want(200)
	s.do("operator", "PATCH", path, `{"title":"third"}`, "If-Match", `*`).want(200)
	weak := "W/" + s.do("operator", "GET", path, "").Header.Get("ETag") // as from a compressing proxy
	s.do("operator", "PATCH", path, `{"title":"fourth"}`, "If-Match", weak).want(200)
	s.do("operator", "PATCH", path, `{"title":"fifth"}`, "If-Match", weak).problem(409, task.CodeStaleVersion)
	s.do("operator", "PATCH", path, `{"title":"x"}`, "If-Match", `"x"`).field(task.CodeInvalidField, "If-Match")
}

func TestActionsWithAnOptionalBodyWorkWithoutOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, body := range []string{"", "{}", `{"count":1}`} {
		s.create("pull", "")
		a := s.do("pull", "POST", "/api/agents/pull/signup", body).want(200)
		id := "/api/tasks/" + s.firstTaskID(a)
		rest := body
		if body != "" {
			rest = "{}"
		}
		s.do("pull", "POST", id+"/heartbeat", rest).want(200)
		s.do("pull", "POST", id+"/release", rest).want(200)
		s.do("pull", "POST", id+"/run", rest).problem(409, task.CodePullOnly)
		s.do("pull", "POST", id+"/complete", rest).want(200)
	}
	for _, body := range []string{"", "{}", `{"reason":"no"}`} {
		s.do("operator", "POST", "/api/tasks/"+s.create("pull", "")+"/cancel", body).want(200)
	}
	for _, act := range []string{"complete", "cancel", "run", "release", "heartbeat"} {
		s.do("operator", "POST", "/api/tasks/1/"+act, `{"color":1}`).field(task.CodeInvalidField, "color")
		s.do("operator", "POST", "/api/tasks/1/"+act, `[]`).problem(400, task.CodeInvalidJSON)
	}
}

// firstTaskID returns the ID of the one task in the response to a signup.
func (s *site) firstTaskID(a answer) string {
	s.t.Helper()
	got := decode[struct {
		Task  *struct{ ID string }
		Tasks []struct{ ID string }
	}](a)
	if got.Task != nil {
		return got.Task.ID
	}
	if len(got.Tasks) != 1 {
		s.t.Fatalf("there is no task in %s", a.Body)
	}
	return got.Tasks[0].ID
}

func TestAnEmptyQueueIsNotAnError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if a := s.do("pull", "POST", "/api/agents/pull/signup", "").want(200); string(a.Body) != `{"task":null}` {
		t.Errorf("got %s", a.Body)
	}
	if a := s.do("pull", "POST", "/api/agents/pull/signup", `{"count":3}`).want(200); string(a.Body) != `{"tasks":[]}` {
		t.Errorf("got %s", a.Body)
	}
	s.do("pull", "POST", "/api/agents/pull/signup", `{"count":51}`).field(task.CodeInvalidField, "count")
	s.do("pull", "POST", "/api/agents/pull/signup", `{"count":0}`).field(task.CodeInvalidField, "count")
}

func TestStepsSubtasksAndResources(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path := "/api/tasks/" + s.create("coder", `"start":false`)
	s.do("agent", "PUT", path+"/steps", `{"steps":[{"title":"one"},{"title":"two","details":"d"}]}`).want(200)
	s.do("agent", "PUT", path+"/steps", `{}`).field(task.CodeInvalidField, "steps")
	tk := decode[task.Task](s.do("agent", "PATCH", path+"/steps/0", `{"done":true}`).want(200))
	if !tk.Steps[0].Done || tk.Steps[1].Details != "d" {
		t.Fatalf("got %+v", tk.Steps)
	}
	a := s.do("agent", "POST", path+"/steps/1/subtask", `{"title":"below","owner":"pull"}`).want(201)
	sub := decode[task.Task](a)
	if sub.ParentTaskID != 1 || a.Header.Get("Location") != "/api/tasks/"+sub.ID.String() {
		t.Fatalf("got %s", a.Body)
	}
	s.do("agent", "POST", path+"/steps/1/subtask", `{"title":"again"}`).problem(409, task.CodeStepLinked)
	s.do("agent", "PUT", path+"/steps", `{"steps":[]}`).problem(409, task.CodeStepLinked)
	tk = decode[task.Task](s.do("agent", "POST", path+"/steps", `{"title":"last"}`).want(200))
	tk = decode[task.Task](s.do("agent", "POST", path+"/steps", `{"title":"first","index":0}`).want(200))
	if len(tk.Steps) != 4 || tk.Steps[0].Title != "first" || tk.Steps[3].Title != "last" {
		t.Errorf("got plan %+v", tk.Steps)
	}
	s.do("agent", "POST", path+"/steps", `{"title":"x","index":-1}`).field(task.CodeInvalidField, "index")
	s.do("agent", "POST", path+"/steps", `{"title":"","index":0}`).field(task.CodeInvalidField, "title")
	s.do("agent", "PATCH", path+"/steps/1", `{"taskId":"7"}`).field(task.CodeImmutableField, "taskId")
	s.do("agent", "PUT", path+"/steps", `{"steps":[{"title":"a","taskId":"7"}]}`).field(task.CodeImmutableField, "steps[0].taskId")
	s.do("agent", "PATCH", path+"/steps/4", `{"done":true}`).field(task.CodeInvalidField, "index")
	s.do("agent", "PATCH", path+"/steps/-1", `{"done":true}`).field(task.CodeInvalidField, "index")
	s.do("agent", "POST", path+"/resources", `{"type":"file","value":"/etc/hosts"}`).want(201)
	s.do("agent", "POST", path+"/resources", `{"type":"file","value":"etc/hosts"}`).field(task.CodeInvalidField, "value")
	if tk := decode[task.Task](s.do("agent", "DELETE", path+"/resources/0", "").want(200)); len(tk.Resources) != 0 {
		t.Errorf("got %+v", tk.Resources)
	}
	s.do("agent", "DELETE", path+"/resources/0", "").field(task.CodeInvalidField, "index")
}
