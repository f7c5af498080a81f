package claude

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// isOffered reports whether the definition lists a tool, or the server offers it,
// which does its own authorization.
func (r *reader) isOffered(tool string) bool {
	return strings.HasPrefix(tool, serverPrefix) || slices.Contains(toolList(r.Spec.Plan.Tools), tool)
}

// request answers a control request of the program.
func (r *reader) request(l *line) {
	req := &l.Request
	if req.Subtype != "can_use_tool" {
		r.reply(map[string]any{"subtype": "error", "request_id": l.RequestID, "error": "this request is not supported"})
		return
	}
	switch reason := r.denialReason(req); {
	case !r.isOffered(req.Tool):
		r.refuse(l, "The tool is not on the whitelist of agent "+r.Spec.Plan.Agent+".")
	case r.writeDenialReason(req) != "":
		r.refuse(l, r.writeDenialReason(req))
	case reason == "":
		r.allow(l)
	default:
		r.ask(l, reason)
	}
}

// denialReason returns why a listed tool may not do this call, or "". The program
// flags paths outside its folder and what it considers unsafe. It also asks for
// every other call; for those, the definition decides.
func (r *reader) denialReason(req *request) string {
	switch {
	case strings.HasPrefix(req.Tool, serverPrefix):
		return ""
	case req.ReasonType == "workingDir" || req.ReasonType == "safetyCheck":
		return cmp.Or(req.Reason, "It is outside what the program may do by itself")
	case req.BlockedPath != "" && !r.inWorkspace(req.BlockedPath):
		return "Path is outside the workspace: " + req.BlockedPath
	}
	return ""
}

// inWorkspace reports whether a path is in the run's workspace.
func (r *reader) inWorkspace(file string) bool {
	return supervise.InFolders([]string{r.Work}, file)
}

// writeDenialReason returns why a file cannot be written even with permission, or "".
func (r *reader) writeDenialReason(req *request) string {
	var args struct {
		Path string `json:"file_path"`
	}
	if r.writable == nil || req.Tool != "Write" && req.Tool != "Edit" || json.Unmarshal(req.Input, &args) != nil {
		return ""
	}
	if !filepath.IsAbs(args.Path) || supervise.InFolders(r.writable, args.Path) {
		return ""
	}
	return "A run of this agent writes nothing outside its workspace, and nobody can permit it: " +
		args.Path + ". The configuration of its runner names further folders in writable."
}

// ask lets a person decide, with the timeouts paused.
func (r *reader) ask(l *line, concern string) {
	if !r.CanAsk() {
		r.refuse(l, concern+".")
		return
	}
	req := supervise.PermissionRequest{Tool: r.Clean(l.Request.Tool), Input: r.CleanJSON(l.Request.Input), Reason: r.Clean(concern)}
	if len(req.Input) > supervise.MaxEvent {
		r.refuse(l, concern+", and its arguments are too long to be shown.")
		return
	}
	r.Report(supervise.EventPermission, brief(l.Request.Tool, l.Request.Input)+": "+concern,
		map[string]any{"asked": true, "tool": l.Request.Tool})
	answer, err := r.Permit(r.Context(), req)
	switch {
	case err != nil:
		r.refuse(l, concern+", and nobody could decide: "+err.Error()+".")
	case !answer.Allow:
		r.refuse(l, strings.TrimSpace("It was not permitted. "+answer.Message))
	default:
		r.Report(supervise.EventPermission, l.Request.Tool+": permitted", map[string]any{"allowed": true, "tool": l.Request.Tool})
		r.allow(l)
	}
}

// refuse tells the agent why the call is denied, and what is allowed.
func (r *reader) refuse(l *line, why string) {
	r.noteDenied(l.Request.Tool)
	r.refusal = task.CutText(r.Clean(brief(l.Request.Tool, l.Request.Input)+": "+why), maxRefusal)
	r.Report(supervise.EventPermission, brief(l.Request.Tool, l.Request.Input)+": refused. "+why,
		map[string]any{"allowed": false, "tool": l.Request.Tool})
	r.deny(l.RequestID, why+" Allowed tools: "+r.allowed()+", within the workspace.")
}

// allowed lists the allowed tools.
func (r *reader) allowed() string {
	names := toolList(r.Spec.Plan.Tools)
	return strings.Join(append(names, serverPrefix+"*"), ", ")
}

func (r *reader) allow(l *line) {
	r.refusal = ""
	input := l.Request.Input
	if !supervise.IsObject(input) {
		input = json.RawMessage("{}")
	}
	r.answer(l.RequestID, map[string]any{"behavior": "allow", "updatedInput": input})
}

func (r *reader) deny(request, why string) {
	r.answer(request, map[string]any{"behavior": "deny", "message": task.CleanText(why)})
}

func (r *reader) answer(request string, response any) {
	r.reply(map[string]any{"subtype": "success", "request_id": request, "response": response})
}

func (r *reader) reply(response any) {
	if !r.Send([]byte(jsonLine(map[string]any{"type": "control_response", "response": response}))) {
		r.Stop(supervise.Failed(task.PhaseProtocol, "It asks, but does not read the answers"))
	}
}
