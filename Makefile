.DEFAULT_GOAL := help
.PHONY: help check postgres format test generate build run bench bench-peers shots pictures release release-check

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: ## Run everything that CI checks: generated files, golangci-lint, the whole form of the tests
	tools/check.sh

postgres: ## Run the tests of the store and of the packages on top of it on PostgreSQL
	TASKYARD_TEST_POSTGRES=start go test -count=1 ./db ./service ./handlers ./jobs

format: ## Format Go and templ files
	tools/lint.sh fmt
	go tool templ fmt .

test: ## Run the short form of the tests
	go test ./...

generate: ## Generate Go code from the templ files
	go tool templ generate

build: ## Build ./taskyard
	go build -trimpath -ldflags '-s -w' -o taskyard .

run: ## Start the server on 127.0.0.1:8080 with ./data
	go run . serve

bench: ## Benchmark the store and the server; writes bench/out/bench.json (ARGS=-quick for a rough look)
	@mkdir -p bench/out
	go run ./bench -json bench/out/bench.json $(ARGS)

bench-peers: ## Compare finish and claim with River and goqite, on SQLite and PostgreSQL
	cd bench/peers && go test .
	go run ./bench -only peers $(ARGS)

shots: ## Take screenshots of every page into shots/, which Git ignores (needs chromium; PAGES=regexp selects pages)
	@mkdir -p shots
	SHOTS_DIR=$(CURDIR)/shots go test -count=1 -run TestShots ./e2e/browser/

pictures: ## Retake the screenshots of the documentation in docs/screenshots (needs chromium)
	SHOTS_DIR=$(CURDIR)/docs/screenshots SHOTS_RETAKE=1 go test -count=1 -run TestShots ./e2e/browser/

release: ## Build archives and packages of the current commit into dist/ (VERSION=v0.1.0)
	tools/release.sh $(VERSION)

release-check: ## Install, start, upgrade and purge what "make release" built (as root, VERSION=v0.1.0)
	tools/release-check.sh $(VERSION)
