package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"taskyard/runner/model"
	"taskyard/task"
)

// delivery is one run on its way to its receiver.
type delivery struct {
	w      *Webhook
	signer *standardwebhooks.Webhook
	body   []byte
	spec   Spec
	proto  *protocol
	clock  *clock
}

// answer is what one try came to: an outcome, or a reason to try again.
type answer struct {
	end      *Outcome
	accepted bool          // the receiver works on
	again    string        // why another try may help
	after    time.Duration // what the receiver asked for, or 0
}

// client dials addresses that the guard lets pass, uses no proxy and follows
// no redirect: the body holds a token.
func (w *Webhook) client() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !w.AllowPrivate {
		dialer.Control = ssrf.New(ssrf.WithAnyPort()).Safe
	}
	return &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// deliver tries until there is an answer that counts. ended is false when ctx
// ended first.
func (d *delivery) deliver(ctx context.Context) (out Outcome, ended bool) {
	hc := d.w.client()
	defer hc.CloseIdleConnections()
	for failures := 0; ; failures++ {
		a := d.post(ctx, hc)
		switch {
		case ctx.Err() != nil:
			return Outcome{}, false
		case a.end != nil:
			return *a.end, true
		case a.accepted:
			d.proto.out.note("The receiver took the run over and works on.")
			d.clock.progress()
			<-ctx.Done()
			return Outcome{}, false
		case failures+1 >= webhookTries:
			return d.failed(task.PhaseError, fmt.Sprintf("No answer after %d tries: %s", webhookTries, a.again)), true
		}
		wait := min(max(d.w.pause(failures), a.after), webhookPause)
		d.proto.out.note(d.proto.red.Text(fmt.Sprintf("Try %d failed: %s. The next one follows in %v.",
			failures+1, a.again, wait.Round(100*time.Millisecond))))
		d.clock.grant(wait) // it is we who wait
		select {
		case <-ctx.Done():
			return Outcome{}, false
		case <-time.After(wait):
		}
	}
}

func (d *delivery) failed(phase task.Phase, reason string) Outcome {
	return failed(phase, clean(d.proto.red.Text(reason)))
}

func (d *delivery) permanently(phase task.Phase, reason string) answer {
	o := d.failed(phase, reason)
	o.Permanent = true
	return answer{end: &o}
}

// post sends the run once. Every try has the same id, so that a receiver that
// got it before knows it.
func (d *delivery) post(ctx context.Context, hc *http.Client) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.w.URL, bytes.NewReader(d.body))
	if err != nil {
		return d.permanently(task.PhaseError, "The address of the webhook cannot be used")
	}
	id, now := fmt.Sprintf("run_%d_%d", d.spec.RunID, d.spec.Lease), time.Now()
	sig, err := d.signer.Sign(id, now, d.body)
	if err != nil {
		return d.permanently(task.PhaseError, "The webhook could not be signed")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Taskyard")
	req.Header.Set(standardwebhooks.HeaderWebhookID, id)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, sig)
	res, err := hc.Do(req)
	if err != nil {
		return d.unreached(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, webhookAnswer+1))
	if err != nil {
		return answer{again: "the answer broke off"}
	}
	return d.answered(res, b)
}

// unreached reads an error of the connection. The address itself is not
// shown: it may hold a secret.
func (d *delivery) unreached(err error) answer {
	for _, no := range []error{ssrf.ErrProhibitedIP, ssrf.ErrProhibitedNetwork, ssrf.ErrProhibitedPort, ssrf.ErrInvalidHostPort} {
		if errors.Is(err, no) {
			return d.permanently(task.PhaseError,
				"The webhook leads to a loopback, private or reserved address, which is refused: "+
					"give a public one, or set allow_private = true for this runner")
		}
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return answer{again: "the receiver was not reached: " + err.Error()}
}

// answered reads the status of an answer.
func (d *delivery) answered(res *http.Response, b []byte) answer {
	said := fmt.Sprintf("the receiver answered %d", res.StatusCode)
	if text := strings.TrimSpace(clean(string(b))); text != "" && res.StatusCode >= http.StatusBadRequest {
		said += ": " + cutChars(text, 300)
	}
	switch code := res.StatusCode; {
	case code == http.StatusOK:
		return d.result(b)
	case code == http.StatusAccepted:
		return answer{accepted: true}
	case code < http.StatusMultipleChoices:
		return d.permanently(task.PhaseProtocol, upper(said)+": it must be 200 with a result, or 202 to work on")
	case code < http.StatusBadRequest:
		return d.permanently(task.PhaseError, upper(said)+", a redirect, which is not followed: give the address that it leads to")
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return answer{again: said, after: min(model.RetryAfter(res.Header, time.Now()), time.Hour)}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return d.permanently(task.PhaseAuth, upper(said))
	}
	return d.permanently(task.PhaseError, upper(said))
}

// result reads the body of a 200: what a command would print as its last line.
func (d *delivery) result(b []byte) answer {
	var fields map[string]json.RawMessage
	if len(b) > webhookAnswer || json.Unmarshal(b, &fields) != nil {
		return d.permanently(task.PhaseProtocol, "The receiver answered 200 without one JSON object of at most 1 MiB: answer 202 to work on")
	}
	d.proto.addUsage(fields["usage"])
	res := d.proto.resultOf(fields)
	var out Outcome
	switch {
	case res == nil:
		return d.permanently(task.PhaseProtocol,
			"The receiver answered 200 without a result (summary, success, artifacts): answer 202 to work on")
	case res.malformed:
		out = failed(task.PhaseProtocol, "Its result is malformed: success must be true or false")
	case res.success != nil && !*res.success:
		out = d.proto.admitted(res)
	default:
		out = d.proto.completed(res)
	}
	return answer{end: &out}
}
