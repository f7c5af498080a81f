package claude

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// system handles system messages of the program.
func (r *reader) system(l *line) {
	switch l.Subtype {
	case "init":
		r.progressed = true
		r.begin(l)
	case "api_retry":
		word := l.word()
		if word != "" {
			r.modelError = word
		}
		if l.ErrorStatus == 401 || l.ErrorStatus == 403 || isAuth(word) {
			r.Stop(r.unauthorized(fmt.Sprintf("the model answers %d %s", l.ErrorStatus, word)))
		}
		r.Report(supervise.EventLog, fmt.Sprintf("The model answers %d %s; attempt %d of %d follows in %.1f s",
			l.ErrorStatus, word, l.Attempt, l.MaxRetries, l.Delay/1000), nil)
	case "compact_boundary":
		r.progressed = true
		r.Report(supervise.EventLog, "The program shortened its context.", nil)
	}
}

// begin checks that the program offers only tools that are listed.
func (r *reader) begin(l *line) {
	r.KeepSession(l.Session)
	r.listen()
	r.Report(supervise.EventLog, fmt.Sprintf("Session %s, model %s, version %s", l.Session, l.Model, l.Version),
		map[string]any{"session": l.Session, "version": l.Version, "tools": l.Tools})
	for _, s := range l.Servers {
		if s.Name == "taskyard" && s.Status == "failed" {
			r.Report(supervise.EventLog, "The program cannot reach the server over MCP.", nil)
		}
	}
	for _, tool := range l.Tools {
		if !r.isOffered(tool) {
			r.Stop(supervise.Permanent(task.PhaseProtocol, "It offers the tool "+tool+", which is not on the whitelist ("+
				r.allowed()+"): this program does not keep to --tools"))
			return
		}
	}
}

// handleResult handles the result of the messages so far. Once all are answered, stdin
// is closed, which ends the program; one that keeps running is stopped.
func (r *reader) handleResult(res *result) {
	r.result = res
	if last := res.malformed || *res.IsError || !r.hasPendingMessages(res); last {
		r.finish()
		defer func() { r.EndSoon(new(r.Verdict(supervise.Exit{}))) }() // after its denials are known
	}
	if res.malformed {
		return
	}
	in, out := res.Usage.In+res.Usage.Written, res.Usage.Out
	if len(res.ByModel) > 0 {
		in, out = 0, 0
		for _, u := range res.ByModel {
			in, out = in+u.In+u.Written, out+u.Out
		}
	}
	r.Usage.TokensIn = max(r.Usage.TokensIn, supervise.AddTokens(0, in))
	r.Usage.TokensOut = max(r.Usage.TokensOut, supervise.AddTokens(0, out))
	r.Usage.CostUSD = supervise.BoundCost(res.CostUSD)
	for _, d := range res.Denied {
		if r.denied[task.ClipChars(d.Tool, maxName)] == 0 {
			r.noteDenied(d.Tool)
			r.refusal = r.Clean(task.ClipChars(d.Tool, maxName)) + ": the program itself refused it."
		}
	}
	u := r.Usage
	r.Report(supervise.EventUsage, fmt.Sprintf("%d turns, %d tokens in, %d out, %.4f USD", res.Turns, u.TokensIn, u.TokensOut, u.CostUSD),
		map[string]any{"tokensIn": u.TokensIn, "tokensOut": u.TokensOut, "costUsd": u.CostUSD})
}

// End warns about denied calls, because an agent may still claim success.
func (r *reader) End(*supervise.Outcome) {
	if len(r.denied) > 0 {
		r.Report(supervise.EventLog, "Warning: calls were refused: "+refused(r.denied), nil)
	}
}

// Verdict returns how the run ended. The word "success" is not enough. A
// failure after a denied call names that call.
func (r *reader) Verdict(e supervise.Exit) supervise.Outcome {
	res := r.result
	switch {
	case e.Crashed():
		return *r.Abnormal(e)
	case res == nil && e.Code != 0:
		return r.stopped(task.PhaseError, r.Abnormal(e).Reason)
	case res == nil:
		return r.stopped(task.PhaseProtocol, supervise.NoResult+r.LastOutput())
	case res.malformed:
		return supervise.Failed(task.PhaseProtocol, "Its result is malformed")
	case *res.IsError || res.Subtype != "success":
		return r.broken(res)
	case e.Code != 0:
		return r.stopped(task.PhaseError, fmt.Sprintf("It ended with exit code %d after its result", e.Code)+r.LastOutput())
	}
	summary := strings.TrimSpace(r.Clean(res.Result))
	if summary == "" {
		summary = r.LastText()
	}
	if summary == "" {
		return r.stopped(task.PhaseError, supervise.NoResult)
	}
	return supervise.Completed(summary)
}

// stopped returns the outcome of a program that stopped without a reason.
func (r *reader) stopped(phase task.Phase, reason string) supervise.Outcome {
	if r.refusal != "" {
		reason = "The agent stopped after a call was denied: " + r.refusal + " " + reason
	}
	return supervise.Failed(phase, reason)
}

// broken returns the outcome of an error result.
func (r *reader) broken(res *result) supervise.Outcome {
	text := cmp.Or(res.Result, strings.Join(res.Errors, "; "), res.Subtype)
	limits := r.Spec.Plan.Limits
	switch {
	case res.Subtype == "error_max_turns" || res.Terminal == "max_turns":
		return supervise.Failed(task.PhaseTurns, fmt.Sprintf("It took %d turns of at most %d", res.Turns, limits.MaxTurns))
	case res.Subtype == "error_max_budget_usd":
		return supervise.Failed(task.PhaseCost, fmt.Sprintf("It cost %.4f USD of at most %.4f", res.CostUSD, limits.MaxCostUSD))
	case res.Status == 401 || res.Status == 403 || isAuth(r.modelError) || notSignedIn(text):
		return r.unauthorized(text)
	case res.Status == 429 || res.Status == 529 || r.modelError == "rate_limit" || r.modelError == "overloaded":
		return supervise.Failed(task.PhaseError, "The model refuses for now (rate limit): "+text)
	case res.Terminal == "prompt_too_long":
		return supervise.Failed(task.PhaseError, "The context of the model is full: "+text)
	case res.Status == 404 || r.modelError == "model_not_found":
		return supervise.Permanent(task.PhaseError, "The model is not known: "+text)
	}
	text = "It ended with an error (" + res.Subtype + "): " + text
	if res.Status != 0 { // HTTP status of the model
		return supervise.Failed(task.PhaseError, text)
	}
	return r.stopped(task.PhaseError, text)
}

// isAuth reports whether the program's error word is about credentials.
func isAuth(word string) bool {
	return slices.Contains([]string{"authentication_failed", "oauth_org_not_allowed"}, word)
}

// notSignedIn recognizes the messages of a program without credentials, which
// have no error word.
func notSignedIn(text string) bool {
	return strings.Contains(text, "Please run /login") || strings.Contains(text, "Invalid API key")
}

func (r *reader) unauthorized(text string) supervise.Outcome {
	return supervise.Permanent(task.PhaseAuth, "The credentials are missing or refused: "+text+
		". Set secret_env of the runner to ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, a variable of the server.")
}
