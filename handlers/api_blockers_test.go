package handlers

import (
	"slices"
	"testing"

	"taskyard/task"
)

func TestBlockersOverJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	s.create("pull", `"labels":["ui","api"],"blockedBy":[1]`)
	path := "/api/tasks/2"
	t.Run("create returns blockers and labels", func(t *testing.T) {
		raw := decode[object](s.do("viewer", "GET", path, "").want(200))
		if raw["waitingFor"] != "tasks" || len(raw["blockedBy"].([]any)) != 1 ||
			raw["blockedBy"].([]any)[0] != "1" || raw["labels"].([]any)[0] != "api" {
			t.Fatalf("got %v", raw)
		}
		if raw := decode[object](s.do("viewer", "GET", "/api/tasks/1", "").want(200)); len(raw["blockedBy"].([]any))+
			len(raw["labels"].([]any)) > 0 {
			t.Fatalf("got empty lists in place of absent ones: %v", raw)
		}
	})
	t.Run("IDs are accepted as numbers and as strings", func(t *testing.T) {
		s.create("pull", "")
		a := s.do("operator", "PUT", path+"/blocked-by", `{"taskIds":["3",1]}`).want(200)
		if tk := decode[task.Task](a); !slices.Equal(tk.BlockedBy, []task.ID{1, 3}) || a.Header.Get("ETag") != `"2"` {
			t.Fatalf("got %s", a.Body)
		}
	})
	t.Run("an error names the invalid field", func(t *testing.T) {
		for body, field := range map[string]string{
			`{}`: "taskIds", `{"taskIds":null}`: "taskIds", `{"taskIds":7}`: "taskIds", `{"taskIds":["5a"]}`: "taskIds[0]",
			`{"taskIds":[0]}`: "taskIds[0]", `{"taskIds":[-1]}`: "taskIds[0]", `{"taskIds":[7.5]}`: "taskIds[0]",
			`{"taskIds":[99]}`: "taskIds[0]", `{"taskIds":[],"color":1}`: "color",
		} {
			s.do("operator", "PUT", path+"/blocked-by", body).field(task.CodeInvalidField, field)
		}
		s.do("operator", "POST", "/api/tasks", `{"title":"x","owner":"pull","blockedBy":[99]}`).field(task.CodeInvalidField, "blockedBy[0]")
		s.do("operator", "PUT", "/api/tasks/99/blocked-by", `{"taskIds":[]}`).problem(404, task.CodeTaskNotFound)
	})
	t.Run("a cycle is a conflict that shows its path", func(t *testing.T) {
		p := s.do("operator", "PUT", "/api/tasks/1/blocked-by", `{"taskIds":[2]}`).problem(409, task.CodeDependencyCycle)
		if p.Detail != "Task 1 would wait for itself: 1 → 2 → 1" {
			t.Error(p.Detail)
		}
	})
	t.Run("an agent that owns neither task is refused, and so is a viewer", func(t *testing.T) {
		s.do("agent", "PUT", path+"/blocked-by", `{"taskIds":[]}`).problem(403, task.CodeForbidden)
		s.do("viewer", "PUT", path+"/blocked-by", `{"taskIds":[]}`).problem(403, task.CodeForbidden)
	})
	t.Run("a manual run is refused", func(t *testing.T) {
		s.create("coder", `"blockedBy":[1]`)
		p := s.do("operator", "POST", "/api/tasks/4/run", "").problem(409, task.CodeTaskGated)
		if p.Detail != "Task 4 is blocked by #1" {
			t.Error(p.Detail)
		}
	})
	t.Run("an empty set removes all blockers", func(t *testing.T) {
		raw := decode[object](s.do("pull", "PUT", path+"/blocked-by", `{"taskIds":[]}`).want(200))
		if len(raw["blockedBy"].([]any)) > 0 || raw["waitingFor"] != nil {
			t.Fatalf("got %v", raw)
		}
	})
}

func TestLabelsOverJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", `"labels":["b","a","b"]`)
	s.create("pull", "")
	path := "/api/tasks/1"
	get := func(query string) int {
		return len(decode[struct{ Tasks []task.Task }](s.do("viewer", "GET", "/api/tasks"+query, "").want(200)).Tasks)
	}
	if get("?label=a") != 1 || get("?label=c") != 0 || get("") != 2 {
		t.Error("the filter was ignored")
	}
	if tk := decode[task.Task](s.do("operator", "PATCH", path, `{"labels":["c"]}`).want(200)); !slices.Equal(tk.Labels, []string{"c"}) {
		t.Errorf("got %v", tk.Labels)
	}
	s.do("operator", "PATCH", path, `{"title":"another"}`).want(200)
	if get("?label=c") != 1 {
		t.Error("a patch without labels removed them")
	}
	if raw := decode[object](s.do("operator", "PATCH", path, `{"labels":[]}`).want(200)); len(raw["labels"].([]any)) > 0 {
		t.Errorf("got %v", raw["labels"])
	}
	s.do("operator", "PATCH", path, `{"labels":["x","No"]}`).field(task.CodeInvalidField, "labels[1]")
	s.do("operator", "POST", "/api/tasks", `{"title":"x","owner":"pull","labels":[""]}`).field(task.CodeInvalidField, "labels[0]")
	s.do("viewer", "GET", "/api/tasks?label=No", "").field(task.CodeInvalidField, "label")
}

func TestWhyOverJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.create("pull", "")
	s.create("coder", `"blockedBy":[1]`)
	a := s.do("agent", "GET", "/api/tasks/2/why", "").want(200)
	if got := string(a.Body); got != `{"reasons":[{"code":"blocked","message":"It is blocked by #1, which must be done first.","task":"1"}]}` && got != `{"reasons":[{"code":"blocked","message":"It is blocked by #1, which must be done first.","task":"1"}]}`+"\n" {
		t.Error(got)
	}
	s.do("viewer", "GET", "/api/tasks/9/why", "").problem(404, task.CodeTaskNotFound)
}
