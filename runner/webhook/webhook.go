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

// Runner hands each run to a receiver by one signed POST (Standard Webhooks).
// The receiver answers 200 with the result, or 202 and works on: it then
// reports over the server's API with the token of the run, which is in the
// body alone. Limits of time hold either way.
type Runner struct {
	URL          string
	SecretEnv    string                           // name of the variable that holds the signing secret
	AllowPrivate bool                             // loopback and private addresses too
	Callback     string                           // the server's address as the receiver reaches it; "": that of the run
	Pause        func(failures int) time.Duration // before the next try; nil: 1 s, doubled each time
}

var (
	_ supervise.Remote   = (*Runner)(nil)
	_ supervise.Confiner = (*Runner)(nil)
)

// Capabilities is what is known of the kind, before anything is looked at.
var Capabilities = supervise.Probe{
	Kind: "webhook", Tools: "The receiver receives the list of tools; Taskyard does not enforce it.",
	Shell: enforce.Elsewhere, Network: enforce.Elsewhere,
}

// EnforcementGap says that nothing holds a receiver to its tools.
func (w *Runner) EnforcementGap([]string) (string, bool) {
	return "It hands the run to a receiver, which gets the list of tools; Taskyard does not enforce it.", false
}

// Enforcement says what of a plan is enforced here.
func (w *Runner) Enforcement(task.Spec) enforce.Levels {
	return enforce.Levels{
		Tool: enforce.Every(enforce.No(told)), Files: enforce.No(told), Network: enforce.No(told),
		Time:   enforce.Partly("the run ends here and its token expires; the receiver may work on"),
		Tokens: enforce.Partly("known when it reports its result"), Turns: enforce.No(told),
		Cost: enforce.Partly("known when it reports its result"),
	}
}

// Remote reports that the receiver works on another machine.
func (w *Runner) Remote() bool { return true }

const told = "the receiver is informed, and may ignore it"

const (
	maxTries    = 5
	maxAnswer   = 1 << 20         // bytes that are read of an answer
	maxPause    = 5 * time.Minute // at most between two tries, whatever the receiver asks for
	shortSecret = 24              // bytes that a signing secret has at least
)

// Probe reports whether address and secret are in place; it sends nothing.
func (w *Runner) Probe(context.Context) supervise.Probe {
	p := Capabilities
	if _, err := w.signer(); err != nil {
		p.Problem = err.Error()
		return p
	}
	p.Installed = true
	return p
}

// signer reads the signing secret. The error names the variable, never its value.
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
	Token        string      `json:"token"` // dies with the run
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
// result, when a limit is reached, or when the run is ended from outside, as
// by the report of a receiver that works on.
func (w *Runner) Run(ctx context.Context, spec supervise.Spec, sink supervise.Sink) (supervise.Outcome, error) {
	if ctx.Err() != nil {
		return supervise.Canceled(context.Cause(ctx)), nil
	}
	signer, err := w.signer()
	if err != nil {
		return supervise.Permanent(task.PhaseError, upper(err.Error())), nil
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

// pause is the time before the next try, with up to a quarter of jitter.
func (w *Runner) pause(failures int) time.Duration {
	if w.Pause != nil {
		return w.Pause(failures)
	}
	d := time.Second << min(failures, 8)
	return d + rand.N(d/4)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
