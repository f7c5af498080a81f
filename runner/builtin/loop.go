package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskyard/runner/builtin/model"
	"taskyard/runner/supervise"
	"taskyard/task"
)

const (
	maxHistory = 16 << 20 // bytes of a conversation
	maxReply   = 8192     // tokens of a reply, in a run with a token limit
	maxCuts    = 3        // consecutive replies without calls that were cut at their length limit
	maxChanged = 200      // files that a run lists
)

// What the model receives in addition to its prompts.
const (
	continuePrompt = "Your reply was cut off at the length limit. Continue exactly where it ended."
	summaryPrompt  = "Summarize this work in 2–3 sentences for readers who will see nothing else: what you " +
		"found, which files you changed, what is blocking you. Write only the summary."
)

// modelLoop is one run of the built-in agent.
type modelLoop struct {
	*supervise.Run
	b     *Runner
	model string
	tools *toolset

	history  []model.Message
	restored int // messages in history from earlier runs

	size     int // bytes of history
	sized    int // bytes of history that the model has read or written
	tokens   int // tokens that the model counted for sized
	turns    int
	cuts     int
	files    []string // changed files, in order
	repeats  repeats
	lastText string  // the last text
	summary  *string // summary with which the run completed its own task
	trouble  error   // internal error, for the log
}

func newModelLoop(b *Runner, spec supervise.Spec, sink supervise.Sink, name string) *modelLoop {
	s := &modelLoop{Run: supervise.NewRun(spec, sink), b: b, model: name}
	s.tools = &toolset{agent: spec.Plan.Agent, server: newServerTools(spec)}
	s.restoreHistory(spec.Earlier)
	s.addText(spec.Plan.Prompt)
	return s
}

func (s *modelLoop) remember(m model.Message) {
	s.history = append(s.history, m)
	s.size += m.Size()
}

// run continues the conversation until it ends.
func (s *modelLoop) run(ctx context.Context) supervise.Outcome {
	if err := s.tools.open(ctx, s.Spec.Plan); err != nil {
		if ctx.Err() != nil {
			return s.Cut(ctx)
		}
		return supervise.Failed(task.PhaseError, "The tools of the server could not be listed: "+err.Error())
	}
	for {
		if out := s.limitReached(); out != nil {
			return *out
		}
		messages := s.receiveMessages()
		reply, err := s.turn(ctx)
		if s.restored > 0 && s.turns == 0 && isContextError(err) {
			s.log("The conversation of earlier runs is too long for the model: the run starts without it.")
			s.dropHistory()
			if messages != "" {
				s.addText(messages)
			}
			continue
		}
		if err != nil {
			return s.turnFailure(ctx, err)
		}
		if out := s.handleReply(ctx, reply); out != nil {
			return *out
		}
	}
}

// receiveMessages adds messages that people sent in the meantime to the conversation, and
// returns their text.
func (s *modelLoop) receiveMessages() (text string) {
	if text = strings.Join(s.Messages(), "\n\n"); text != "" {
		s.addText(text)
	}
	return text
}

// limitReached returns the outcome of a limit that is reached before the next model
// call, or nil.
func (s *modelLoop) limitReached() *supervise.Outcome {
	switch l := s.Spec.Plan.Limits; {
	case l.MaxTurns > 0 && s.turns >= l.MaxTurns:
		return new(supervise.Failed(task.PhaseTurns, fmt.Sprintf("It took %d turns of at most %d", s.turns, l.MaxTurns)))
	case l.MaxTokens > 0 && s.Usage.Tokens() >= l.MaxTokens:
		return new(supervise.Failed(task.PhaseTokens, fmt.Sprintf("It used %d tokens of at most %d", s.Usage.Tokens(), l.MaxTokens)))
	case l.MaxCostUSD > 0 && s.Usage.CostUSD >= l.MaxCostUSD:
		return new(supervise.Failed(task.PhaseCost, fmt.Sprintf("It cost %.4f USD of at most %.4f", s.Usage.CostUSD, l.MaxCostUSD)))
	case s.size > maxHistory:
		return new(supervise.Failed(task.PhaseError, fmt.Sprintf("The conversation is longer than %d MiB", maxHistory>>20)))
	}
	return nil
}

// handleReply acts on a reply; nil means that the conversation continues.
func (s *modelLoop) handleReply(ctx context.Context, r model.Reply) *supervise.Outcome {
	text := strings.TrimSpace(r.Text)
	if text != "" {
		s.lastText = text
	}
	switch {
	case r.Stop == model.StopRefusal:
		return new(supervise.Failed(task.PhaseError, strings.TrimSuffix("The model refused to continue: "+text, ": ")))
	case len(r.Calls) > 0:
		s.cuts = 0
		if out := s.callAll(ctx, r.Calls); out != nil {
			return out
		}
		if s.summary != nil {
			return new(s.closed(ctx))
		}
		return nil
	case text == "" && r.Stop == model.StopLength:
		return new(supervise.Failed(task.PhaseError, "The model's reply was cut off before it contained anything"))
	case text == "":
		return new(supervise.Failed(task.PhaseError, "The model's reply is empty"))
	case r.Stop == model.StopLength:
		if s.cuts++; s.cuts >= maxCuts {
			return new(supervise.Failed(task.PhaseError, fmt.Sprintf("%d replies in a row were cut at the maximum length", s.cuts)))
		}
		s.remember(model.Message{Role: model.User, Text: continuePrompt})
		return nil
	case s.limitReached() == nil && s.receiveMessages() != "": // otherwise the next run reads it
		s.cuts = 0
		return nil
	}
	return new(s.closed(ctx))
}

// isContextError reports whether the model rejected a conversation because of its
// length.
func isContextError(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Kind == model.KindContext
}

// turnFailure returns the outcome of a failed turn.
func (s *modelLoop) turnFailure(ctx context.Context, err error) supervise.Outcome {
	var e *model.Error
	var full *noRoomError
	switch {
	case ctx.Err() != nil:
		return s.Cut(ctx)
	case errors.As(err, &full):
		return supervise.Failed(full.Phase, full.Reason)
	case !errors.As(err, &e):
		s.trouble = errors.Join(s.trouble, err)
		return supervise.Failed(task.PhaseError, "The model could not be asked")
	}
	reason := fmt.Sprintf("The model %s did not answer: %v", s.model, e)
	if e.After > 0 {
		reason += fmt.Sprintf(" (the provider asks to wait %v)", e.After.Round(time.Second))
	}
	out := supervise.Failed(task.PhaseError, reason)
	out.After = e.After
	switch e.Kind {
	case model.KindAuth:
		out.Phase, out.Permanent = task.PhaseAuth, true
	case model.KindQuota, model.KindRequest:
		out.Permanent = true
	case model.KindContext:
		out.Permanent = s.turns == 0 // a new run begins with a shorter conversation
	case model.KindProtocol:
		out.Phase = task.PhaseProtocol
	}
	return out
}

// closed returns the outcome of a conversation that ended successfully. Its
// summary is the one with which the run completed its task, else that of a
// closing turn, else the last text.
func (s *modelLoop) closed(ctx context.Context) supervise.Outcome {
	text := s.lastText
	switch {
	case s.summary != nil && strings.TrimSpace(*s.summary) != "":
		text = *s.summary
	case s.limitReached() == nil:
		summary, err := s.condense(ctx)
		if ctx.Err() != nil && s.Stopped() == nil {
			return s.Cut(ctx)
		}
		if err != nil {
			s.log(fmt.Sprintf("There is no closing summary: %v", err))
		} else if summary != "" {
			text = summary
		}
	}
	text = cmp.Or(text, "The task was completed.")
	return supervise.Completed(s.Clean(text))
}

// condense asks for the closing summary.
func (s *modelLoop) condense(ctx context.Context) (string, error) {
	if err := s.Condensing(); err != nil {
		return "", err
	}
	s.remember(model.Message{Role: model.User, Text: summaryPrompt})
	s.log("Taskyard asks: " + summaryPrompt)
	req := s.request()
	req.NoCalls = true
	r, err := s.ask(ctx, req, s.progress, func() {})
	return strings.TrimSpace(r.Text), err
}

func (s *modelLoop) log(text string) { s.Report(supervise.EventLog, text, nil) }

func (s *modelLoop) changed(files []string) {
	for _, f := range files {
		if len(s.files) < maxChanged && !slices.Contains(s.files, f) {
			s.files = append(s.files, f)
		}
	}
}
