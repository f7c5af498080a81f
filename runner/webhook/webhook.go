package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"taskyard/runner/enforce"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// Runner sends each run to a receiver in one signed POST (Standard Webhooks).
// The receiver answers 200 with the result, or 202 and continues: it then
// reports through the server's API with the token of the run, which is only in
// the body. Time limits apply either way.
type Runner struct {
	URL          string
	SecretEnv    string                           // name of the variable that holds the signing secret
	AllowPrivate bool                             // permit loopback and private addresses
	Callback     string                           // the server's URL from the receiver's perspective; "": that of the run
	Pause        func(failures int) time.Duration // before a retry; nil: 1 s, doubled each time
}

var (
	_ supervise.Remote   = (*Runner)(nil)
	_ supervise.Confiner = (*Runner)(nil)
)

// Capabilities is what is known about this kind before any probe.
var Capabilities = supervise.Probe{
	Kind: "webhook", Tools: "The receiver receives the list of tools; Taskyard does not enforce it.",
	Shell: enforce.Elsewhere, Network: enforce.Elsewhere,
}

// EnforcementGap reports that a receiver's tools cannot be restricted.
func (w *Runner) EnforcementGap([]string) (string, bool) {
	return "It hands the run to a receiver, which gets the list of tools; Taskyard does not enforce it.", false
}

// Enforcement returns which parts of a plan are enforced here.
func (w *Runner) Enforcement(task.Spec) enforce.Levels {
	return enforce.Levels{
		Tool: enforce.SameForAll(enforce.No(informedOnly)), Files: enforce.No(informedOnly), Network: enforce.No(informedOnly),
		Time:   enforce.Partly("the run ends here and its token expires; the receiver may work on"),
		Tokens: enforce.Partly("known when it reports its result"), Turns: enforce.No(informedOnly),
		Cost: enforce.Partly("known when it reports its result"),
	}
}

// Remote reports that the receiver works on another machine.
func (w *Runner) Remote() bool { return true }

const informedOnly = "the receiver is informed, and may ignore it"

const (
	maxTries    = 5
	maxAnswer   = 1 << 20         // bytes of a response that are read
	maxPause    = 5 * time.Minute // between two attempts, even if the receiver asks for more
	shortSecret = 24              // minimum length of a signing secret in bytes
)

// Probe checks whether URL and secret are configured; it sends nothing.
func (w *Runner) Probe(context.Context) supervise.Probe {
	p := Capabilities
	if _, err := w.signer(); err != nil {
		p.Problem = err.Error()
		return p
	}
	p.Installed = true
	return p
}

// signer returns the signer with the configured secret. Errors name the
// variable, never its value.
func (w *Runner) signer() (*standardwebhooks.Webhook, error) {
	secret := os.Getenv(w.SecretEnv)
	if secret == "" {
		return nil, errors.New("the variable " + w.SecretEnv + ", which secret_env names, is empty: it must hold the signing secret")
	}
	s, err := standardwebhooks.NewWebhook(secret)
	if err != nil || len(strings.TrimPrefix(secret, "whsec_")) < shortSecret*4/3 {
		return nil, errors.New("the variable " + w.SecretEnv + " holds no signing secret: whsec_ and at least 24 random bytes in base64")
	}
	return s, nil
}

// payload is the body of the POST.
type payload struct {
	Type      string      `json:"type"` // run.started
	Timestamp time.Time   `json:"timestamp"`
	Data      payloadData `json:"data"`
}

type payloadData struct {
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
	Token        string      `json:"token"` // expires with the run
}

func (w *Runner) marshal(spec supervise.Spec) ([]byte, error) {
	address := cmp.Or(w.Callback, spec.URL)
	return json.Marshal(payload{Type: "run.started", Timestamp: time.Now().UTC(), Data: payloadData{
		RunID: spec.RunID, TaskID: spec.TaskID, Attempt: spec.Attempt, Lease: spec.Lease, Agent: spec.Plan.Agent, Model: spec.Plan.Model,
		Tools: spec.Plan.Tools, SystemPrompt: spec.Plan.SystemPrompt, Prompt: spec.Plan.Prompt, Limits: spec.Plan.Limits,
		URL: address, Token: spec.Token,
	}})
}

// Run delivers the run and returns when the receiver has answered with a
// result, when a limit is reached, or when the run is ended from outside, such
// as by the report of the receiver.
func (w *Runner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	if ctx.Err() != nil {
		return supervise.Canceled(context.Cause(ctx)), nil
	}
	signer, err := w.signer()
	if err != nil {
		return supervise.Permanent(task.PhaseError, capitalize(err.Error())), nil
	}
	if u, err := url.Parse(w.URL); err != nil || u.Host == "" {
		return supervise.Permanent(task.PhaseError, "The address of the webhook cannot be read"), nil
	}
	body, err := w.marshal(spec)
	if err != nil {
		return supervise.Failed(task.PhaseError, "The body of the webhook could not be made"), err
	}
	d := &delivery{Run: supervise.NewRun(spec, sink), w: w, signer: signer, body: body}
	return d.Watch(ctx, "The receiver said nothing", spec.Heartbeats, d.deliver)
}

// pause returns the delay before a retry, with up to a quarter of jitter.
func (w *Runner) pause(failures int) time.Duration {
	if w.Pause != nil {
		return w.Pause(failures)
	}
	d := time.Second << min(failures, 8)
	return d + rand.N(d/4)
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
