//go:build linux

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"taskyard/internal/testkit"
	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// The signing secret of all receivers, and the variable that contains it.
const (
	hookSecretName = "TEST_HOOK_SECRET"
	hookSecret     = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYq="
)

// receiver starts a server that receives webhooks, and returns a runner that sends to it.
func receiver(t *testing.T, h http.HandlerFunc) *Runner {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return &Runner{
		URL: srv.URL + "/hook", SecretEnv: hookSecretName, AllowPrivate: true,
		Pause: func(int) time.Duration { return time.Millisecond },
	}
}

func hook(t *testing.T, ctx context.Context, w *Runner, spec supervise.Spec) (supervise.Outcome, *runnertest.Recorder) {
	t.Helper()
	r := &runnertest.Recorder{}
	ctx, cancel := context.WithTimeout(ctx, runnertest.Deadline)
	defer cancel()
	out, err := w.Run(ctx, spec, r)
	testkit.NoError(t, err)
	return out, r
}

func hookSpec(t *testing.T) supervise.Spec {
	t.Helper()
	return supervise.Spec{
		RunID: 5, TaskID: 7, Attempt: 1, Lease: 3, URL: "http://127.0.0.1:1", Token: "ty_token-of-this-run", Dir: t.TempDir(),
		Plan: task.Spec{Agent: "coder", SystemPrompt: "You are terse.", Prompt: "Do the work.", Limits: task.Limits{TimeoutSeconds: 50}},
	}
}

func TestAWebhookIsSignedAndItsResponseIsTheResult(t *testing.T) {
	t.Parallel()
	secret, err := standardwebhooks.NewWebhook(hookSecret)
	testkit.NoError(t, err)
	var got payload
	w := receiver(t, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := secret.Verify(body, r.Header); err != nil {
			t.Errorf("signature: %v", err)
		}
		if err := secret.Verify(append(body, ' '), r.Header); err == nil {
			t.Error("another body has the same signature")
		}
		if id := r.Header.Get("webhook-id"); id != "run_5_3" {
			t.Errorf("got webhook-id %q", id)
		}
		if s := fmt.Sprint(r.URL, r.Header); strings.Contains(s, "ty_") {
			t.Errorf("the token is outside the body: %s", s)
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		fmt.Fprint(rw, `{"summary":"made it with ty_token-of-this-run","success":true,"artifacts":["a.md"],"usage":{"tokensIn":3,"tokensOut":4}}`)
	})
	w.Callback = "https://tasks.example.org"
	out, rec := hook(t, t.Context(), w, hookSpec(t))
	runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	if out.Summary != "made it with [redacted]" || len(out.Artifacts) != 1 || out.Usage.Tokens() != 7 {
		t.Errorf("got outcome %+v", out)
	}
	if d := got.Data; got.Type != "run.started" || d.RunID != 5 || d.TaskID != 7 || d.Prompt != "Do the work." ||
		d.URL != w.Callback || d.Token != "ty_token-of-this-run" || d.Limits.TimeoutSeconds != 50 {
		t.Errorf("got body %+v", got)
	}
	for _, e := range rec.Events {
		if strings.Contains(e.Text, "ty_") {
			t.Errorf("the transcript contains the token: %s", e.Text)
		}
	}
}

func TestResponsesOfAWebhook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		code       int
		phase      task.Phase
		reason     string
		permanent  bool
	}{
		{
			"a reported failure may be retried", `{"success":false,"summary":"no disk"}`,
			200, task.PhaseError, "no disk", false,
		},
		{"200 without a result breaks the protocol", `{}`, 200, task.PhaseProtocol, "without a result", true},
		{"200 without JSON breaks the protocol", `fine`, 200, task.PhaseProtocol, "one JSON object", true},
		{"a success that is not a boolean breaks the protocol", `{"success":"yes"}`, 200, task.PhaseProtocol, "true or false", false},
		{"204 breaks the protocol", ``, 204, task.PhaseProtocol, "204", true},
		{"404 is permanent", `no such hook`, 404, task.PhaseError, "404: no such hook", true},
		{"401 is an authentication error", ``, 401, task.PhaseAuth, "401", true},
		{"a permanent 503 fails after five tries", ``, 503, task.PhaseError, "No answer after 5 tries", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int32
			w := receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				rw.WriteHeader(c.code)
				fmt.Fprint(rw, c.body)
			})
			out, _ := hook(t, t.Context(), w, hookSpec(t))
			runnertest.WantState(t, out, task.RunFailed, c.phase, c.reason)
			if out.Permanent != c.permanent {
				t.Errorf("got permanent %v", out.Permanent)
			}
			if n, want := calls.Load(), map[bool]int32{true: 5, false: 1}[c.code == 503]; n != want {
				t.Errorf("got %d calls, want %d", n, want)
			}
		})
	}
}

func TestAWebhookIsRetried(t *testing.T) {
	t.Parallel()
	for _, code := range []int{408, 429, 500, 502} {
		t.Run(fmt.Sprintf("after %d, with the same ID", code), func(t *testing.T) {
			ids := make(chan string, 2)
			w := receiver(t, func(rw http.ResponseWriter, r *http.Request) {
				ids <- r.Header.Get("webhook-id")
				if len(ids) < 2 {
					rw.WriteHeader(code)
					return
				}
				fmt.Fprint(rw, `{"summary":"ok"}`)
			})
			out, _ := hook(t, t.Context(), w, hookSpec(t))
			runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
			if a, b := <-ids, <-ids; a != b {
				t.Errorf("got the IDs %s and %s", a, b)
			}
		})
	}
	t.Run("not before Retry-After has passed", func(t *testing.T) {
		var at [2]time.Time
		n := 0
		w := receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
			at[n] = time.Now()
			if n++; n == 1 {
				rw.Header().Set("Retry-After", "1")
				rw.WriteHeader(429)
				return
			}
			fmt.Fprint(rw, `{"summary":"ok"}`)
		})
		hook(t, t.Context(), w, hookSpec(t))
		if d := at[1].Sub(at[0]); d < time.Second {
			t.Errorf("the second try came after %v", d)
		}
	})
	t.Run("a Retry-After longer than the idle timeout does not count as idle", func(t *testing.T) {
		n := 0
		w := receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
			if n++; n == 1 {
				rw.Header().Set("Retry-After", "2")
				rw.WriteHeader(503)
				return
			}
			fmt.Fprint(rw, `{"summary":"ok"}`)
		})
		spec := hookSpec(t)
		spec.Plan.Limits.IdleTimeoutSeconds = 1
		out, _ := hook(t, t.Context(), w, spec)
		runnertest.WantState(t, out, task.RunCompleted, task.PhaseEnded, "")
	})
	t.Run("when there is no listener", func(t *testing.T) {
		w := receiver(t, nil)
		w.URL = "http://127.0.0.1:1/?key=hidden"
		out, rec := hook(t, t.Context(), w, hookSpec(t))
		runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "refused")
		if all := out.Reason + strings.Join(rec.Texts(supervise.EventLog), ""); strings.Contains(all, "hidden") {
			t.Errorf("the address is revealed: %s", all)
		}
	})
}

func TestAWebhookRefusesInternalAddresses(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	inner := receiver(t, func(rw http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		fmt.Fprint(rw, `{"summary":"ok"}`)
	})
	port := inner.URL[strings.LastIndexByte(inner.URL, ':'):]
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0",
		"10.0.0.1", "192.168.1.1", "169.254.169.254", "168.63.129.16", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]",
	} {
		t.Run("refuses "+host, func(t *testing.T) {
			w := receiver(t, nil)
			w.URL, w.AllowPrivate = "http://"+host+port, false
			out, _ := hook(t, t.Context(), w, hookSpec(t))
			runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "allow_private")
			if !out.Permanent {
				t.Error("a retry would follow")
			}
		})
	}
	t.Run("follows no redirect", func(t *testing.T) {
		for _, code := range []int{301, 302, 303, 307, 308} {
			w := receiver(t, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, inner.URL, code) })
			out, _ := hook(t, t.Context(), w, hookSpec(t))
			runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "redirect")
		}
	})
	if n := calls.Load(); n != 0 {
		t.Errorf("got %d calls", n)
	}
}

func TestAWebhookWithoutASecretSendsNothing(t *testing.T) {
	for name, secret := range map[string]string{
		"unset": "", "short": "whsec_AAAA",
		"not base64": "whsec_???????????????????????????????????????",
	} {
		t.Run(name, func(t *testing.T) {
			w := receiver(t, func(http.ResponseWriter, *http.Request) { t.Error("the webhook was sent") })
			t.Setenv(hookSecretName, secret)
			if p := w.Probe(t.Context()); p.Installed || p.Problem == "" {
				t.Errorf("got probe %+v", p)
			}
			out, _ := hook(t, t.Context(), w, hookSpec(t))
			runnertest.WantState(t, out, task.RunFailed, task.PhaseError, "secret")
		})
	}
}

func TestAWebhookThatKeepsWorking(t *testing.T) {
	t.Parallel()
	accept := func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusAccepted) }
	t.Run("is ended through the API", func(t *testing.T) {
		w, spec := receiver(t, accept), hookSpec(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &runnertest.Recorder{OnEvent: func(supervise.Event) { cancel(supervise.ErrCanceled) }}
		out, err := w.Run(ctx, spec, r)
		testkit.NoError(t, err)
		runnertest.WantState(t, out, task.RunCanceled, task.PhaseBy, "canceled")
	})
	t.Run("exceeds its time limit although it reports", func(t *testing.T) {
		w, spec := receiver(t, accept), hookSpec(t)
		spec.Plan.Limits = task.Limits{TimeoutSeconds: 1, IdleTimeoutSeconds: 1}
		heartbeats := make(chan struct{})
		spec.Heartbeats = heartbeats
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			for {
				select {
				case heartbeats <- struct{}{}:
				case <-stop:
					return
				}
			}
		}()
		out, _ := hook(t, t.Context(), w, spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseTimeout, "1 s")
	})
	t.Run("is ended when it reports nothing", func(t *testing.T) {
		w, spec := receiver(t, accept), hookSpec(t)
		spec.Plan.Limits.IdleTimeoutSeconds = 1
		out, _ := hook(t, t.Context(), w, spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseIdle, "said nothing for 1 s")
	})
	t.Run("is ended while it delays its response", func(t *testing.T) {
		hold := make(chan struct{})
		w, spec := receiver(t, func(http.ResponseWriter, *http.Request) { <-hold }), hookSpec(t)
		t.Cleanup(func() { close(hold) })
		spec.Plan.Limits.TimeoutSeconds = 1
		out, _ := hook(t, t.Context(), w, spec)
		runnertest.WantState(t, out, task.RunFailed, task.PhaseTimeout, "1 s")
	})
}
