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
		Summary: "Read any task, open or archived, with relations",
	},
	"PATCH /api/tasks/{id}": {
		Tag:     "Tasks",
		Summary: "Change fields or status of a task",
		Desc:    "Send `version`, or `If-Match`, to get a conflict instead of overwriting another change.",
	},
	"POST /api/tasks/{id}/complete": {
		Tag:     "Tasks",
		Summary: "Complete and archive a task",
		Desc: "Of a task of a project the required checks run first: 409 `checks_failed` has the end of the log. A call is held " +
			"at most 50 s; while the checks still run it answers 409 `checks_running`, and the same call made again waits on. " +
			"Then the task waits for review or merge where the project says so: see `waitingFor`.",
	},
	"POST /api/tasks/{id}/cancel": {
		Tag:     "Tasks",
		Summary: "Cancel a task and every open subtask below it",
	},
	"POST /api/tasks/{id}/run": {
		Status:  http.StatusAccepted,
		Tag:     "Runs",
		Summary: "Dispatch a run of a task now",
		Desc:    "Answers at once; follow the run by its id.",
	},
	"POST /api/tasks/{id}/move": {
		Tag:     "Queues",
		Summary: "Hand over a claimed task to another agent",
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
		Desc:    "For steps whose details were shortened in an answer (`detailsCut`).",
	},
	"PUT /api/tasks/{id}/steps": {
		Tag:     "Steps",
		Summary: "Replace the whole plan of a task",
		Desc:    "Only while no step is linked to a subtask; after that, change steps one by one.",
	},
	"POST /api/tasks/{id}/steps": {
		Tag:     "Steps",
		Summary: "Add a step, at the end or before another one",
		Desc:    "Links of steps to subtasks are kept. Returns the task.",
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
		Desc:    "A person's comment wakes the owner of an active task.",
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
		Desc: "A run that has ended is a message of kind run: runId, its summary (type result) or reason (type error), " +
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
		Desc: "Completing a task of a project makes a result: its change, the verdicts of its checks, and the votes of people. " +
			"It never changes, but for its state.",
	},
	"GET /api/tasks/{id}/results/{number}": {
		Tag:     "Results",
		Summary: "Read a result of a task",
	},
	"GET /api/tasks/{id}/results/{number}/diff": {
		Tag:     "Results",
		Summary: "Read what a result changes: the list of files, or the lines of one",
	},
	"POST /api/tasks/{id}/results/{number}/accept": {
		Tag:     "Results",
		Summary: "Accept a result as you saw it, and send your drafts",
		Desc: "One vote of one person on one digest; another digest is a 409. With the last vote that the policy asks for, " +
			"the result goes into the merge queue, or the task is done. Agents and tokens of nobody may never accept.",
	},
	"POST /api/tasks/{id}/results/{number}/request-changes": {
		Tag:     "Results",
		Summary: "Send a result back to its owner, with your drafts, and wake it",
	},
	"GET /api/tasks/{id}/checks": {
		Tag:     "Results",
		Summary: "List the checks of a task that are in force, and their last executions",
		Desc: "Checks add up: those of the project, of the agent and of the task itself. One that is the same as another of its name " +
			"runs once; one that differs runs too, as NAME.agent or NAME.task.",
	},
	"POST /api/tasks/{id}/checks/{name}/run": {
		Tag:     "Results",
		Summary: "Run one check of a task again",
		Desc: "A call is held at most 50 s; while the check still runs it answers 409 `checks_running`, and the same call made again " +
			"waits on. Another verdict of a required check makes a new result of the same change, on which nobody has voted.",
	},
	"GET /api/tasks/{id}/checks/{check}": {
		Tag:     "Results",
		Summary: "Read an execution of a check with its log",
	},
	"GET /api/tasks/{id}/review-comments": {
		Tag:     "Results",
		Summary: "List the comments on the results of a task",
		Desc:    "Lines are those in the newest result; `outdated` comments are about lines that no longer exist.",
	},
	"POST /api/tasks/{id}/review-comments": {
		Tag:     "Results",
		Summary: "Keep a draft of a comment on the newest result",
		Desc:    "Nobody else sees it until you send your drafts, or decide on the result.",
	},
	"POST /api/tasks/{id}/review-comments/submit": {
		Tag:     "Results",
		Summary: "Send your drafts without a decision",
	},
	"PATCH /api/tasks/{id}/review-comments/{comment}": {
		Status:  http.StatusNoContent,
		Tag:     "Results",
		Summary: "Change or delete a draft of yours",
	},
	"POST /api/tasks/{id}/review-comments/{comment}/reply": {
		Tag:     "Results",
		Summary: "Answer a comment on a result",
		Desc:    "The owner of the task says `fixed`, or `declined` with a reason; people also resolve and reopen.",
	},
	"GET /api/projects": {
		Tag:     "Projects",
		Summary: "List projects with how many tasks they have",
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
		Desc:    "Send `version` to be told when somebody else was faster. What is left out gets its default.",
	},
	"POST /api/projects/{key}/examine": {
		Tag:     "Projects",
		Summary: "Look at the repository of a project: what is as it should be, and what is not",
	},
	"GET /api/merges": {
		Tag:     "Projects",
		Summary: "Read the merge queue, and the merges that have ended",
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
		Desc:    "Invalid text is saved only with `force`. Send `If-Match` to get a conflict if the file changed meanwhile.",
	},
	"DELETE /api/agents/{id}": {
		Status:  http.StatusNoContent,
		Tag:     "Agents",
		Summary: "Remove the definition file of an agent",
	},
	"GET /api/agents/{id}/queue": {
		Tag:     "Queues",
		Summary: "List the active tasks of an agent in order",
	},
	"POST /api/agents/{id}/signup": {
		Tag:     "Queues",
		Summary: "Claim the first free task of a queue",
		Desc: "Nothing free is a normal answer: `{\"task\":null}`, or with count `{\"tasks\":[]}`. With `waitSeconds` the " +
			"call waits until a task is free or the time is up; callers are served in the order of their arrival, " +
			"and one that has disconnected claims nothing. `maxConcurrent` cannot be combined with the others. While the agent or the " +
			"server is paused: 409 `paused`, with Retry-After; callers that wait already keep waiting.",
	},
	"POST /api/agents/{id}/complete-and-signup": {
		Tag:     "Queues",
		Summary: "Complete one task and claim the next",
		Desc:    "While the agent or the server is paused it only completes: `task` is null, and `paused` says why.",
	},
	"POST /api/agents/{id}/reassign": {
		Tag:     "Queues",
		Summary: "Hand several tasks to another agent, all or none",
	},
	"POST /api/agents/{id}/todo": {
		Tag:     "Todo lists",
		Summary: "Push, pop or read an agent's todo list",
		Desc: "A deque of plain strings for each agent, which every agent and person may use; viewers may read. Push and " +
			"count answer `{\"ok\":true,\"count\":3}`, pop and peek `{\"ok\":true,\"item\":\"…\"}`, " +
			"list `{\"ok\":true,\"items\":[…]}` front to back. Nothing to pop or peek at is a normal answer: `{\"ok\":false}`. " +
			"A list that does not fit into one answer (1000 items, about 1 MiB) comes with `count` and the cursor `next`.",
	},
	"GET /api/runs": {
		Tag:     "Runs",
		Summary: "List runs, newest first",
	},
	"GET /api/runs/{id}": {
		Tag:     "Runs",
		Summary: "Read a run with result, limits, usage, approval and changed files",
	},
	"GET /api/runs/{id}/diff": {
		Type:    diffType,
		Tag:     "Runs",
		Summary: "Read what a run changed as a unified diff",
		Desc: "Text, at most about 256 KiB of lines; lines that begin with " +
			"`#` say what is left out. Empty until the run has ended, and when nothing changed.",
	},
	"GET /api/runs/{id}/messages": {
		Tag:     "Runs",
		Summary: "Read the transcript of a run, oldest first",
	},
	"POST /api/runs/{id}/messages": {
		Tag:     "Runs",
		Summary: "Send a message to the agent of a running run",
		Desc: "Queued until the agent gets it: the built-in agent and Claude Code between two calls of their model, Codex and ACP " +
			"agents at the end of their turn. `said` of GET /api/runs/{id} tells which were delivered. At most 100 per run. A run " +
			"that has not started, is ending, or whose runner passes no messages on answers 409 `run_takes_no_messages`: comment on " +
			"the task instead. What a run did not get becomes a comment on its task, and one more run follows.",
	},
	"GET /api/runs/{id}/messages/{message}": {
		Tag:     "Runs",
		Summary: "Read one line of a transcript",
		Desc: "If a line is too long for one answer, `contentCut` is the number of bytes of its content that are " +
			"left out; add the number of bytes that you have to `from` and ask again.",
	},
	"POST /api/runs/{id}/approve": {
		Tag:     "Approvals",
		Summary: "Approve a waiting run, exactly as it was shown",
	},
	"POST /api/runs/{id}/deny": {
		Tag:     "Approvals",
		Summary: "Reject a waiting run",
	},
	"POST /api/runs/{id}/undo": {
		Tag:     "Approvals",
		Summary: "Undo your decision on a run, before it takes effect",
		Desc:    "While `held` is in the run. Afterwards: 409 `run_already_decided`.",
	},
	"POST /api/runs/{id}/cancel": {
		Tag:     "Runs",
		Summary: "Cancel an open run",
	},
	"POST /api/runs/{id}/retry": {
		Tag:     "Runs",
		Summary: "Run the task of an ended run again",
		Desc:    "Returns the new run, which names the old one.",
	},
	"POST /api/runs/{id}/permissions/{n}/allow": {
		Tag:     "Approvals",
		Summary: "Allow the tool call that a running run asks for",
		Desc:    permissionDesc,
	},
	"POST /api/runs/{id}/permissions/{n}/deny": {
		Tag:     "Approvals",
		Summary: "Deny the tool call that a running run asks for",
		Desc:    permissionDesc,
	},
	"GET /api/usage": {
		Tag:     "Runs",
		Summary: "Sum up tool calls, tokens and cost by day, agent, model, project, task or run",
		Desc: "Days, agents and models count usage as it is reported, in whole UTC days; projects, tasks and runs count what ended " +
			"in that time. The usage of one run, also while it runs, is in `usage` of GET /api/runs/{id}. `budgets` are those of today.",
	},
	"GET /api/runners": {
		Tag:     "Agents",
		Summary: "List the runners: what each can start and enforce",
		Desc:    "They are checked in the background: at the start, when a definition or a program changes, and on request.",
	},
	"POST /api/runners/probe": {
		Status:  http.StatusAccepted,
		Tag:     "Agents",
		Summary: "Check all runners again",
		Desc:    "Answers at once; `probing` is true for those that are being checked.",
	},
	"POST /api/delegate": {
		Status:  http.StatusAccepted,
		Also:    http.StatusOK,
		Tag:     "Delegation",
		Summary: "Give work to another agent",
		Desc: "Makes a subtask of the caller's task, owned by the agent, and its run. 200 when that ended within `waitSeconds`, " +
			"else 202 with the status so far; a run that failed is an answer with `success: false`. " +
			"Inside a run the task is that of the run. Elsewhere it is `taskId`, which the " +
			"caller must own, and without one the new task has no parent. " +
			"The run has no tool and no limit that the caller's run does not have.",
	},
	"GET /api/delegate/{id}": {
		Also:    http.StatusAccepted,
		Tag:     "Delegation",
		Summary: "Read the state of a delegation, or wait for its end",
		Desc: "By the id of any of its runs. 200 when it has ended, else 202. For the " +
			"agent that asked, owners of the tasks above, and people.",
	},
	"POST /api/delegate/{id}/stop": {
		Also:    http.StatusAccepted,
		Tag:     "Delegation",
		Summary: "Stop a delegation",
		Desc:    "Cancels its task and all below it; their processes are stopped.",
	},
	"POST /api/worker/lease": {
		Tag:     "Workers",
		Summary: "Take a run to execute on this machine",
		Desc:    "No run is a normal answer: `{\"run\":null}`. Needs a token of the scope worker.",
	},
	"POST /api/worker/runs/{id}/working": {
		Tag:     "Workers",
		Summary: "Report that the program has its prompt",
		Desc:    "May be repeated." + reportDoc,
	},
	"POST /api/worker/runs/{id}/heartbeat": {
		Tag:     "Workers",
		Summary: "Renew the lease of a run, and learn whether it continues",
		Desc:    "`{\"cancel\":true}` with phase and reason: the run has ended; stop." + reportDoc,
	},
	"POST /api/worker/runs/{id}/events": {
		Tag:     "Workers",
		Summary: "Add events to the transcript of a run",
		Desc:    "Events are numbered, so a report may be repeated." + reportDoc,
	},
	"POST /api/worker/runs/{id}/finish": {
		Tag:     "Workers",
		Summary: "Report how a run ended",
		Desc:    "A worker may repeat it. The token of the run expires with the run." + reportDoc,
	},
	"GET /api/events": {
		Tag:     "Events",
		Summary: "Read the log, oldest first, or follow it",
		Desc: "Events about people, their sign-ins, tokens and addresses are for admins, and left out for others. With " +
			"`Accept: text/event-stream` a live stream that starts after `Last-Event-ID` or `after`, else now. A database that was " +
			"restored may be shorter than what a client has read: a stream then starts at the end, and a page is refused with 422.",
	},
	"GET /api/stats": {
		Tag:     "Events",
		Summary: "Counts, queue depths, run outcomes, durations, tokens and cost by hour or day",
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
		Desc: "Active runs are canceled at once; their processes exit within 10 seconds. Runs that are queued or wait for " +
			"approval are kept, and start after a resume at the earliest.",
	},
	"GET /api/inbox": {
		Tag:     "Inbox",
		Summary: "Read what waits for a person",
		Desc: "At most 50 entries of each kind; `totals` counts them all. What a person snoozed on the page is left " +
			"out for their own tokens.",
	},
	"POST /api/inbox/notices/{id}/acknowledge": {
		Tag:     "Inbox",
		Summary: "Take a notice out of the inbox",
		Desc:    "The id is the notice's messageId. Acknowledging twice is not an error.",
	},
	"GET /api/settings": {
		Tag:     "Settings",
		Summary: "List the settings that can be changed while the server runs",
		Desc:    "Values are text, as variables and flags of the server give them. Sources and locks are for admins.",
	},
	"PATCH /api/settings": {
		Tag:     "Settings",
		Summary: "Change settings of the running server",
		Desc: "All or nothing, in use at once, and written into the configuration file; comments in it stay. Other settings that " +
			"were changed in the file since it was read take effect, too. What a variable or a flag sets is locked.",
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
		Summary: "Change role or password of a person, or disable them",
		Desc:    "Their sessions end.",
	},
	"GET /api/tokens": {
		Tag:     "Tokens",
		Summary: "List tokens; secrets are never shown again",
		Desc:    "Admins see all, other people those of their own account.",
	},
	"POST /api/tokens": {
		Status:  http.StatusCreated,
		Tag:     "Tokens",
		Summary: "Create a token",
		Desc: "Admins make any. Every other person who is signed in makes tokens of their own account (own), with at most their role; " +
			"a token makes none, unless it is an admin's. The secret is only in this answer; " +
			"an Idempotency-Key has no effect here, as the secret is not stored.",
	},
	"DELETE /api/tokens/{id}": {
		Status:  http.StatusNoContent,
		Tag:     "Tokens",
		Summary: "Revoke a token at once",
		Desc:    "Admins revoke any, other people those of their own account; a token of a person revokes itself.",
	},
	"GET /api/me": {
		Tag:     "People",
		Summary: "Return who the token or session belongs to",
	},
}
