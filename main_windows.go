// Taskyard on Windows is the client; servers run on Linux and macOS.
package main

import (
	"context"
	"os"
	"os/signal"

	"taskyard/internal/cmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := cmd.Run(&cmd.Env{
		Ctx: ctx, Getenv: os.Getenv, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Build: cmd.Build(),
	}, os.Args[1:])
	stop()
	os.Exit(code)
}
