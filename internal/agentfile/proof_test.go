package agentfile

import (
	"reflect"
	"strings"
	"testing"

	"taskyard/task"
)

func TestADefinitionNamesProjectsChecksAndReview(t *testing.T) {
	t.Parallel()
	a := parse(t, front("projects: [web, api]", "checks:",
		"  - {name: test, run: \"go test ./...\", timeout: 10m, required: true}",
		"  - name: docs", "    kind: changed", "    glob: docs/**",
		"  - {name: notes, path: NOTES.md}", "  - {name: pr, kind: url, required: yes}", "  - {name: fetch, run: make fetch, network: true}",
		"review: {approvals: 2, from: [maya, reviewer], expires: 72h, standIn: oleg}"))
	wantValid(t, a)
	if want := []string{"web", "api"}; !reflect.DeepEqual(a.Projects, want) {
		t.Errorf("got projects %q", a.Projects)
	}
	want := []task.Check{
		{Name: "test", Kind: task.CheckCommand, Run: "go test ./...", TimeoutSeconds: 600, Required: true},
		{Name: "docs", Kind: task.CheckChanged, Glob: "docs/**"},
		{Name: "notes", Kind: task.CheckFile, Path: "NOTES.md"},
		{Name: "pr", Kind: task.CheckURL, Required: true},
		{Name: "fetch", Kind: task.CheckCommand, Run: "make fetch", Network: true},
	}
	if !reflect.DeepEqual(a.Checks, want) {
		t.Errorf("got checks %+v", a.Checks)
	}
	policy := &task.Review{Approvals: 2, From: []string{"maya", "reviewer"}, ExpiresSeconds: 72 * 3600, StandIn: "oleg"}
	if !reflect.DeepEqual(a.Review, policy) {
		t.Errorf("got review %+v", a.Review)
	}
	for text, want := range map[string]*task.Review{
		"none": nil, "required": {Approvals: 1}, "{from: [maya]}": {Approvals: 1, From: []string{"maya"}},
	} {
		if a := parse(t, front("review: "+text)); !reflect.DeepEqual(a.Review, want) || a.Status != task.AgentValid {
			t.Errorf("review: %s: got %+v, problems %+v", text, a.Review, a.Problems)
		}
	}
}

func TestAWrongCheckOrReviewMakesADefinitionInvalid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		lines   []string
		line    int
		message string
		hint    string
	}{
		{"projects without a key", []string{"projects: []"}, 4, "names no project", "[web, api]"},
		{"an invalid project key", []string{"projects: [web, A B]"}, 4, `"A B" cannot be the key`, "such as web"},
		{"checks that are not a list", []string{"checks: go test"}, 4, "must be a list of checks", "{name: test"},
		{"a check that is text", []string{"checks:", "  - go test"}, 5, "must have keys", "{name: test"},
		{
			"an unknown key of a check",
			[]string{"checks:", "  - name: a", "    run: b", "    require: true"},
			7, `"require" of checks is unknown`, "required",
		},
		{"a duplicate key", []string{"checks:", "  - name: a", "    run: b", "    run: c"}, 7, "appears twice", "Keep one"},
		{"a check without a name", []string{"checks:", "  - run: b"}, 5, "checks: name must be 1 to 32", "{name: test"},
		{"a check without evidence", []string{"checks:", "  - name: a"}, 5, "run must not be blank", "{name: test"},
		{
			"two checks of the same name",
			[]string{"checks:", "  - {name: a, run: b}", "  - {name: a, run: c}"},
			6, `second check is named "a", first on line 5`, "another name",
		},
		{"an unknown kind", []string{"checks:", "  - name: a", "    kind: magic"}, 6, "kind must be command, file", ""},
		{"a path outside the workspace", []string{"checks:", "  - name: a", "    path: ../x"}, 6, "path must be a path below", ""},
		{"a timeout that is too long", []string{"checks:", "  - name: a", "    run: b", "    timeout: 2h"}, 7, "between 1s and 1h, not", "5m"},
		{
			"required is not true or false",
			[]string{"checks:", "  - {name: a, run: b, required: perhaps}"},
			5, "required of checks must be true or false", "",
		},
		{"an unknown policy", []string{"review: maybe"}, 4, `policy "maybe" is unknown`, "none, required"},
		{"a policy as a list", []string{"review: [maya]"}, 4, "must have keys", "none, required"},
		{"an unknown key of a policy", []string{"review:", "  approval: 2"}, 5, `"approval" of review is unknown`, "approvals"},
		{"no approvals", []string{"review:", "  approvals: 0"}, 5, "must be 1 to 10, not", "review: none"},
		{"too many approvals", []string{"review:", "  from: [a]", "  approvals: 11"}, 6, "approvals must be 0 to 10", ""},
		{"a stand-in without an expiry", []string{"review:", "  standIn: oleg"}, 5, "standIn needs expires:", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := parse(t, front(tt.lines...))
			wantProblem(t, a, tt.line, true, tt.message)
			for _, p := range a.Problems {
				if strings.Contains(p.Message, tt.message) && !strings.Contains(p.Hint, tt.hint) {
					t.Errorf("got hint %q", p.Hint)
				}
			}
			if a.Serving {
				t.Error("the agent is served")
			}
		})
	}
}
