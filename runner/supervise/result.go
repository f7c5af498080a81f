package supervise

import (
	"encoding/json"
	"strings"

	"taskyard/task"
)

// Result is the result of a run as reported by its agent:
//
//	{"summary":"what was done","success":true,"artifacts":["notes.md"]}
//
// with at least one of these names.
type Result struct {
	Summary   string
	Success   *bool
	Artifacts []string
	malformed bool // success is present, but neither true nor false
}

// ParseResult parses a result; it returns nil if the object is not one.
func (r *Run) ParseResult(fields map[string]json.RawMessage) *Result {
	var res Result
	found := false
	if json.Unmarshal(fields["summary"], &res.Summary) == nil {
		found, res.Summary = true, strings.TrimSpace(r.Clean(res.Summary))
	}
	if raw, ok := fields["success"]; ok {
		found, res.malformed = true, json.Unmarshal(raw, &res.Success) != nil || res.Success == nil
	}
	if json.Unmarshal(fields["artifacts"], &res.Artifacts) == nil {
		found = true
		for i, a := range res.Artifacts {
			res.Artifacts[i] = r.Clean(a)
		}
	}
	if !found {
		return nil
	}
	return &res
}

// Failed reports whether the agent reported a failure.
func (r *Result) Failed() bool { return r != nil && r.Success != nil && !*r.Success }

// Judge returns the outcome of an agent that exited successfully, with a result
// or, if res is nil, with only its text.
func (r *Run) Judge(res *Result) Outcome {
	switch {
	case res != nil && res.malformed:
		return Failed(task.PhaseProtocol, "Its result is malformed: success must be true or false")
	case res.Failed() && res.Summary != "":
		return Failed(task.PhaseError, res.Summary)
	case res.Failed():
		return Failed(task.PhaseError, "It said that it failed, without a reason"+r.LastOutput())
	}
	out := Completed(r.LastText())
	claimed := false
	if res != nil {
		claimed, out.Artifacts = res.Success != nil || len(res.Artifacts) > 0, res.Artifacts
		if res.Summary != "" {
			out.Summary = task.ClipChars(res.Summary, task.MaxSummaryRun)
		}
	}
	if out.Summary == "" && !claimed {
		return Failed(task.PhaseError, NoResult)
	}
	return out
}

// NoResult is the reason of a program that exited successfully without output.
const NoResult = "It ended without a result"
