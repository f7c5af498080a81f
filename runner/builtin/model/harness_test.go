package model

import (
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"taskyard/internal/testkit"
	"taskyard/runner/builtin/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apis are the API formats under test, without retries.
var apis = map[string]func(t *testing.T, s *modeltest.Server) Model{
	"openai": func(t *testing.T, s *modeltest.Server) Model {
		m := newOpenAI(Provider{BaseURL: s.URL + "/v1/", Key: "sk-secret"})
		idle(t)
		return m
	},
	"anthropic": func(t *testing.T, s *modeltest.Server) Model {
		m := newAnthropic(Provider{BaseURL: s.URL + "/v1", Key: "sk-secret"})
		idle(t)
		return m
	},
}

// idle closes the connections that a client keeps open, so that none outlives the
// test.
func idle(t *testing.T) { t.Cleanup(CloseIdle) }

// each runs a test against every format.
func each(t *testing.T, f func(t *testing.T, open func(steps ...modeltest.Step) (Model, *modeltest.Server))) {
	for name, newModel := range apis {
		t.Run(name, func(t *testing.T) {
			f(t, func(steps ...modeltest.Step) (Model, *modeltest.Server) {
				s := modeltest.New(t, steps...)
				return newModel(t, s), s
			})
		})
	}
}

// hello is the smallest request.
var hello = Request{Model: "test-model", Messages: []Message{{Role: User, Text: "Hello"}}}

// turn makes one turn that must succeed, and returns the reply and the streamed
// text.
func turn(t *testing.T, m Model, req Request) (Reply, string) {
	t.Helper()
	said := ""
	r, err := m.Turn(t.Context(), req, func(d Delta) { said += d.Text })
	if err != nil {
		t.Fatalf("the turn failed: %v", err)
	}
	return r, said
}

// fails makes one turn that must fail with an error of this kind.
func fails(t *testing.T, m Model, req Request, kind Kind) *Error {
	t.Helper()
	_, err := m.Turn(t.Context(), req, func(Delta) {})
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got error %#v (%v), want kind %s", err, err, kind)
	}
	return e
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	testkit.NoError(t, err)
	return string(b)
}
