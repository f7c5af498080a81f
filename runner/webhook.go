package runner

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"taskyard/task"
)

// Webhook hands each run to a receiver by one signed POST (Standard Webhooks).
// The receiver answers 200 with the result, or 202 and works on: it then
// reports over the server's API with the token of the run, which is in the
// body alone. Limits of time hold either way.
type Webhook struct {
	URL          string
	SecretEnv    string                           // name of the variable that holds the signing secret
	AllowPrivate bool                             // loopback and private addresses too
	Callback     string                           // the server's address as the receiver reaches it; "": that of the run
	Pause        func(failures int) time.Duration // before the next try; nil: 1 s, doubled each time
}

var _ Remote = (*Webhook)(nil)

var webhookKind = Kind{
	Name: "webhook", Place: Receiver,
	New: func(s Settings) Runner {
		return &Webhook{URL: s.URL, SecretEnv: s.SecretEnv, AllowPrivate: s.AllowPrivate, Callback: s.Callback}
	},
	Fix: func(Settings) string {
		return "Put the secret into the environment of the server under the name in secret_env, and start it again."
	},
	Capabilities: Probe{Tools: "The receiver is told the agent's tools and not held to them.", Shell: elsewhere, Network: elsewhere},
}

// Remote reports that the receiver works on another machine.
func (w *Webhook) Remote() bool { return true }

const (
	webhookTries  = 5
	webhookAnswer = 1 << 20         // bytes that are read of an answer
	webhookPause  = 5 * time.Minute // at most between two tries, whatever the receiver asks for
	shortSecret   = 24              // bytes that a signing secret has at least
)

// Probe reports whether address and secret are in place; it sends nothing.
func (w *Webhook) Probe(context.Context) Probe {
	p := probeOf("webhook")
	if _, err := w.signer(); err != nil {
		p.Problem = err.Error()
		return p
	}
	p.Installed = true
	return p
}

// signer reads the signing secret. The error names the variable, never its value.
func (w *Webhook) signer() (*standardwebhooks.Webhook, error) {
	secret := os.Getenv(w.SecretEnv)
	if w.SecretEnv == "" || secret == "" {
		return nil, errors.New("no signing secret is set: name a variable that holds one in secret_env")
	}
	s, err := standardwebhooks.NewWebhook(secret)
	if err != nil || len(strings.TrimPrefix(secret, "whsec_")) < shortSecret*4/3 {
		return nil, errors.New("the variable " + w.SecretEnv + " holds no signing secret: whsec_ and at least 24 random bytes in base64")
	}
	return s, nil
}

// webhookBody is the body of the POST.
type webhookBody struct {
	Type      string      `json:"type"` // run.started
	Timestamp time.Time   `json:"timestamp"`
	Data      webhookData `json:"data"`
}

type webhookData struct {
	RunID        task.ID     `json:"runId"`
	TaskID       task.ID     `json:"taskId"`
	Attempt      int         `json:"attempt"`
	Lease        int64       `json:"lease"`
	Agent        string      `json:"agent"`
	Model        string      `json:"model,omitempty"`
	Tools        []string    `json:"tools"`
	SystemPrompt string      `json:"systemPrompt"`
	Prompt       string      `json:"prompt"`
	Limits       task.Limits `json:"limits"`
	URL          string      `json:"url"`   // the server
	Token        string      `json:"token"` // dies with the run
}

func (w *Webhook) payload(spec Spec) ([]byte, error) {
	address := w.Callback
	if address == "" {
		address = spec.URL
	}
	return json.Marshal(webhookBody{Type: "run.started", Timestamp: time.Now().UTC(), Data: webhookData{
		RunID: spec.RunID, TaskID: spec.TaskID, Attempt: spec.Attempt, Lease: spec.Lease, Agent: spec.Plan.Agent, Model: spec.Plan.Model,
		Tools: spec.Plan.Tools, SystemPrompt: spec.Plan.SystemPrompt, Prompt: spec.Plan.Prompt, Limits: spec.Plan.Limits,
		URL: address, Token: spec.Token,
	}})
}

// Run delivers the run and returns when the receiver has answered with a
// result, when a limit is reached, or when the run is ended from outside, as
// by the report of a receiver that works on.
func (w *Webhook) Run(ctx context.Context, spec Spec, sink Sink) (Outcome, error) {
	if ctx.Err() != nil {
		return canceled(context.Cause(ctx)), nil
	}
	signer, err := w.signer()
	if err != nil {
		return permanently(upper(err.Error())), nil
	}
	if u, err := url.Parse(w.URL); err != nil || u.Host == "" {
		return permanently("The address of the webhook cannot be read"), nil
	}
	body, err := w.payload(spec)
	if err != nil {
		return failed(task.PhaseError, "The body of the webhook could not be made"), err
	}
	if err := sink.Started(Process{}); err != nil {
		return failed(task.PhaseError, "The start of the run could not be recorded"), err
	}
	st := newStopper()
	d := &delivery{w: w, signer: signer, body: body, spec: spec, proto: newProtocol(spec, sink, st), clock: newClock(time.Now())}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		watchDelivery(ctx, d, st, done)
	}()
	go d.clock.follow(spec.Waits, done)
	out, ended := d.deliver(inner)
	close(done)
	<-watched
	if why := st.why(); why != nil && !ended {
		out = *why
	}
	d.proto.out.Close()
	out.Usage = d.proto.usage
	return out, nil
}

// watchDelivery stops a delivery when ctx ends or a limit of time is reached. What the
// receiver reports over the API is progress.
func watchDelivery(ctx context.Context, d *delivery, st *stopper, done <-chan struct{}) {
	limits, heartbeats := d.spec.Plan.Limits, d.spec.Heartbeats
	wall, idle := timer(limits.Timeout(), limits.TimeoutSeconds), timer(limits.IdleTimeout(), limits.IdleTimeoutSeconds)
	for {
		select {
		case <-done:
			return
		case <-st.asked:
			return
		case <-heartbeats:
			d.clock.progress()
		case <-ctx.Done():
			st.Stop(canceled(context.Cause(ctx)))
		case <-wall:
			if left, over := d.clock.left(limits.Timeout()); !over {
				wall = time.After(left)
				continue
			}
			st.Stop(failed(task.PhaseTimeout, "It ran longer than its time limit of "+task.ID(limits.TimeoutSeconds).String()+" s"))
		case <-idle:
			left := limits.IdleTimeout() - d.clock.idle()
			if left <= 0 {
				st.Stop(failed(task.PhaseIdle, "The receiver said nothing for "+task.ID(limits.IdleTimeoutSeconds).String()+" s"))
				continue
			}
			idle = time.After(left)
		}
	}
}

// pause is the time before the next try, with up to a quarter of jitter.
func (w *Webhook) pause(failures int) time.Duration {
	if w.Pause != nil {
		return w.Pause(failures)
	}
	d := time.Second << min(failures, 8)
	return d + rand.N(d/4)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
