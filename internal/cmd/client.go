package cmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"taskyard/internal/client"
)

// clientCommands talk to a running server, on any machine.
type clientCommands struct {
	Task     taskCmd               `cmd:"" help:"Create, claim, plan, hand over and finish tasks."`
	Todo     client.Todos          `cmd:"" help:"Use the todo list of an agent."`
	Agent    agentCmd              `cmd:"" help:"Show the agents and their queues; check definition files."`
	Runs     client.Runs           `cmd:"" name:"run" help:"Show, approve, cancel and wait for runs."`
	Delegate client.Delegate       `cmd:"" help:"Delegate work to another agent."`
	Project  client.Projects       `cmd:"" help:"Manage projects: repositories, checks, review and merge."`
	Review   client.Reviews        `cmd:"" help:"Review the results of tasks: show, comment, accept."`
	Merge    client.Merges         `cmd:"" help:"Show the merge queue."`
	Inbox    client.Inbox          `cmd:"" help:"Show what is waiting for people."`
	Events   client.Events         `cmd:"" help:"Read or follow the event log."`
	Usage    client.UsageReport    `cmd:"" help:"Show tool calls, tokens and cost, and today's budgets."`
	Pause    client.Pause          `cmd:"" help:"Pause one agent or all: nothing starts, nothing is claimed."`
	Resume   client.Resume         `cmd:"" help:"End a pause."`
	Stop     client.StopEverything `cmd:"" name:"stop-everything" help:"Pause the whole instance and stop every run."`
	Settings client.Settings       `cmd:"" help:"Show and change the settings of a running server."`
	Ping     client.Ping           `cmd:"" help:"Report whether the server is ready. Needs no token."`
	WhoAmI   client.WhoAmI         `cmd:"" name:"whoami" help:"Show who the token belongs to."`
}

// Groups are the groups of commands in the help.
var Groups = []kong.Group{
	{Key: "serve", Title: "Run a server:"},
	{Key: "work", Title: "Work with a server:"},
	{Key: "data", Title: "Manage a data folder:"},
	{Key: "self", Title: "This program:"},
}

// clientEnv returns the environment of client commands.
func clientEnv(e *Env) *client.Env {
	return &client.Env{
		Ctx: e.Ctx, Getenv: e.Getenv, Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr,
		Width: columns(e.Stdout), AddressFile: e.AddressFile,
	}
}

// withExamples adds the examples of each command to its help.
func withExamples(k *kong.Kong) error {
	k.Model.Detail = client.Examples("")
	return kong.Visit(k.Model, func(v kong.Visitable, next kong.Next) error {
		if n, ok := v.(*kong.Node); ok {
			n.Detail = client.Examples(n.Path())
		}
		return next(nil)
	})
}

// printUsageError prints what is wrong with a command line, and where to read more. The
// default command takes no arguments, so an extra first word was meant as a
// command.
func printUsageError(e *Env, args []string, err error) int {
	at := "taskyard"
	var p *kong.ParseError
	if errors.As(err, &p) && p.Context != nil && p.Context.Selected() != nil {
		at = p.Context.Selected().FullPath()
	}
	if len(args) > 0 && strings.HasPrefix(err.Error(), "unexpected argument "+args[0]) && at == "taskyard serve" {
		fmt.Fprintf(e.Stderr, "taskyard: there is no command %s; taskyard --help lists them\n", client.Printable(args[0]))
		return client.ExitUsage
	}
	if flag, isFlag := strings.CutPrefix(err.Error(), "unknown flag "); isFlag {
		flag, _, _ = strings.Cut(flag, ",") // "did you mean" another flag
		if _, no := strconv.ParseFloat(flag, 64); no == nil {
			fmt.Fprintf(e.Stderr, "taskyard: %s looks like a flag; write -- %s for a negative value; see %s --help\n", flag, flag, at)
			return client.ExitUsage
		}
	}
	if p != nil && p.Context != nil {
		if word, name := suggestCommand(p.Context.Selected(), args); name != "" {
			fmt.Fprintf(e.Stderr, "taskyard: there is no command %s of %s, did you mean %q?; see %s --help\n", word, at, name, at)
			return client.ExitUsage
		}
	}
	fmt.Fprintf(e.Stderr, "taskyard: %v; see %s --help\n", err, at)
	return client.ExitUsage
}

// otherNames are names that our commands have in other programs, and that
// differ too much to be detected as typos.
var otherNames = map[string]string{
	"add": "create", "close": "complete", "delete": "cancel", "done": "complete", "edit": "update", "finish": "complete",
	"get": "show", "ls": "list", "new": "create", "rm": "cancel", "start": "run", "take": "claim", "view": "show",
}

// suggestCommand returns the first word of args that is not a command of a group, and
// the command that it probably means, or "".
func suggestCommand(group *kong.Node, args []string) (word, name string) {
	if group == nil {
		return "", ""
	}
	for i, arg := range args {
		if arg != group.Name || i+1 == len(args) {
			continue
		}
		word = args[i+1]
		for _, c := range group.Children {
			if c.Name == otherNames[word] {
				return word, c.Name
			}
		}
	}
	return "", ""
}

// ended prints an error and returns its exit code.
func ended(e *Env, err error) int {
	if err == nil {
		return client.ExitDone
	}
	message := err.Error()
	if e.Ctx.Err() != nil && errors.Is(err, context.Canceled) {
		message = "interrupted"
	}
	fmt.Fprintln(e.Stderr, "taskyard:", client.Printable(message))
	var usage *usageError
	var coded *exitError
	switch {
	case errors.As(err, &usage):
		return client.ExitUsage
	case errors.As(err, &coded):
		return coded.code
	}
	return client.ExitCode(err)
}
