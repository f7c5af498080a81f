package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answering returns a client of a server that always gives the same response,
// the last request, and its body.
func answering(t *testing.T, status int, contentType, body string) (*Client, *http.Request, *string) {
	t.Helper()
	last, sent := &http.Request{}, new(string)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*last, *sent = *r, string(b)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(web.Close)
	return &Client{URL: web.URL + "/", Token: "ty_secret", HTTP: web.Client()}, last, sent
}

func TestClientSends(t *testing.T) {
	t.Parallel()
	c, last, sent := answering(t, http.StatusCreated, "application/json", `{"id":"7"}`)
	var out struct{ ID string }
	if err := c.Do(t.Context(), "POST", "/api/tasks", map[string]string{"title": "x"}, &out); err != nil || out.ID != "7" {
		t.Fatalf("got %+v, %v", out, err)
	}
	if last.Header.Get("Authorization") != "Bearer ty_secret" || last.Header.Get("Content-Type") != "application/json" ||
		last.URL.Path != "/api/tasks" || *sent != `{"title":"x"}` {
		t.Errorf("sent %s %v %s", last.URL.Path, last.Header, *sent)
	}
	if err := c.Do(t.Context(), "GET", "/api/tasks/7", nil, nil); err != nil || last.Header.Get("Content-Type") != "" || *sent != "" {
		t.Errorf("a read sent %q as %q, %v", *sent, last.Header.Get("Content-Type"), err)
	}
}

func TestClientRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		code   string
		text   string
	}{
		{
			"a problem body has a code and a detail", 409,
			`{"status":409,"title":"Conflict","code":"task_not_working","detail":"Task 7 is not in working status","requestId":"x"}`,
			"task_not_working", "Task 7 is not in working status (409 task_not_working)",
		},
		{
			"fields that are not in the detail are listed below it", 422,
			`{"status":422,"code":"unknown_agent","detail":"unknown agent: zoe","errors":[{"field":"owner","message":"unknown agent: zoe"},{"field":"title","message":"is too long"}]}`,
			"unknown_agent", "unknown agent: zoe (422 unknown_agent)\n  field: owner\n  title: is too long",
		},
		{
			"fields in the detail are not repeated", 422,
			`{"status":422,"code":"invalid_field","detail":"title: must not be blank","errors":[{"field":"title","message":"must not be blank"}]}`,
			"invalid_field", "title: must not be blank (422 invalid_field)",
		},
		{
			"an internal error has its request ID", 500, `{"status":500,"code":"internal","detail":"Internal error","requestId":"R7"}`,
			"internal", "Internal error (500 internal)\n  request R7",
		},
		{
			"a body that is not a problem leaves the status and comes from another program", 418, "<html>teapot</html>", "",
			"I'm a teapot (418)\n  another program than Taskyard answered; check TASKYARD_URL",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, _ := answering(t, tt.status, "application/problem+json", tt.body)
			err := c.Do(t.Context(), "POST", "/x", nil, nil)
			var r *ResponseError
			if !errors.As(err, &r) || r.Status != tt.status || r.Code != tt.code || err.Error() != tt.text || ExitCode(err) != ExitRefused {
				t.Errorf("got %#v %v", r, err)
			}
		})
	}
	t.Run("a bad token comes with the fix", func(t *testing.T) {
		c, _, _ := answering(t, 401, "", "")
		if err := c.Do(t.Context(), "GET", "/x", nil, nil); ExitCode(err) != ExitRefused || !strings.Contains(err.Error(), "TASKYARD_TOKEN") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a gateway error is not a refusal", func(t *testing.T) {
		c, _, _ := answering(t, 502, "text/html", "<html>bad gateway</html>")
		if err := c.Do(t.Context(), "GET", "/x", nil, nil); ExitCode(err) != ExitUnreachable {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a redirect is not followed", func(t *testing.T) {
		c, _, _ := answering(t, 301, "", "")
		c.HTTP = nil
		if err := c.Do(t.Context(), "POST", "/x", nil, nil); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "TASKYARD_URL") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a response that is not JSON is an error, but not a refusal", func(t *testing.T) {
		c, _, _ := answering(t, 200, "text/html", "<html>")
		var out any
		err := c.Do(t.Context(), "GET", "/x", nil, &out)
		var r *ResponseError
		var syntax *json.SyntaxError
		if errors.As(err, &r) || !errors.As(err, &syntax) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an empty response leaves the output unchanged", func(t *testing.T) {
		c, _, _ := answering(t, 204, "", "")
		out := "before"
		if err := c.Do(t.Context(), "DELETE", "/x", nil, &out); err != nil || out != "before" {
			t.Errorf("got %q, %v", out, err)
		}
	})
	t.Run("a missing server is not a refusal", func(t *testing.T) {
		err := (&Client{URL: "http://127.0.0.1:1"}).Do(t.Context(), "GET", "/", nil, nil)
		var r *ResponseError
		if err == nil || errors.As(err, &r) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a canceled call ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c, _, _ := answering(t, 200, "", "")
		if err := c.Do(ctx, "GET", "/", nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an invalid request is not sent", func(t *testing.T) {
		c, last, _ := answering(t, 200, "", "")
		if err := c.Do(t.Context(), "POST", "/x", func() {}, nil); err == nil || last.URL != nil {
			t.Errorf("got %v", err)
		}
		if strings.Contains(c.URL, "secret") {
			t.Error("the token is in the URL")
		}
	})
}
