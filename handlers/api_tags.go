package handlers

// apiTags documents each group of endpoints in the reference.
var apiTags = map[string]string{
	"Agents":     "Definitions of agents, their queues, and the runners that start them.",
	"Approvals":  "Decisions of people on runs that wait, and on tool calls that ask.",
	"Delegation": "Subtasks with a run of their own, whose summary comes back.",
	"Events":     "The append-only log, as pages and as a stream.",
	"Inbox":      "What waits for a person.",
	"Pause":      "Pausing, resuming and stopping agents.",
	"People":     "Accounts and roles.",
	"Projects":   "Git repositories, their checks and reviews.",
	"Queues":     "Claims: signing up for tasks, handing them over, releasing them.",
	"Results":    "What tasks hand in, its review and its merge.",
	"Runs":       "Executions of agents on tasks, with transcripts and changed files.",
	"Settings":   "Settings that the server takes while it runs.",
	"Steps":      "Plans of tasks, their resources and subtasks.",
	"Tasks":      "Work with one owner, open or archived.",
	"Threads":    "Comments, questions, notices and answers of a task.",
	"Todo lists": "An agent's private list of plain texts, with two ends.",
	"Tokens":     "Bearer tokens of agents and people.",
	"Workers":    "Processes on other machines that execute runs.",
}
