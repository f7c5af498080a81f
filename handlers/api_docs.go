package handlers

import "net/http"

// apiDocs documents each endpoint in the reference.
var apiDocs = map[string]apiDoc{
	"GET /api/tasks": {
		Tag:     "Tasks",
		Summary: "List draft and active tasks of all agents",
		Desc:    "In queue order: higher priority first, then older. Also returns how busy each agent is and which tasks have a running run.",
	},
	"POST /api/tasks": {
		Status:  http.StatusCreated,
		Tag:     "Tasks",
		Summary: "Create a task",
	},
	"GET /api/tasks/history": {
		Tag:     "Tasks",
		Summary: "List done and canceled tasks, newest first",
	},
	"GET /api/tasks/{id}": {
		Tag:     "Tasks",
		Summary: "Read any task, open or archived, with its relations",
	},
	"PATCH /api/tasks/{id}": {
		Tag:     "Tasks",
		Summary: "Change fields or status of a task",
		Desc:    "Send `version`, or `If-Match`, to get a conflict instead of overwriting another change.",
	},
	"POST /api/tasks/{id}/complete": {
		Tag:     "Tasks",
		Summary: "Complete and archive a task",
		Desc: "If the task belongs to a project, its required checks run first; 409 `checks_failed` includes the end of the log. A call " +
			"waits at most 50 s. If the checks are still running, it returns 409 `checks_running`; repeat the call to keep waiting. " +
			"Then the task waits for a review or merge if the project requires one: see `waitingFor`.",
	},
	"POST /api/tasks/{id}/cancel": {
		Tag:     "Tasks",
		Summary: "Cancel a task and all its open subtasks",
	},
	"POST /api/tasks/{id}/run": {
		Status:  http.StatusAccepted,
		Tag:     "Runs",
		Summary: "Dispatch a run of a task now",
		Desc:    "Returns immediately; follow the run by its id.",
	},
	"POST /api/tasks/{id}/move": {
		Tag:     "Queues",
		Summary: "Hand a claimed task over to another agent",
	},
	"POST /api/tasks/{id}/release": {
		Tag:     "Queues",
		Summary: "Release the claim of a task",
	},
	"POST /api/tasks/{id}/heartbeat": {
		Tag:     "Queues",
		Summary: "Renew the claim of a task",
	},
	"PUT /api/tasks/{id}/blocked-by": {
		Tag:     "Tasks",
		Summary: "Set the tasks that must be done before this one",
		Desc: "A blocked task is skipped by signups, ticks and wakes. When the last blocker is done, the owner " +
			"is woken. A canceled blocker keeps the task blocked until a person removes it; an agent may not.",
	},
	"GET /api/tasks/{id}/why": {
		Tag:     "Tasks",
		Summary: "Explain why a task is or is not running",
	},
	"GET /api/tasks/{id}/steps/{index}": {
		Tag:     "Steps",
		Summary: "Read one step in full",
		Desc:    "For steps whose details were shortened in a response (`detailsCut`).",
	},
	"PUT /api/tasks/{id}/steps": {
		Tag:     "Steps",
		Summary: "Replace the whole plan of a task",
		Desc:    "Only while no step is linked to a subtask; after that, change steps individually.",
	},
	"POST /api/tasks/{id}/steps": {
		Tag:     "Steps",
		Summary: "Add a step, at the end or before another one",
		Desc:    "Steps keep their links to subtasks. Returns the task.",
	},
	"PATCH /api/tasks/{id}/steps/{index}": {
		Tag:     "Steps",
		Summary: "Change one step",
	},
	"POST /api/tasks/{id}/steps/{index}/subtask": {
		Status:  http.StatusCreated,
		Tag:     "Steps",
		Summary: "Create a subtask for a step",
	},
	"POST /api/tasks/{id}/resources": {
		Status:  http.StatusCreated,
		Tag:     "Tasks",
		Summary: "Attach a URL or file",
	},
	"DELETE /api/tasks/{id}/resources/{index}": {
		Tag:     "Tasks",
		Summary: "Remove a resource",
	},
	"GET /api/tasks/{id}/comments": {
		Tag:     "Threads",
		Summary: "Read the comments of a task, oldest first",
	},
	"POST /api/tasks/{id}/comments": {
		Status:  http.StatusCreated,
		Tag:     "Threads",
		Summary: "Comment on a task",
		Desc:    "A comment by a person wakes the owner of an active task.",
	},
	"POST /api/tasks/{id}/notify": {
		Status:  http.StatusCreated,
		Tag:     "Threads",
		Summary: "Notify people, or ask them a question",
	},
	"POST /api/tasks/{id}/reply": {
		Status:  http.StatusCreated,
		Tag:     "Threads",
		Summary: "Answer the open question of a task",
	},
	"GET /api/tasks/{id}/thread": {
		Tag:     "Threads",
		Summary: "Read the messages of a task and how its runs ended, oldest first",
		Desc: "Each ended run is a message of kind run with its runId, its summary (type result) or reason (type error), " +
			"and status and phase in data. Its transcript is at /api/runs/{id}/messages.",
	},
	"GET /api/tasks/{id}/runs": {
		Tag:     "Runs",
		Summary: "List the runs of a task, newest first",
	},
	"GET /api/tasks/{id}/events": {
		Tag:     "Events",
		Summary: "Read the log of a task, oldest first",
	},
	"GET /api/tasks/{id}/results": {
		Tag:     "Results",
		Summary: "List the results of a task, newest first",
		Desc: "Completing a task of a project creates a result: the change, the verdicts of the checks, and the votes of people. " +
			"Only its state ever changes.",
	},
	"GET /api/tasks/{id}/results/{number}": {
		Tag:     "Results",
		Summary: "Read a result of a task",
	},
	"GET /api/tasks/{id}/results/{number}/diff": {
		Tag:     "Results",
		Summary: "Read what a result changes: the list of files, or the lines of one file",
	},
	"POST /api/tasks/{id}/results/{number}/accept": {
		Tag:     "Results",
		Summary: "Accept a result exactly as you saw it, and send your drafts",
		Desc: "Casts one person's vote on one digest; if the digest has changed: 409. With the last vote that the policy requires, " +
			"the result enters the merge queue, or the task is done. Agents, and tokens that belong to no person, can never accept.",
	},
	"POST /api/tasks/{id}/results/{number}/request-changes": {
		Tag:     "Results",
		Summary: "Send a result back to its owner with your draft comments, and wake the owner",
	},
	"GET /api/tasks/{id}/checks": {
		Tag:     "Results",
		Summary: "List the checks that apply to a task, and their latest executions",
		Desc: "The checks of the project, the agent and the task are combined. Identical checks of the same name run once; " +
			"checks of the same name that differ run separately, as NAME.agent or NAME.task.",
	},
	"POST /api/tasks/{id}/checks/{name}/run": {
		Tag:     "Results",
		Summary: "Run one check of a task again",
		Desc: "A call waits at most 50 s. If the check is still running, it returns 409 `checks_running`; repeat the call to keep " +
			"waiting. If the verdict of a required check changes, a new result of the same change is created, without votes.",
	},
	"GET /api/tasks/{id}/checks/{check}": {
		Tag:     "Results",
		Summary: "Read one execution of a check, with its log",
	},
	"GET /api/tasks/{id}/review-comments": {
		Tag:     "Results",
		Summary: "List the comments on the results of a task",
		Desc:    "Line numbers refer to the newest result; the lines of `outdated` comments no longer exist.",
	},
	"POST /api/tasks/{id}/review-comments": {
		Tag:     "Results",
		Summary: "Save a draft comment on the newest result",
		Desc:    "Nobody else sees it until you send your drafts or decide on the result.",
	},
	"POST /api/tasks/{id}/review-comments/submit": {
		Tag:     "Results",
		Summary: "Send your drafts without a decision",
	},
	"PATCH /api/tasks/{id}/review-comments/{comment}": {
		Status:  http.StatusNoContent,
		Tag:     "Results",
		Summary: "Change or delete one of your drafts",
	},
	"POST /api/tasks/{id}/review-comments/{comment}/reply": {
		Tag:     "Results",
		Summary: "Reply to a comment on a result",
		Desc:    "The owner of the task replies `fixed`, or `declined` with a reason; people can also resolve and reopen comments.",
	},
	"GET /api/projects": {
		Tag:     "Projects",
		Summary: "List projects with their task counts",
	},
	"POST /api/projects": {
		Status:  http.StatusCreated,
		Tag:     "Projects",
		Summary: "Create a project",
		Desc:    "Its repository must be usable: see POST /api/projects/{key}/examine.",
	},
	"GET /api/projects/{key}": {
		Tag:     "Projects",
		Summary: "Read a project",
	},
	"PUT /api/projects/{key}": {
		Tag:     "Projects",
		Summary: "Replace a project",
		Desc:    "Send `version` to get a conflict instead of overwriting another change. Omitted fields get their defaults.",
	},
	"POST /api/projects/{key}/examine": {
		Tag:     "Projects",
		Summary: "Check whether the repository of a project is usable, and what is wrong with it",
	},
	"GET /api/merges": {
		Tag:     "Projects",
		Summary: "Read the merge queue and the ended merges",
	},
	"GET /api/agents": {
		Tag:     "Agents",
		Summary: "List the agents with their load",
	},
	"GET /api/agents/{id}": {
		Tag:     "Agents",
		Summary: "Read an agent: definition, verdict, problems, load",
	},
	"PUT /api/agents/{id}": {
		Tag:     "Agents",
		Summary: "Write the definition file of an agent",
		Desc:    "Invalid text is saved only with `force`. Send `If-Match` to get a conflict if the file has changed in the meantime.",
	},
	"DELETE /api/agents/{id}": {
		Status:  http.StatusNoContent,
		Tag:     "Agents",
		Summary: "Remove the definition file of an agent",
	},
	"GET /api/agents/{id}/queue": {
		Tag:     "Queues",
		Summary: "List the active tasks of an agent in queue order",
	},
	"POST /api/agents/{id}/signup": {
		Tag:     "Queues",
		Summary: "Claim the first free task of a queue",
		Desc: "If nothing is free, the response is `{\"task\":null}`, or with count `{\"tasks\":[]}`; this is not an error. With `waitSeconds` " +
			"the call waits until a task is free or the time is up. Waiting callers are served first come, first served; " +
			"disconnected callers claim nothing. `maxConcurrent` cannot be combined with the others. While the agent or the " +
			"server is paused: 409 `paused`, with Retry-After; callers that are already waiting keep waiting.",
	},
	"POST /api/agents/{id}/complete-and-signup": {
		Tag:     "Queues",
		Summary: "Complete one task and claim the next",
		Desc:    "While the agent or the server is paused, it only completes the task: `task` is null, and `paused` says why.",
	},
	"POST /api/agents/{id}/reassign": {
		Tag:     "Queues",
		Summary: "Hand several tasks over to another agent, all or none",
	},
	"POST /api/agents/{id}/todo": {
		Tag:     "Todo lists",
		Summary: "Push, pop or read an agent's todo list",
		Desc: "A deque of plain strings for each agent. All agents and people can use it; viewers can only read it. Push and " +
			"count return `{\"ok\":true,\"count\":3}`, pop and peek `{\"ok\":true,\"item\":\"…\"}`, " +
			"list `{\"ok\":true,\"items\":[…]}` front to back. If the list is empty, pop and peek return `{\"ok\":false}`; this is not an error. " +
			"A list that does not fit into one response (1000 items, about 1 MiB) includes `count` and the cursor `next`.",
	},
	"GET /api/runs": {
		Tag:     "Runs",
		Summary: "List runs, newest first",
	},
	"GET /api/runs/{id}": {
		Tag:     "Runs",
		Summary: "Read a run with its result, limits, usage, approval and changed files",
	},
	"GET /api/runs/{id}/diff": {
		Type:    diffType,
		Tag:     "Runs",
		Summary: "Read what a run changed as a unified diff",
		Desc: "Plain text, at most about 256 KiB of lines; lines that begin with " +
			"`#` say what was left out. Empty until the run has ended, and if nothing changed.",
	},
	"GET /api/runs/{id}/messages": {
		Tag:     "Runs",
		Summary: "Read the transcript of a run, oldest first",
	},
	"POST /api/runs/{id}/messages": {
		Tag:     "Runs",
		Summary: "Send a message to the agent of a running run",
		Desc: "Messages are queued until the agent can receive them: the built-in agent and Claude Code between two model calls, Codex and " +
			"ACP agents at the end of their turn. `said` of GET /api/runs/{id} shows which were delivered. At most 100 per run. If the run " +
			"has not started, is ending, or its runner does not support messages: 409 `run_takes_no_messages`; comment on the " +
			"task instead. Messages that are not delivered become comments on the task, and one more run follows.",
	},
	"GET /api/runs/{id}/messages/{message}": {
		Tag:     "Runs",
		Summary: "Read one line of a transcript",
		Desc: "If a line is too long for one response, `contentCut` is the number of bytes of its content that were " +
			"left out; set `from` to the number of bytes that you have, and request it again.",
	},
	"POST /api/runs/{id}/approve": {
		Tag:     "Approvals",
		Summary: "Approve a waiting run exactly as it was shown",
	},
	"POST /api/runs/{id}/deny": {
		Tag:     "Approvals",
		Summary: "Reject a waiting run",
	},
	"POST /api/runs/{id}/undo": {
		Tag:     "Approvals",
		Summary: "Undo your decision on a run, before it takes effect",
		Desc:    "Possible while the run has `held`. Afterwards: 409 `run_already_decided`.",
	},
	"POST /api/runs/{id}/cancel": {
		Tag:     "Runs",
		Summary: "Cancel an open run",
	},
	"POST /api/runs/{id}/retry": {
		Tag:     "Runs",
		Summary: "Run the task of an ended run again",
		Desc:    "Returns the new run, which refers to the old one.",
	},
	"POST /api/runs/{id}/permissions/{n}/allow": {
		Tag:     "Approvals",
		Summary: "Allow the tool call that a run is asking for",
		Desc:    permissionDesc,
	},
	"POST /api/runs/{id}/permissions/{n}/deny": {
		Tag:     "Approvals",
		Summary: "Deny the tool call that a run is asking for",
		Desc:    permissionDesc,
	},
	"GET /api/usage": {
		Tag:     "Runs",
		Summary: "Sum up tool calls, tokens and cost by day, agent, model, project, task or run",
		Desc: "By day, agent and model, usage is counted when it is reported, in whole UTC days; by project, task and run, only runs that " +
			"ended in that time are counted. `usage` of GET /api/runs/{id} is the usage of one run, even while it is running. `budgets` " +
			"are those of today.",
	},
	"GET /api/runners": {
		Tag:     "Agents",
		Summary: "List the runners: what each can start and enforce",
		Desc:    "They are checked in the background: when the server starts, when a definition or a program changes, and on request.",
	},
	"POST /api/runners/probe": {
		Status:  http.StatusAccepted,
		Tag:     "Agents",
		Summary: "Check all runners again",
		Desc:    "Returns immediately; `probing` is true for runners that are being checked.",
	},
	"POST /api/delegate": {
		Status:  http.StatusAccepted,
		Also:    http.StatusOK,
		Tag:     "Delegation",
		Summary: "Give work to another agent",
		Desc: "Creates a subtask of the caller's task, owned by the agent, and a run of it. Returns 200 if the run ended within " +
			"`waitSeconds`, otherwise 202 with the current status; a failed run is returned with `success: false`. " +
			"Inside a run, the caller's task is the task of that run. Elsewhere it is `taskId`, which the " +
			"caller must own; without it the new task has no parent. " +
			"The new run never has more tools or higher limits than the caller's run.",
	},
	"GET /api/delegate/{id}": {
		Also:    http.StatusAccepted,
		Tag:     "Delegation",
		Summary: "Read the state of a delegation, or wait until it ends",
		Desc: "Use the id of any of its runs. Returns 200 if it has ended, otherwise 202. Only for the " +
			"agent that delegated, the owners of the parent tasks, and people.",
	},
	"POST /api/delegate/{id}/stop": {
		Also:    http.StatusAccepted,
		Tag:     "Delegation",
		Summary: "Stop a delegation",
		Desc:    "Cancels its task and all subtasks, and stops their processes.",
	},
	"POST /api/worker/lease": {
		Tag:     "Workers",
		Summary: "Take a run to execute on this machine",
		Desc:    "If there is no run, the response is `{\"run\":null}`. Requires a token with the scope worker.",
	},
	"POST /api/worker/runs/{id}/working": {
		Tag:     "Workers",
		Summary: "Report that the program has received its prompt",
		Desc:    "Safe to repeat." + reportDoc,
	},
	"POST /api/worker/runs/{id}/heartbeat": {
		Tag:     "Workers",
		Summary: "Renew the lease of a run, and see whether it was canceled",
		Desc:    "`{\"cancel\":true}`, with phase and reason, means that the run has ended: stop." + reportDoc,
	},
	"POST /api/worker/runs/{id}/events": {
		Tag:     "Workers",
		Summary: "Add events to the transcript of a run",
		Desc:    "Events are numbered, so a report is safe to repeat." + reportDoc,
	},
	"POST /api/worker/runs/{id}/finish": {
		Tag:     "Workers",
		Summary: "Report how a run ended",
		Desc:    "Safe to repeat. The token of the run expires with the run." + reportDoc,
	},
	"GET /api/events": {
		Tag:     "Events",
		Summary: "Read the log, oldest first, or follow it",
		Desc: "Only admins see events about people, their sign-ins, tokens and addresses. With `Accept: text/event-stream` the response " +
			"is a live stream that starts after `Last-Event-ID` or `after`, otherwise now. After a restore, the log can be shorter than " +
			"what a client has read: a stream then starts at the end, and a page is refused with 422.",
	},
	"GET /api/stats": {
		Tag:     "Events",
		Summary: "Read counts, queue depths, run outcomes, durations, tokens and cost by hour or day",
	},
	"GET /api/pauses": {
		Tag:     "Pause",
		Summary: "List what is paused, by whom, since when and why",
	},
	"POST /api/pause": {
		Tag:     "Pause",
		Summary: "Pause the whole server or one agent",
		Desc:    pauseDesc,
	},
	"POST /api/resume": {
		Tag:     "Pause",
		Summary: "Resume the whole server or one agent",
	},
	"POST /api/stop-everything": {
		Tag:     "Pause",
		Summary: "Pause the whole server and stop every active run",
		Desc: "Active runs are canceled immediately; their processes exit within 10 seconds. Runs that are queued or waiting for " +
			"approval are kept, and cannot start before the resume.",
	},
	"GET /api/inbox": {
		Tag:     "Inbox",
		Summary: "Read what is waiting for a person",
		Desc: "At most 50 entries of each kind; `totals` counts them all. With a person's own token, entries that they snoozed are " +
			"left out.",
	},
	"POST /api/inbox/notices/{id}/acknowledge": {
		Tag:     "Inbox",
		Summary: "Acknowledge a notice, which removes it from the inbox",
		Desc:    "The id is the messageId of the notice. Acknowledging it twice is not an error.",
	},
	"GET /api/settings": {
		Tag:     "Settings",
		Summary: "List the settings that can be changed while the server is running",
		Desc:    "Values are strings, as in environment variables and flags. Only admins see sources and locks.",
	},
	"PATCH /api/settings": {
		Tag:     "Settings",
		Summary: "Change settings of the running server",
		Desc: "Applies all changes or none. They take effect immediately and are written to the configuration file, whose comments are kept. " +
			"Other settings that were changed in the file since it was read take effect, too. Settings from variables or flags are locked.",
	},
	"GET /api/users": {
		Tag:     "People",
		Summary: "List people",
	},
	"POST /api/users": {
		Status:  http.StatusCreated,
		Tag:     "People",
		Summary: "Add a person",
	},
	"PATCH /api/users/{id}": {
		Tag:     "People",
		Summary: "Change the role or password of a person, or disable them",
		Desc:    "Their sessions end.",
	},
	"GET /api/tokens": {
		Tag:     "Tokens",
		Summary: "List tokens; secrets are never shown again",
		Desc:    "Admins see all tokens; other people see those of their own account.",
	},
	"POST /api/tokens": {
		Status:  http.StatusCreated,
		Tag:     "Tokens",
		Summary: "Create a token",
		Desc: "Admins can create any token. Other people who are signed in can create tokens of their own account (own), with at most their " +
			"role. A token cannot create tokens, unless it is an admin's. The secret is only in this response; " +
			"an Idempotency-Key has no effect here, because the secret is not stored.",
	},
	"DELETE /api/tokens/{id}": {
		Status:  http.StatusNoContent,
		Tag:     "Tokens",
		Summary: "Revoke a token immediately",
		Desc:    "Admins can revoke any token, other people those of their own account; a person's token can revoke itself.",
	},
	"GET /api/me": {
		Tag:     "People",
		Summary: "Read who the token or session belongs to",
	},
}
