package runner

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"taskyard/task"
)

// offered reports whether the definition lists a tool, or the server, which checks
// by itself, offers it.
func (r *claudeReader) offered(tool string) bool {
	return strings.HasPrefix(tool, serverPrefix) || slices.Contains(claudeNames(r.plan.Tools), tool)
}

// request answers what the program asks.
func (r *claudeReader) request(l *claudeLine) {
	req := &l.Request
	if req.Subtype != "can_use_tool" {
		r.reply(map[string]any{"subtype": "error", "request_id": l.RequestID, "error": "this request is not supported"})
		return
	}
	switch concern := r.concern(req); {
	case !r.offered(req.Tool):
		r.refuse(l, "The tool is not on the whitelist of agent "+r.plan.Agent+".")
	case r.barred(req) != "":
		r.refuse(l, r.barred(req))
	case concern == "":
		r.allow(l)
	default:
		r.ask(l, concern)
	}
}

// concern says why a listed tool may not do what it was called for, or "". The
// program names paths outside its folder, and what it holds for unsafe; that
// it asks for each other call too is its habit, and the definition answers.
func (r *claudeReader) concern(req *claudeRequest) string {
	switch {
	case strings.HasPrefix(req.Tool, serverPrefix):
		return ""
	case req.ReasonType == "workingDir" || req.ReasonType == "safetyCheck":
		if req.Reason == "" {
			return "It is outside what the program may do by itself"
		}
		return req.Reason
	case req.BlockedPath != "" && !r.inside(req.BlockedPath):
		return "Path is outside the workspace: " + req.BlockedPath
	}
	return ""
}

// inside reports whether a path lies in the run's workspace.
func (r *claudeReader) inside(file string) bool {
	return within([]string{workOf(Spec{Plan: r.plan, Dir: r.dir})}, file)
}

// barred says why a file cannot be written, whoever permits it, or "".
func (r *claudeReader) barred(req *claudeRequest) string {
	var args struct {
		Path string `json:"file_path"`
	}
	if r.writable == nil || req.Tool != "Write" && req.Tool != "Edit" || json.Unmarshal(req.Input, &args) != nil {
		return ""
	}
	if !filepath.IsAbs(args.Path) || within(r.writable, args.Path) {
		return ""
	}
	return "A run of this agent writes nothing outside its workspace, and nobody can permit it: " +
		args.Path + ". The configuration of its runner names further folders in writable."
}

// ask has a person decide, with the clocks paused.
func (r *claudeReader) ask(l *claudeLine, concern string) {
	if _, ok := r.sink.(Permitter); !ok {
		r.refuse(l, concern+".")
		return
	}
	req := PermissionRequest{Tool: clean(r.red.Text(l.Request.Tool)), Input: r.scrub(l.Request.Input), Reason: clean(r.red.Text(concern))}
	if len(req.Input) > maxEvent {
		r.refuse(l, concern+", and its arguments are too long to be shown.")
		return
	}
	r.say(EventPermission, brief(l.Request.Tool, l.Request.Input)+": "+concern, map[string]any{"asked": true, "tool": l.Request.Tool})
	answer, err := r.link.clk.permit(r.link.ctx, r.sink, req)
	switch {
	case err != nil:
		r.refuse(l, concern+", and nobody could decide: "+err.Error()+".")
	case !answer.Allow:
		r.refuse(l, strings.TrimSpace("It was not permitted. "+answer.Message))
	default:
		r.say(EventPermission, l.Request.Tool+": permitted", map[string]any{"allowed": true, "tool": l.Request.Tool})
		r.allow(l)
	}
}

// refuse answers the agent why it may not, and what it may.
func (r *claudeReader) refuse(l *claudeLine, why string) {
	r.noteDenied(l.Request.Tool)
	r.say(EventPermission, brief(l.Request.Tool, l.Request.Input)+": refused. "+why, map[string]any{"allowed": false, "tool": l.Request.Tool})
	r.deny(l.RequestID, why+" Allowed tools: "+r.allowed()+", within the workspace.")
}

// allowed lists the whitelist.
func (r *claudeReader) allowed() string {
	names := claudeNames(r.plan.Tools)
	return strings.Join(append(names, serverPrefix+"*"), ", ")
}

func (r *claudeReader) allow(l *claudeLine) {
	input := l.Request.Input
	if !isObject(input) {
		input = json.RawMessage("{}")
	}
	r.answer(l.RequestID, map[string]any{"behavior": "allow", "updatedInput": input})
}

func (r *claudeReader) deny(request, why string) {
	r.answer(request, map[string]any{"behavior": "deny", "message": clean(why)})
}

func (r *claudeReader) answer(request string, response any) {
	r.reply(map[string]any{"subtype": "success", "request_id": request, "response": response})
}

func (r *claudeReader) reply(response any) {
	if !r.link.in.Post([]byte(jsonLine(map[string]any{"type": "control_response", "response": response}))) {
		r.st.Stop(failed(task.PhaseProtocol, "It asks, but does not read the answers"))
	}
}

func sortedList(list []string) string {
	slices.Sort(list)
	return strings.Join(list, ", ")
}
