// Package cmd implements the command line: the tree of commands, and those that
// work on a data folder.
package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"taskyard/internal/buildinfo"
	"taskyard/internal/client"
	"taskyard/internal/roots"
)

// Exit codes of the command line; package client has the others.
const (
	exitOK      = client.ExitDone
	exitRefused = client.ExitRefused
	exitUsage   = client.ExitUsage
)

// Env is the environment of a command.
type Env struct {
	Ctx            context.Context // ends when the program must stop
	Getenv         func(string) string
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Now            func() time.Time // wall clock for tests; nil: that of the database, which for SQLite is the machine's
	Build          buildinfo.Info
	SystemConfig   string // configuration file of the service on this machine; "": none
	AddressFile    string // where that service writes its address; "": none

	level slog.LevelVar // level of the server's log
}

// Run executes the command in args and returns the exit code. It leaves the
// handling of the process to its caller.
func Run(e *Env, args []string) int {
	roots.Use(e.Getenv)
	var cmds Commands
	exited := -1
	e.Stdin = client.ReaderUntil(e.Ctx, e.Stdin)
	ce, out := clientEnv(e), &printed{to: e.Stdout}
	e.Stdout, ce.Stdout = out, out
	parser, err := kong.New(&cmds, kong.Name("taskyard"),
		kong.Description("A task server for people and AI agents: queues, claims, runs with approval, one file, one binary."),
		kong.UsageOnError(), kong.Writers(e.Stdout, e.Stderr), kong.Exit(func(code int) { exited = code }),
		kong.Bind(e, ce), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}), kong.Help(help),
		kong.ExplicitGroups(Groups), kong.PostBuild(withExamples))
	if err != nil {
		fmt.Fprintln(e.Stderr, "taskyard:", err)
		return exitUsage
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") { // commands have their own --version
		args = []string{"version"}
	}
	if len(args) > 0 && args[0] == "help" { // as in git and go: "help task claim"
		args = append(args[1:len(args):len(args)], "--help")
	}
	kctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		return printUsageError(e, args, err)
	}
	ce.Command = kctx.Selected().Name
	err = kctx.Run(e)
	if g := kctx.Selected().Group; err == nil && (g == nil || g.Key != "serve") {
		err = out.failure() // a server has lost only its first line, but not its work
	}
	return ended(e, err)
}

// help prints the help of a command, including that of its default subcommand.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	n := ctx.Selected()
	if n == nil || n.DefaultCmd == nil {
		return nil
	}
	start, err := kong.Trace(ctx.Kong, append(strings.Fields(n.Path()), n.DefaultCmd.Name))
	if err != nil {
		return err
	}
	fmt.Fprintln(ctx.Stdout)
	return kong.DefaultHelpPrinter(options, start)
}

// usageError is a wrong use of a command.
type usageError struct{ msg string }

func (u *usageError) Error() string { return u.msg }

// exitError is an error with its own exit code.
type exitError struct {
	code int
	error
}

func (e *exitError) Unwrap() error { return e.error }

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(e *Env) error {
	_, err := fmt.Fprint(e.Stdout, e.Build)
	return err
}
