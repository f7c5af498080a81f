package runner

import (
	"fmt"

	"taskyard/task"
)

// verdict says how a program ended that we did not stop. It is ours, not the
// program's: completed only if it ended by itself, with exit code 0, with a
// result, and did not say that it failed.
func (p *protocol) verdict(r report) Outcome {
	res := p.result
	switch {
	case crashed(r):
		return p.crash(r)
	case r.Code != 0 && res != nil && res.success != nil && !*res.success && res.summary != "":
		return failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d: %s", r.Code, res.summary))
	case r.Code != 0:
		return failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d", r.Code)+p.lastWords())
	case res != nil && res.malformed:
		return failed(task.PhaseProtocol, "Its result is malformed: success must be true or false")
	case res != nil && res.success != nil && !*res.success:
		return p.admitted(res)
	}
	return p.completed(res)
}

// admitted is the outcome of a program that says that it failed.
func (p *protocol) admitted(res *result) Outcome {
	if res.summary != "" {
		return failed(task.PhaseError, res.summary)
	}
	return failed(task.PhaseError, "It said that it failed, without a reason"+p.lastWords())
}

// completed is the outcome of a program that ended well, if it said anything.
func (p *protocol) completed(res *result) Outcome {
	out := Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: p.said.String(task.MaxSummaryRun)}
	claimed := false
	if res != nil {
		claimed, out.Artifacts = res.success != nil || len(res.artifacts) > 0, res.artifacts
		if res.summary != "" {
			out.Summary = cutChars(res.summary, task.MaxSummaryRun)
		}
	}
	if out.Summary == "" && !claimed {
		return failed(task.PhaseError, "It ended without a result")
	}
	return out
}
