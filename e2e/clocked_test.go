package e2e

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/cmd"
	"taskyard/internal/testkit"
	"taskyard/runner/supervise"
)

// clockedArg makes the test binary a server whose wall clock a test sets. The
// next argument is the file that says how far it is ahead.
const clockedArg = "__clocked"

func clockedMain(file string) {
	now := func() time.Time {
		b, _ := os.ReadFile(file)
		ahead, _ := time.ParseDuration(string(b)) // 0 until the file is written
		return time.Now().Add(ahead)
	}
	if err := supervise.Adopt(); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cmd.Run(&cmd.Env{
		Ctx: ctx, Getenv: os.Getenv, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Now: now, Build: testBuild,
	}, os.Args[3:])
	stop()
	os.Exit(code)
}

// clocked makes a server run on a wall clock that the returned function sets ahead,
// as on a machine that was suspended.
func clocked(t *testing.T, s *server) (ahead func(time.Duration)) {
	t.Helper()
	self := testBinary(t)
	file := filepath.Join(t.TempDir(), "ahead")
	s.program = []string{self, clockedArg, file}
	return func(d time.Duration) {
		put(t, file+".new", d.String())
		testkit.NoError(t, os.Rename(file+".new", file))
	}
}
