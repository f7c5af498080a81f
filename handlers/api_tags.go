package handlers

// apiTags documents each group of endpoints in the reference.
var apiTags = map[string]string{
	"Agents":     "Agent definitions, their queues, and the runners that start them.",
	"Approvals":  "Decisions by people on waiting runs and on tool calls.",
	"Delegation": "Subtasks with their own run, which returns a summary.",
	"Events":     "The append-only log, as pages and as a stream.",
	"Inbox":      "What is waiting for a person.",
	"Pause":      "Pausing, resuming and stopping agents.",
	"People":     "Accounts and roles.",
	"Projects":   "Git repositories, their checks and reviews.",
	"Queues":     "Claims: signing up for tasks, handing them over, releasing them.",
	"Results":    "What tasks submit: their changes, reviews and merges.",
	"Runs":       "Executions of agents on tasks, with transcripts and changed files.",
	"Settings":   "Settings that can be changed while the server is running.",
	"Steps":      "Plans of tasks, their resources and subtasks.",
	"Tasks":      "Units of work with one owner, open or archived.",
	"Threads":    "Comments, questions, notices and answers on a task.",
	"Todo lists": "A double-ended list of plain strings for each agent.",
	"Tokens":     "Bearer tokens of agents and people.",
	"Workers":    "Processes on other machines that execute runs.",
}
