//go:build !windows

// Taskyard is one self-hosted server in which people and AI agents share work.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"taskyard/internal/client"
	"taskyard/internal/cmd"
	"taskyard/internal/config"
	"taskyard/runner"
	"taskyard/runner/supervise"
)

func main() {
	// The processes between the server and an agent use the same binary.
	if code, ok := runner.HelperMain(os.Args[1:]); ok {
		os.Exit(code)
	}
	if err := supervise.Adopt(); err != nil {
		fmt.Fprintln(os.Stderr, "taskyard: processes that lose their shim are not found:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cmd.Run(&cmd.Env{
		Ctx: ctx, Getenv: os.Getenv, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Build: cmd.Build(),
		SystemConfig: config.SystemFile, AddressFile: client.AddressFile,
	}, os.Args[1:])
	stop()
	os.Exit(code)
}
