package webhook

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

	"taskyard/internal/sleep"
	"taskyard/runner/egress"
	"taskyard/runner/retryafter"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// delivery is the delivery of one run to its receiver.
type delivery struct {
	*supervise.Run
	w      *Runner
	signer *standardwebhooks.Webhook
	body   []byte
}

// answer is the result of one attempt: an outcome, or a reason to retry.
type answer struct {
	end      *supervise.Outcome
	accepted bool          // the receiver continues the work
	again    string        // why a retry may help
	after    time.Duration // delay that the receiver asked for, or 0
}

// client dials only addresses that the guard permits, uses no proxy and follows
// no redirects, because the body contains a token.
func (w *Runner) client() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !w.AllowPrivate {
		dialer.Control = egress.New(ssrf.WithAnyPort()).Safe
	}
	return &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// deliver retries until there is a final answer, or ctx ends.
func (d *delivery) deliver(ctx context.Context) supervise.Outcome {
	hc := d.w.client()
	defer hc.CloseIdleConnections()
	for failures := 0; ; failures++ {
		a := d.post(ctx, hc)
		switch {
		case ctx.Err() != nil:
			return d.Cut(ctx)
		case a.end != nil:
			return *a.end
		case a.accepted:
			d.Note("The receiver took the run over and works on.")
			d.Progress(0)
			<-ctx.Done()
			return d.Cut(ctx)
		case failures+1 >= maxTries:
			return supervise.Failed(task.PhaseError, fmt.Sprintf("No answer after %d tries: %s", maxTries, a.again))
		}
		wait := min(max(d.w.pause(failures), a.after), maxPause)
		d.Note(fmt.Sprintf("Try %d failed: %s. The next one follows in %v.",
			failures+1, a.again, wait.Round(100*time.Millisecond)))
		d.Progress(wait) // we are waiting, not the receiver
		if !sleep.For(ctx, wait) {
			return d.Cut(ctx)
		}
	}
}

// permanently returns an answer after which a retry does not help.
func permanently(phase task.Phase, reason string) answer {
	o := supervise.Permanent(phase, reason)
	return answer{end: &o}
}

// post sends the run once. All attempts have the same ID, so that a receiver
// can recognize repetitions.
func (d *delivery) post(ctx context.Context, hc *http.Client) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.w.URL, bytes.NewReader(d.body))
	if err != nil {
		return permanently(task.PhaseError, "The address of the webhook cannot be used")
	}
	id, now := fmt.Sprintf("run_%d_%d", d.Spec.RunID, d.Spec.Lease), time.Now()
	sig, err := d.signer.Sign(id, now, d.body)
	if err != nil {
		return permanently(task.PhaseError, "The webhook could not be signed")
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
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return answer{again: "the answer broke off"}
	}
	return d.answered(res, b)
}

// unreached handles a connection error. The address is not shown, because it
// may contain a secret.
func (d *delivery) unreached(err error) answer {
	for _, no := range []error{ssrf.ErrProhibitedIP, ssrf.ErrProhibitedNetwork, ssrf.ErrProhibitedPort, ssrf.ErrInvalidHostPort} {
		if errors.Is(err, no) {
			return permanently(task.PhaseError,
				"The webhook leads to a loopback, private or reserved address, which is refused: "+
					"give a public one, or set allow_private = true for this runner")
		}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return answer{again: "the receiver was not reached: " + err.Error()}
}

// answered handles the status of a response.
func (d *delivery) answered(res *http.Response, b []byte) answer {
	answerText := fmt.Sprintf("the receiver answered %d", res.StatusCode)
	if text := strings.TrimSpace(task.CleanText(string(b))); text != "" && res.StatusCode >= http.StatusBadRequest {
		answerText += ": " + task.ClipChars(text, 300)
	}
	switch code := res.StatusCode; {
	case code == http.StatusOK:
		return d.result(b)
	case code == http.StatusAccepted:
		return answer{accepted: true}
	case code < http.StatusMultipleChoices:
		return permanently(task.PhaseProtocol, capitalize(answerText)+": it must be 200 with a result, or 202 to work on")
	case code < http.StatusBadRequest:
		return permanently(task.PhaseError, capitalize(answerText)+", a redirect, which is not followed: give the address that it leads to")
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return answer{again: answerText, after: min(retryafter.Parse(res.Header, time.Now()), time.Hour)}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return permanently(task.PhaseAuth, capitalize(answerText))
	}
	return permanently(task.PhaseError, capitalize(answerText))
}

// result parses the body of a 200: the same as the last line of a command.
func (d *delivery) result(b []byte) answer {
	var fields map[string]json.RawMessage
	if len(b) > maxAnswer || json.Unmarshal(b, &fields) != nil {
		return permanently(task.PhaseProtocol, "The receiver answered 200 without one JSON object of at most 1 MiB: answer 202 to work on")
	}
	d.AddUsage(fields["usage"])
	res := d.ParseResult(fields)
	if res == nil {
		return permanently(task.PhaseProtocol,
			"The receiver answered 200 without a result (summary, success, artifacts): answer 202 to work on")
	}
	out := d.Judge(res)
	return answer{end: &out}
}
