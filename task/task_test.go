package task

import (
	"strings"
	"testing"
	"time"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"1", "5", "9223372036854775807"} {
		if id, err := ParseID(good); err != nil || id.String() != good {
			t.Errorf("%q: %v, %v", good, id, err)
		}
	}
	for _, bad := range []string{"", "0", "-1", "+5", "05", "5a", "7.5", " 5", "5 ", "1e3", "٥", "9223372036854775808"} {
		if id, err := ParseID(bad); err == nil || !strings.Contains(err.Error(), "positive whole number") {
			t.Errorf("%q: %v, %v", bad, id, err)
		}
	}
}

func TestTimesAreUTCInMilliseconds(t *testing.T) {
	t.Parallel()
	at := TimeFromStd(time.Date(2026, 1, 31, 13, 0, 0, 1_234_567, time.FixedZone("", 3600)))
	if got := at.String(); got != "2026-01-31T12:00:00.001Z" {
		t.Error(got)
	}
	var back Time
	if err := back.UnmarshalText([]byte(at.String())); err != nil || back != at {
		t.Error(back, err)
	}
	if back.UnmarshalText([]byte("yesterday")) == nil {
		t.Error("yesterday was parsed as a time")
	}
	if !Time(0).Std().IsZero() || TimeFromStd(time.Time{}) != 0 {
		t.Error("a zero time was not formatted and parsed as zero")
	}
}

func TestLimitsAreOnlyTightened(t *testing.T) {
	t.Parallel()
	have := Limits{TimeoutSeconds: 300, MaxTokens: 1000}
	got, err := have.Tighten(Limits{TimeoutSeconds: 60, MaxCostUSD: 0.5})
	if err != nil || got != (Limits{TimeoutSeconds: 60, MaxTokens: 1000, MaxCostUSD: 0.5}) {
		t.Error(got, err)
	}
	for name, wider := range map[string]Limits{
		"timeoutSeconds": {TimeoutSeconds: 301}, "maxTokens": {MaxTokens: 1001}, "maxTurns": {MaxTurns: -1}, "maxCostUsd": {MaxCostUSD: -1},
	} {
		if _, err := have.Tighten(wider); err == nil || !strings.Contains(err.Error(), "limits."+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStatusesOfBothVocabularies(t *testing.T) {
	t.Parallel()
	for _, s := range Statuses {
		if got, work, err := ParseStatus(string(s)); got != s || work != "" || err != nil {
			t.Error(s, got, work, err)
		}
	}
	for _, w := range []WorkStatus{Idle, Working, Complete} {
		if s, got, err := ParseStatus(string(w)); s != "" || got != w || err != nil {
			t.Error(w, s, got, err)
		}
	}
	if _, _, err := ParseStatus("open"); err == nil ||
		!strings.Contains(err.Error(), "draft, active, done, canceled, idle, working, complete") {
		t.Error(err)
	}
}

func TestTheClaimDeterminesTheWorkStatus(t *testing.T) {
	t.Parallel()
	claim := &Claim{ID: 1, Holder: "coder", ExpiresAt: 100}
	for _, c := range []struct {
		name string
		task Task
		now  Time
		want WorkStatus
		wait WaitingFor
	}{
		{"active with a live claim works", Task{Status: Active, Claim: claim}, 99, Working, ""},
		{"a claim ends when it expires", Task{Status: Active, Claim: claim}, 100, Idle, ""},
		{"drafts have none", Task{Status: Draft}, 0, "", ""},
		{"done is complete", Task{Status: Done}, 0, Complete, ""},
		{"canceled has none", Task{Status: Canceled}, 0, "", ""},
		{"a task with an open question waits for the user", Task{Status: Active, QuestionID: 3, OpenRunPhase: PhaseApproval}, 0, Idle, WaitsUser},
		{"a task whose run needs approval waits for it", Task{Status: Active, OpenRunPhase: PhaseApproval}, 0, Idle, WaitsApproval},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.task.Derive(c.now)
			if c.task.WorkStatus != c.want || c.task.WaitingFor != c.wait {
				t.Errorf("got %s, %s", c.task.WorkStatus, c.task.WaitingFor)
			}
		})
	}
}

func TestScopesGrantRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope, agent string
		role         Role
		actAs        bool
	}{
		{"agent:coder", "coder", RoleAgent, false},
		{"read", "", RoleViewer, false},
		{"operate act-as", "", RoleOperator, true},
		{"review", "", RoleReviewer, false},
		{"admin", "", RoleAdmin, false},
		{"act-as", "", RoleOperator, true},
		{"root", "", RoleNone, false},
		{"", "", RoleNone, false},
	} {
		role, agent, actAs := ParseScope(c.scope)
		if role != c.role || agent != c.agent || actAs != c.actAs {
			t.Errorf("%q: got role %s, agent %q, act-as %v", c.scope, role, agent, actAs)
		}
	}
	if Role("root").May(Everyone) || !RoleNone.May(Everyone) {
		t.Error("unknown roles have permissions, or a public permission is denied")
	}
}

func TestEveryErrorCodeIsDocumentedOnce(t *testing.T) {
	t.Parallel()
	seen := map[Code]bool{}
	for _, c := range Codes {
		if c.Doc == "" || seen[c.Code] {
			t.Errorf("%s: documented as %q, more than once: %v", c.Code, c.Doc, seen[c.Code])
		}
		seen[c.Code] = true
	}
}
