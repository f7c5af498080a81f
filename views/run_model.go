package views

import (
	"time"

	"taskyard/task"
)

// RunModel is the page of one run.
type RunModel struct {
	Run       task.Run
	Agent     *task.Agent // the definition that serves now, or nil
	Messages  []task.Message
	Later     bool       // the transcript is long and its end is not in Messages
	RetriedBy task.ID    // a later run that retries this one, or 0
	Children  []task.Run // runs of subtasks that this run delegated
	Expired   string     // why the transcript is gone, or ""
}

// lastID returns the id after which the stream goes on.
func (m *RunModel) lastID() task.ID {
	if n := len(m.Messages); n > 0 {
		return m.Messages[n-1].ID
	}
	return 0
}

// open tells whether the run has not ended.
func (m *RunModel) open() bool { return !m.Run.Status.Final() }

// limitBar is one limit of a run against what is used of it.
type limitBar struct {
	Name  string
	Used  string // as people read it
	Max   string
	Value float64 // 0 to Full
	Full  float64
	Hot   bool // four fifths are used
}

// limitBars compares usage with limits, those that are set alone.
func limitBars(r *task.Run, now task.Time) []limitBar {
	var list []limitBar
	add := func(name, used, full string, v, f float64) {
		if f > 0 {
			list = append(list, limitBar{name, used, full, min(v, f), f, v >= 0.8*f})
		}
	}
	took := r.Worked(now)
	tokens := r.Usage.TokensIn + r.Usage.TokensOut
	add("Time", Dur(took), limitSpan(r.Limits.TimeoutSeconds), took.Seconds(), float64(r.Limits.TimeoutSeconds))
	add("Tokens", Tokens(tokens), Tokens(r.Limits.MaxTokens), float64(tokens), float64(r.Limits.MaxTokens))
	add("Cost", money(r.Usage.CostUSD), money(r.Limits.MaxCostUSD), r.Usage.CostUSD, r.Limits.MaxCostUSD)
	return list
}

// causeWords says in words why a run was made.
func causeWords(c task.Cause) string {
	switch c {
	case task.CauseTick:
		return "by the scheduler's tick"
	case task.CauseWake:
		return "by a wake"
	case task.CauseManual:
		return "by hand"
	case task.CauseRetry:
		return "as a retry"
	case task.CauseFollowUp:
		return "as a follow-up"
	case task.CauseDelegate:
		return "by delegation"
	}
	return string(c)
}

// runPill says a run's state in words, with the class of its colour.
func runPill(r *task.Run, now task.Time) (class, words string) {
	switch r.Status {
	case task.RunPending:
		if h := r.Held; h != nil {
			return "", capital(decisionWord(h.Decision)) + " just now"
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
		return "run", words + " " + Dur(r.Duration(now).Truncate(time.Second))
	case task.RunCompleted:
		return "ok", "Completed"
	case task.RunFailed:
		return "bad", "Failed" + failWords(r.Phase)
	case task.RunCanceled:
		return "", "Canceled" + cancelWords(r.Phase)
	}
	return "", string(r.Status)
}

func failWords(p task.Phase) string {
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

func cancelWords(p task.Phase) string {
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

// entry is one item of a transcript: a message, or a tool call with the
// result that follows it.
type entry struct {
	Msg    task.Message
	Result *task.Message
}

// entriesOf joins each tool call with a result that directly follows it. A
// result that comes alone (in a live stream) stays an entry of its own.
func entriesOf(msgs []task.Message) []entry {
	list := make([]entry, 0, len(msgs))
	for i := 0; i < len(msgs); i++ {
		e := entry{Msg: msgs[i]}
		if msgs[i].Type == "tool_call" && i+1 < len(msgs) && msgs[i+1].Type == "tool_result" {
			e.Result = &msgs[i+1]
			i++
		}
		list = append(list, e)
	}
	return list
}

// lastID returns the id of the entry's last message.
func (e entry) lastID() task.ID {
	if e.Result != nil {
		return e.Result.ID
	}
	return e.Msg.ID
}
