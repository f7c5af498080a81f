#!/usr/bin/env bash
# Runs all checks: generated files, golangci-lint (format, vet, staticcheck and
# others), the tests with the race detector, and the tests of programs and pages in
# their whole form. `make check` and .ci/run call it. Works from any directory.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '== %s (after %d s)\n' "$*" "$SECONDS"; }
sums() { find . -name '*_templ.go' -exec sha256sum {} + | sort -k 2; }

step "generated files (templ)"
before=$(sums)
go tool templ generate
if ! diff <(printf '%s\n' "$before") <(sums); then
	echo 'generated files are out of date: run "make generate" and commit the result' >&2
	exit 1
fi

step "golangci-lint"
tools/lint.sh run ./...

step "other platforms: everything for macOS, the client for Windows"
go run ./tools/typecheck darwin/arm64 .
go run ./tools/typecheck windows/amd64 . # compiling it would take 100 s of CPU time

if command -v systemd-analyze >/dev/null; then
	step "systemd unit"
	tools/check-unit.sh packaging/taskyard.service
fi

check() { go test -vet=off -shuffle=on -timeout 20m "$@"; } # golangci-lint has already vetted them

if command -v pg_ctl >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
	step "go test ./db on PostgreSQL"
	TASKYARD_TEST_POSTGRES=start check ./db
	step "stories on three servers"
	stories='0[1-9]|1[0-28]|23'
	[ -z "${CI:-}" ] || [ "$SECONDS" -le 200 ] || stories='01|05|08|09|12|23' # the others would take another minute here
	TASKYARD_TEST_SERVERS=3 check -run "TestStory($stories)" ./e2e
fi

# The race detector slows down process starts and cannot observe other processes.
# On a CI machine that has taken more than 140 s so far, it would take more than
# 15 minutes for all packages: it then checks only those with the most concurrency,
# and the other packages run in their short form.
form=${TASKYARD_TRIALS:-whole}
watched=$(go list ./... | grep -Ev '/(e2e|jobs/trials|runner/builtin/tools|runner/repository)(/|$)')
if [ -n "${CI:-}" ] && [ "$SECONDS" -gt 140 ]; then
	echo 'this machine is slow: running fewer packages with the race detector, and the short form of all tests'
	form=
	watched=$(go list ./... | grep -E '/(service|jobs|internal/worker)$')
fi
# Packages without the detector, or with tests that are skipped under it.
others=$(go list ./... | grep -vxF "$(grep -Ev '/(handlers|internal/mcpserver)$' <<<"$watched")")

step "go test with the race detector"
# Skip the second that the detector sleeps at the end of every process.
# shellcheck disable=SC2086
GORACE=atexit_sleep_ms=0 check -race $watched

step "go test of programs and pages"
# shellcheck disable=SC2086
TASKYARD_TRIALS=$form check $others
