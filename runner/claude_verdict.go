package runner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"taskyard/task"
)

// system takes what the program says of itself.
func (r *claudeReader) system(l *claudeLine) {
	switch l.Subtype {
	case "init":
		r.lines++
		r.begin(l)
	case "api_retry":
		word := l.word()
		if word != "" {
			r.trouble = word
		}
		if l.ErrorStatus == 401 || l.ErrorStatus == 403 || isAuth(word) {
			r.st.Stop(r.unauthorized(fmt.Sprintf("the model answers %d %s", l.ErrorStatus, word)))
		}
		r.say(EventLog, fmt.Sprintf("The model answers %d %s; attempt %d of %d follows in %.1f s",
			l.ErrorStatus, word, l.Attempt, l.MaxRetries, l.Delay/1000), nil)
	case "compact_boundary":
		r.lines++
		r.say(EventLog, "The program shortened its context.", nil)
	}
}

// begin checks that the program offers no tool that is not listed.
func (r *claudeReader) begin(l *claudeLine) {
	if sessionID.MatchString(l.Session) && l.Session != r.session {
		r.session = l.Session
		if keeper, ok := r.sink.(SessionKeeper); ok {
			keeper.Session(r.session)
		}
	}
	r.say(EventLog, fmt.Sprintf("Session %s, model %s, version %s", l.Session, l.Model, l.Version),
		map[string]any{"session": l.Session, "version": l.Version, "tools": l.Tools})
	for _, s := range l.Servers {
		if s.Name == "taskyard" && s.Status == "failed" {
			r.say(EventLog, "The program cannot reach the server over MCP.", nil)
		}
	}
	for _, tool := range l.Tools {
		if !r.offered(tool) {
			o := failed(task.PhaseProtocol, "It offers the tool "+tool+", which is not on the whitelist ("+
				r.allowed()+"): this program does not keep to --tools")
			o.Permanent = true
			r.st.Stop(o)
			return
		}
	}
}

// take takes the result. The program ends when its stdin does.
func (r *claudeReader) take(res *claudeResult) {
	r.result = res
	r.ended.Store(true)
	go r.link.in.Close() // it may wait for what the program does not read
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
	r.usage.TokensIn = max(r.usage.TokensIn, addCount(0, in))
	r.usage.TokensOut = max(r.usage.TokensOut, addCount(0, out))
	r.usage.CostUSD = math.Min(math.Max(res.CostUSD, 0), 1e9)
	for _, d := range res.Denied {
		if r.denied[cutChars(d.Tool, maxName)] == 0 {
			r.noteDenied(d.Tool)
		}
	}
	r.say(EventUsage, fmt.Sprintf("%d turns, %d tokens in, %d out, %.4f USD", res.Turns, r.usage.TokensIn, r.usage.TokensOut, r.usage.CostUSD),
		map[string]any{"tokensIn": r.usage.TokensIn, "tokensOut": r.usage.TokensOut, "costUsd": r.usage.CostUSD})
}

// end warns of refused calls: an agent may well say that all is done.
func (r *claudeReader) end(*Outcome) {
	if len(r.denied) > 0 {
		r.say(EventLog, "Warning: calls were refused: "+refused(r.denied), nil)
	}
}

// verdict says how the program ended. That it says "success" is not enough.
func (r *claudeReader) verdict(rep report) Outcome {
	res := r.result
	switch {
	case crashed(rep):
		return r.crash(rep)
	case res == nil && rep.Code != 0:
		return failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d", rep.Code)+r.lastWords())
	case res == nil:
		return failed(task.PhaseProtocol, "It ended without a result"+r.lastWords())
	case res.malformed:
		return failed(task.PhaseProtocol, "Its result is malformed")
	case *res.IsError || res.Subtype != "success":
		return r.broken(res)
	case rep.Code != 0:
		return failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d after its result", rep.Code)+r.lastWords())
	}
	summary := strings.TrimSpace(clean(r.red.Text(res.Result)))
	if summary == "" {
		summary = r.said.String(task.MaxSummaryRun)
	}
	if summary == "" {
		return failed(task.PhaseError, "It ended without a result")
	}
	return Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: cutChars(summary, task.MaxSummaryRun)}
}

// broken is the outcome of a result that is an error.
func (r *claudeReader) broken(res *claudeResult) Outcome {
	text := res.Result
	if text == "" {
		text = strings.Join(res.Errors, "; ")
	}
	if text == "" {
		text = res.Subtype
	}
	limits := r.plan.Limits
	switch {
	case res.Subtype == "error_max_turns" || res.Terminal == "max_turns":
		return failed(task.PhaseTurns, fmt.Sprintf("It took %d turns of at most %d", res.Turns, limits.MaxTurns))
	case res.Subtype == "error_max_budget_usd":
		return failed(task.PhaseCost, fmt.Sprintf("It cost %.4f USD of at most %.4f", res.CostUSD, limits.MaxCostUSD))
	case res.Status == 401 || res.Status == 403 || isAuth(r.trouble) || notSignedIn(text):
		return r.unauthorized(text)
	case res.Status == 429 || res.Status == 529 || r.trouble == "rate_limit" || r.trouble == "overloaded":
		return failed(task.PhaseError, "The model refuses for now (rate limit): "+text)
	case res.Terminal == "prompt_too_long":
		return failed(task.PhaseError, "The context of the model is full: "+text)
	case res.Status == 404 || r.trouble == "model_not_found":
		return permanently("The model is not known: " + text)
	}
	return failed(task.PhaseError, "It ended with an error ("+res.Subtype+"): "+text)
}

// isAuth reports whether a word of the program blames the credentials.
func isAuth(word string) bool {
	return slices.Contains([]string{"authentication_failed", "oauth_org_not_allowed"}, word)
}

// notSignedIn knows the sentences of a program without credentials, which has
// no word for it.
func notSignedIn(text string) bool {
	return strings.Contains(text, "Please run /login") || strings.Contains(text, "Invalid API key")
}

func (r *claudeReader) unauthorized(text string) Outcome {
	o := failed(task.PhaseAuth, "The credentials are missing or refused: "+text+
		". Give the runner ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN.")
	o.Permanent = true
	return o
}
