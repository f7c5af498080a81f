#!/usr/bin/env bash
# Runs golangci-lint at the version that CI uses: tools/lint.sh run ./...
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 "$@"
