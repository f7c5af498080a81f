#!/usr/bin/env bash
# Runs every check: generated files, golangci-lint (format, vet, staticcheck and
# others), the tests with the race detector, and those of programs and pages in
# their whole form. `make check` and .ci/run call it; run it from anywhere.
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

check() { go test -vet=off -shuffle=on -timeout 20m "$@"; } # golangci-lint has vetted the tests

if command -v pg_ctl >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
	step "go test ./db on PostgreSQL"
	TASKYARD_TEST_POSTGRES=start check ./db
	step "stories on three servers"
	TASKYARD_TEST_SERVERS=3 check -run 'TestStory(0[1-9]|1[0-28]|23)' ./e2e
fi

# Tests of programs and browsers take most of the time and are not watched by the
# race detector, which does not see into other processes.
programs='/(e2e|jobs/trials|runner/builtin/tools|runner/repository)(/|$)'

step "go test with the race detector"
mapfile -t packages < <(go list ./... | grep -Ev "$programs")
# Without the second that the detector sleeps at the end of every process.
GORACE=atexit_sleep_ms=0 check -race "${packages[@]}"

mapfile -t packages < <(go list ./... | grep -E "$programs")
if [ "$SECONDS" -lt 540 ] || [ -z "${CI:-}" ]; then
	step "go test of programs and pages, the whole form"
	TASKYARD_TRIALS=${TASKYARD_TRIALS:-whole} check "${packages[@]}" ./handlers
else # the whole form would not end within 25 minutes
	step "go test of programs and pages, the short form: this machine is slow"
	check "${packages[@]}"
fi
