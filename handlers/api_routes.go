package handlers

import "taskyard/task"

// apiRoutes names every endpoint of the JSON API, with what it needs. What the
// reference says of each is in apiDocs.
func (s *Server) apiRoutes() {
	s.api = s.newAPI()

	handle(s, "GET /api/tasks", task.Read, s.apiTasks)
	handle(s, "POST /api/tasks", task.Write, s.apiCreateTask)
	handle(s, "GET /api/tasks/history", task.Read, s.apiHistory)
	handle(s, "GET /api/tasks/{id}", task.Read, s.apiTask)
	handle(s, "PATCH /api/tasks/{id}", task.Write, s.apiUpdateTask)
	handle(s, "POST /api/tasks/{id}/complete", task.Write, s.apiCompleteTask)
	handle(s, "POST /api/tasks/{id}/cancel", task.Write, s.apiCancelTask)
	handle(s, "POST /api/tasks/{id}/run", task.Write, s.apiRunTask)
	handle(s, "POST /api/tasks/{id}/move", task.Claiming, s.apiMoveTask)
	handle(s, "POST /api/tasks/{id}/release", task.Claiming, s.apiReleaseClaim)
	handle(s, "POST /api/tasks/{id}/heartbeat", task.Claiming, s.apiHeartbeat)
	handle(s, "PUT /api/tasks/{id}/blocked-by", task.Write, s.apiSetBlockers)
	handle(s, "GET /api/tasks/{id}/why", task.Read, s.apiWhy)
	handle(s, "GET /api/tasks/{id}/steps/{index}", task.Read, s.apiStep)
	handle(s, "PUT /api/tasks/{id}/steps", task.Write, s.apiReplaceSteps)
	handle(s, "POST /api/tasks/{id}/steps", task.Write, s.apiInsertStep)
	handle(s, "PATCH /api/tasks/{id}/steps/{index}", task.Write, s.apiUpdateStep)
	handle(s, "POST /api/tasks/{id}/steps/{index}/subtask", task.Write, s.apiCreateSubtask)
	handle(s, "POST /api/tasks/{id}/resources", task.Write, s.apiAddResource)
	handle(s, "DELETE /api/tasks/{id}/resources/{index}", task.Write, s.apiRemoveResource)
	handle(s, "GET /api/tasks/{id}/comments", task.Read, s.apiComments)
	handle(s, "POST /api/tasks/{id}/comments", task.Write, s.apiComment)
	handle(s, "POST /api/tasks/{id}/notify", task.Write, s.apiNotify)
	handle(s, "POST /api/tasks/{id}/reply", task.Person, s.apiReply)
	handle(s, "GET /api/tasks/{id}/thread", task.Read, s.apiThread)
	handle(s, "GET /api/tasks/{id}/runs", task.Read, s.apiTaskRuns)
	handle(s, "GET /api/tasks/{id}/events", task.Read, s.apiTaskEvents)

	handle(s, "GET /api/agents", task.Read, s.apiAgents)
	handle(s, "GET /api/agents/{id}", task.Read, s.apiAgent)
	handle(s, "PUT /api/agents/{id}", task.Admin, s.apiSaveAgent)
	handle(s, "DELETE /api/agents/{id}", task.Admin, s.apiDeleteAgent)
	handle(s, "GET /api/agents/{id}/queue", task.Read, s.apiQueue)
	handle(s, "POST /api/agents/{id}/signup", task.Claiming, s.apiSignup)
	handle(s, "POST /api/agents/{id}/complete-and-signup", task.Claiming, s.apiCompleteAndSignup)
	handle(s, "POST /api/agents/{id}/reassign", task.Claiming, s.apiReassign)
	handle(s, "POST /api/agents/{id}/todo", task.Read, s.apiTodo)

	handle(s, "GET /api/runs", task.Read, s.apiRuns)
	handle(s, "GET /api/runs/{id}", task.Read, s.apiRun)
	handle(s, "GET /api/runs/{id}/diff", task.Read, s.apiRunDiff)
	handle(s, "GET /api/runs/{id}/messages", task.Read, s.apiTranscript)
	handle(s, "GET /api/runs/{id}/messages/{message}", task.Read, s.apiTranscriptLine)
	handle(s, "POST /api/runs/{id}/approve", task.Decide, s.apiApproveRun)
	handle(s, "POST /api/runs/{id}/deny", task.Decide, s.apiDenyRun)
	handle(s, "POST /api/runs/{id}/undo", task.Decide, s.apiUndoDecision)
	handle(s, "POST /api/runs/{id}/cancel", task.Write, s.apiCancelRun)
	handle(s, "POST /api/runs/{id}/retry", task.Write, s.apiRetryRun)
	handle(s, "POST /api/runs/{id}/permissions/{n}/allow", task.Decide, s.apiAllowPermission)
	handle(s, "POST /api/runs/{id}/permissions/{n}/deny", task.Decide, s.apiDenyPermission)
	handle(s, "GET /api/usage", task.Read, s.apiUsage)

	handle(s, "GET /api/runners", task.Read, s.apiRunners)
	handle(s, "POST /api/runners/probe", task.Admin, s.apiProbeRunners)

	handle(s, "POST /api/delegate", task.Write, s.apiDelegate)
	handle(s, "GET /api/delegate/{id}", task.Read, s.apiDelegation)
	handle(s, "POST /api/delegate/{id}/stop", task.Write, s.apiStopDelegation)

	handle(s, "POST /api/worker/lease", task.Execute, s.apiLease)
	handle(s, "POST /api/worker/runs/{id}/working", task.SignedIn, s.apiReportWorking)
	handle(s, "POST /api/worker/runs/{id}/heartbeat", task.SignedIn, s.apiReportHeartbeat)
	handle(s, "POST /api/worker/runs/{id}/events", task.SignedIn, s.apiReportEvents)
	handle(s, "POST /api/worker/runs/{id}/finish", task.SignedIn, s.apiReportEnd)

	handleStream(s, "GET /api/events", task.Read, s.apiEvents, s.followEvents)
	handle(s, "GET /api/stats", task.Read, s.apiStats)

	handle(s, "GET /api/pauses", task.Read, s.apiPauses)
	handle(s, "POST /api/pause", task.Person, s.apiPause)
	handle(s, "POST /api/resume", task.Person, s.apiResume)
	handle(s, "POST /api/stop-everything", task.Person, s.apiStopEverything)

	handle(s, "GET /api/inbox", task.Read, s.apiInbox)
	handle(s, "POST /api/inbox/notices/{id}/acknowledge", task.Person, s.apiAcknowledgeNotice)

	handle(s, "GET /api/settings", task.Read, s.apiSettings)
	handle(s, "PATCH /api/settings", task.Admin, s.apiChangeSettings)

	handle(s, "GET /api/users", task.Admin, s.apiUsers)
	handle(s, "POST /api/users", task.Admin, s.apiAddUser)
	handle(s, "PATCH /api/users/{id}", task.Admin, s.apiUpdateUser)
	handle(s, "GET /api/tokens", task.Admin, s.apiTokens)
	handle(s, "POST /api/tokens", task.Admin, s.apiCreateToken)
	handle(s, "DELETE /api/tokens/{id}", task.Admin, s.apiRevokeToken)
	handle(s, "GET /api/me", task.SignedIn, s.apiMe)
}
