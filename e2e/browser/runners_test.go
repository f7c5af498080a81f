package browser

import (
	"time"

	"taskyard/task"
)

// sampleRunners are runners in every state.
type sampleRunners struct{}

func (sampleRunners) Refresh() {}

func (sampleRunners) Runners() []task.RunnerInfo {
	at := task.TimeFromStd(time.Now().Add(-40 * time.Second))
	return []task.RunnerInfo{
		{
			Name: "builtin", Kind: "builtin", Title: "Built-in agent", Lack: task.LacksConfiguration,
			Installed: true, Version: "provider local, model qwen3-coder",
			EnforcesTools: true, Tools: "Each call is checked against the agent's list when it is made.",
			Shell:   "bash: landlock v7 + no network; with network: landlock v7, network open",
			Network: "bash: closed, unless the definition says network: true; fetch: only public addresses", ProbedAt: at,
		},
		{
			Name: "claude", Kind: "claude", Title: "Claude Code",
			Problem: "the program claude cannot be started: executable file not found in $PATH",
			Remedy: "Install it on this machine, or write its full path into command " +
				"of [runners.claude]; the server looks for it in its PATH.",
			EnforcesTools: true, Tools: "The program is given the agent's list by --tools and refuses all others.",
			Shell: "not confined: commands run as the account of the server", Network: "open", ProbedAt: at,
		},
		{
			Name: "gemini", Kind: "acp", Title: "Agent Client Protocol", Installed: true,
			Problem: "it does not tell its version: It ran longer than its time limit of 10 s",
			Remedy:  "Start it by hand with the account of the server and see what it says; agents may work all the same.",
			Path:    "/usr/local/lib/node_modules/@google/gemini-cli/bin/gemini-with-a-long-name",
			Tools:   "The agent receives the list of tools; it asks before a call only when it chooses to.",
			Shell:   "not confined: commands run as the account of the server", Network: "open", ProbedAt: at,
		},
		{
			Name: "script", Kind: "command", Title: "Any program", Installed: true, Probing: true,
			Tools: "The program receives the list of tools; Taskyard does not enforce it.",
			Shell: "not confined: it can do anything the server's account can", Network: "open", ProbedAt: at,
		},
		{
			Name: "gpu-machines", Kind: "worker", Title: "Workers on other machines", Lack: task.LacksWorker,
			Tools: "A worker on another machine starts it; enforcement of its tools is configured there.",
			Shell: "decided where it works, not here", Network: "decided where it works, not here",
		},
	}
}
