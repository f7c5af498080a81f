package views

import (
	"strconv"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

// RunModel is the page of one run.
type RunModel struct {
	Run       task.Run
	Agent     *task.Agent // the current definition, or nil
	Part      task.TranscriptPart
	Query     task.TranscriptQuery // the requested part of the transcript
	Attempts  RunAttempts
	Work      *task.Work     // its changes, with lines; nil: not compared
	Messages  RunMessages    // what people sent it
	RetriedBy task.ID        // a later run that retries this one, or 0
	Children  []task.Run     // runs of subtasks that this run delegated
	Zone      *time.Location // of the reader; nil: UTC
	Expired   string         // why the transcript was deleted, or ""
}

// RunAttempts contains the runs of the same task around a run, and the one that
// it is compared with: the run that it retries, or else the previous one.
type RunAttempts struct {
	Prev, Next     task.ID
	Last           *task.Run // or nil
	LastText, Text string    // definitions of Last and of this run at the time
}

// lastID returns the ID after which the stream continues.
func (m *RunModel) lastID() task.ID {
	if n := len(m.Part.Lines); n > 0 {
		return m.Part.Lines[n-1].ID
	}
	return 0
}

// firstID returns the ID before which earlier lines are.
func (m *RunModel) firstID() task.ID {
	if len(m.Part.Lines) > 0 {
		return m.Part.Lines[0].ID
	}
	return 0
}

// transcriptView returns how the transcript is shown.
func (m *RunModel) transcriptView() TranscriptView {
	l := TranscriptView{Query: m.Query.Text, At: m.Query.At, Zone: m.Zone}
	if m.Part.HitID != 0 {
		l.At = m.Part.HitID
	}
	return l
}

// narrowed reports whether only a part of the transcript is requested.
func (m *RunModel) narrowed() bool { return m.Query.Kind != "" || m.Query.Text != "" }

// open reports whether the run has not ended.
func (m *RunModel) open() bool { return !m.Run.Status.Final() }

// limitBar compares one limit of a run with its usage.
type limitBar struct {
	Name  string
	Used  string // as text
	Max   string
	Value float64 // 0 to Full
	Full  float64
	Hot   bool // at least four fifths are used
}

// limitBars compares usage with the limits that are set.
func limitBars(r *task.Run, turns int, now task.Time) []limitBar {
	var list []limitBar
	add := func(name, used, full string, v, f float64) {
		if f > 0 {
			list = append(list, limitBar{name, used, full, min(v, f), f, v >= 0.8*f})
		}
	}
	took := r.WorkTime(now)
	tokens := r.Usage.TokensIn + r.Usage.TokensOut
	add("Time", ui.Dur(took), ui.LimitSpan(r.Limits.TimeoutSeconds), took.Seconds(), float64(r.Limits.TimeoutSeconds))
	add("Tokens", tokensOfRun(r), ui.Tokens(r.Limits.MaxTokens), float64(tokens), float64(r.Limits.MaxTokens))
	add("Cost", formatCost(r.Usage), ui.Money(r.Limits.MaxCostUSD), r.Usage.CostUSD, r.Limits.MaxCostUSD)
	add("Turns", strconv.Itoa(turns), strconv.Itoa(r.Limits.MaxTurns), float64(turns), float64(r.Limits.MaxTurns))
	return list
}

// tokensOfRun returns the tokens that a run used, unless its program does not
// report them.
func tokensOfRun(r *task.Run) string {
	if r.UsageUnknown() {
		return "unknown"
	}
	return formatTokens(r.Usage)
}

// unknownTokensText explains why the tokens of a run are unknown, and the
// consequence.
func unknownTokensText(r *task.Run) string {
	if r.Limits.MaxTokens > 0 {
		return "its program reports none, so its token limit could not be enforced"
	}
	return "its program reports none"
}

// causeText describes why a run was created.
func causeText(r *task.Run) string {
	switch r.Cause {
	case task.CauseTick:
		return "by the scheduler's tick"
	case task.CauseWake:
		return "by a wake"
	case task.CauseManual:
		return "by hand"
	case task.CauseRetry:
		if r.Automatic() {
			return "automatically because run " + r.RetryOf.String() + " failed"
		}
		return "as a retry"
	case task.CauseFollowUp:
		return "as a follow-up"
	case task.CauseDelegate:
		return "by delegation"
	}
	return string(r.Cause)
}

// startedText describes why a run was created, and who requested it.
func startedText(r *task.Run) string {
	text := causeText(r) + whySuffix(r)
	if r.Automatic() {
		return text
	}
	return text + ", asked by " + ui.ActorLabel(r.AskedBy)
}

// whySuffix returns what caused a run, to follow its cause; "" if nothing is
// recorded.
func whySuffix(r *task.Run) string {
	if r.StartReason == "" {
		return ""
	}
	return " (" + task.StartReasonText(r.StartReason) + ")"
}

// runPill returns a run's state in words, with its color class.
func runPill(r *task.Run, now task.Time) (class, words string) {
	switch r.Status {
	case task.RunPending:
		if h := r.PendingDecision; h != nil {
			return "", capitalize(decisionWord(h.Decision)) + " just now"
		}
		if r.Phase == task.PhaseApproval {
			return "warn", "Waits for approval"
		}
		return "", "Queued"
	case task.RunRunning:
		words := map[task.Phase]string{
			task.PhaseStarting: "Starting", task.PhaseWorking: "Working",
			task.PhasePermission: "Asks permission", task.PhaseCondensing: "Summing up",
		}[r.Phase]
		if r.Phase == task.PhasePermission {
			return "warn", words
		}
		return "run", words + " " + ui.Dur(r.Duration(now).Truncate(time.Second))
	case task.RunCompleted:
		return "ok", "Completed"
	case task.RunFailed:
		return "bad", "Failed" + failText(r.Phase)
	case task.RunCanceled:
		return "", "Canceled" + cancelText(r.Phase)
	}
	return "", string(r.Status)
}

func failText(p task.Phase) string {
	switch p {
	case task.PhaseTimeout:
		return ": out of time"
	case task.PhaseIdle:
		return ": no progress"
	case task.PhaseTokens:
		return ": token limit"
	case task.PhaseCost:
		return ": cost limit"
	case task.PhaseTurns:
		return ": turn limit"
	case task.PhaseCrash:
		return ": crashed"
	case task.PhaseProtocol:
		return ": broke its protocol"
	case task.PhasePermission:
		return ": permission refused"
	case task.PhaseAuth:
		return ": credentials refused"
	case task.PhaseLost:
		return ": lost"
	}
	return ""
}

func cancelText(p task.Phase) string {
	switch p {
	case task.PhaseDenied:
		return ": denied"
	case task.PhaseExpired:
		return ": nobody decided"
	case task.PhaseTaskClosed:
		return ": task closed"
	case task.PhaseShutdown:
		return ": server stopped"
	}
	return ""
}
