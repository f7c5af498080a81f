// Taskyard is one self-hosted server in which people and AI agents share work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"taskyard/cli"
	"taskyard/runner"
)

// version is set by the linker; "dev" in a plain build.
var version = "dev"

// Exit codes of the command line.
const (
	exitOK      = 0
	exitRefused = 1
	exitUsage   = 2
)

// commands is the whole command line; serve is the default.
type commands struct {
	Serve   serveCmd   `cmd:"" default:"withargs" help:"Serve the yard (the default command). The first line on stdout is the sign-in link; logs go to stderr."`
	Demo    demoCmd    `cmd:"" help:"Serve a yard with three scripted agents and a few tasks, to look around in. Needs no model and no network."`
	Backup  backupCmd  `cmd:"" help:"Write a checked copy of the database to a new file, while the server runs too. A plain file copy may be corrupt."`
	Restore restoreCmd `cmd:"" help:"Put a backup in the place of the database, after checking it. The server must be stopped; the old database is kept beside."`
	Check   checkCmd   `cmd:"" help:"Check integrity, references, the hash chain of the log, and the agents' definitions."`
	Export  exportCmd  `cmd:"" help:"Write all tasks with their threads, and the todo lists, into plain files, while the server runs too."`
	Import  importCmd  `cmd:"" help:"Read the files of an export, or the tasks of Beads, Task Master or Backlog.md. All or nothing; --dry-run shows what becomes what."`
	User    userCmd    `cmd:"" help:"Add people and set passwords, without a browser."`
	Token   tokenCmd   `cmd:"" help:"Create and revoke tokens, without a browser."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"Speak MCP on stdin and stdout, for agents that start their MCP servers; needs TASKYARD_URL and TASKYARD_TOKEN."`
	Config  configCmd  `cmd:"" help:"Print the effective configuration and where each value comes from."`
	Version versionCmd `cmd:"" help:"Print the version."`
	Agent   agentCmd   `cmd:"" name:"demo-agent" hidden:"" help:"The scripted agent of the demo."`
}

// env is what a command gets from its surroundings.
type env struct {
	ctx            context.Context
	getenv         func(string) string
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

func main() {
	// Before all else: the shim that stands between the server and an agent is
	// this binary too.
	if len(os.Args) > 1 && os.Args[1] == runner.ShimArg {
		os.Exit(runner.ShimMain(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e := &env{ctx: ctx, getenv: os.Getenv, environ: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	code := run(e, os.Args[1:])
	stop()
	os.Exit(code)
}

// run is the program without its process: arguments in, exit code out.
func run(e *env, args []string) int {
	var cmds commands
	exited := -1
	parser, err := kong.New(&cmds, kong.Name("taskyard"), kong.Description("A task yard for people and AI agents: queues, claims, runs with approval, one file, one binary."),
		kong.UsageOnError(), kong.Writers(e.stdout, e.stderr), kong.Exit(func(code int) { exited = code }),
		kong.Bind(e), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(e.stderr, "taskyard:", err)
		return exitUsage
	}
	kctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		fmt.Fprintf(e.stderr, "taskyard: %v; taskyard --help lists the commands\n", err)
		return exitUsage
	}
	err = kctx.Run(e)
	var usage *usageError
	var coded *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintln(e.stderr, "taskyard:", err)
		return exitUsage
	case errors.As(err, &coded):
		fmt.Fprintln(e.stderr, "taskyard:", err)
		return coded.code
	}
	fmt.Fprintln(e.stderr, "taskyard:", err)
	return exitRefused
}

// usageError is a wrong use of a command.
type usageError struct{ msg string }

func (u *usageError) Error() string { return u.msg }

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	error
}

func (e *exitError) Unwrap() error { return e.error }

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(e *env) error {
	fmt.Fprintln(e.stdout, "taskyard", version)
	return nil
}

type agentCmd struct {
	Fast bool `help:"Do not pause between acts."`
}

// Run is one run of the scripted agent.
func (c *agentCmd) Run(e *env) error {
	return cli.DemoAgent(e.ctx, cli.DemoOptions{Getenv: e.getenv, Stdin: e.stdin, Stdout: e.stdout, Stderr: e.stderr, Fast: c.Fast})
}
