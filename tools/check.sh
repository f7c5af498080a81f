#!/usr/bin/env bash
# Runs every check: generated files, golangci-lint (format, vet, staticcheck and
# others), the whole form of the tests with the race detector. `make check` and
# .ci/run call it; run it from anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '== %s (after %d s)\n' "$*" "$SECONDS"; }
sums() { find . -name '*_templ.go' -exec sha256sum {} + | sort -k 2; }

step "generated files (templ)"
before=$(sums)
go tool templ generate
if ! diff <(printf '%s\n' "$before") <(sums); then
	echo 'generated files were not current: commit what "make generate" made' >&2
	exit 1
fi

step "golangci-lint"
tools/lint.sh run ./...

step "other platforms: everything for macOS, the client for Windows"
go run ./tools/typecheck darwin/arm64 .
CGO_ENABLED=0 GOOS=windows go build -o /dev/null .

if command -v systemd-analyze >/dev/null; then
	step "unit of systemd"
	tools/check-unit.sh packaging/taskyard.service
fi

if command -v pg_ctl >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
	step "go test ./db on PostgreSQL"
	TASKYARD_TEST_POSTGRES=start go test -shuffle=on -timeout 8m ./db
	step "stories on three servers"
	TASKYARD_TEST_SERVERS=3 go test -shuffle=on -timeout 8m -run 'TestStory(0[1-9]|1[0-28]|23)' ./e2e
fi

step "go test ./... with the race detector"
# Without the second that the detector sleeps at the end of every process:
# tests start hundreds.
GORACE=atexit_sleep_ms=0 TASKYARD_TRIALS=${TASKYARD_TRIALS:-whole} go test -race -shuffle=on -timeout 20m ./...
