.DEFAULT_GOAL := help
.PHONY: help check postgres format test generate build run bench bench-peers shots pictures release release-check

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: ## All that CI checks: generated files, golangci-lint, the whole tests
	tools/check.sh

postgres: ## Run the tests of the store and of what is built on it on PostgreSQL
	TASKYARD_TEST_POSTGRES=start go test -count=1 ./db ./service ./handlers ./jobs

format: ## Format Go and templ files
	tools/lint.sh fmt
	go tool templ fmt .

test: ## Run the short form of the tests
	go test ./...

generate: ## Make the Go files of the templ files
	go tool templ generate

build: ## Build ./taskyard
	go build -trimpath -ldflags '-s -w' -o taskyard .

run: ## Start the server on 127.0.0.1:8080 with ./data
	go run . serve

bench: ## Measure store and server beside their limits; writes bench/out/bench.json (ARGS=-quick for a look)
	@mkdir -p bench/out
	go run ./bench -json bench/out/bench.json $(ARGS)

bench-peers: ## Measure finish and claim in turn with River and goqite, on SQLite and PostgreSQL
	cd bench/peers && go test .
	go run ./bench -only peers $(ARGS)

shots: ## Take pictures of every page into shots/, which Git ignores (needs chromium; PAGES=regexp for some)
	@mkdir -p shots
	SHOTS_DIR=$(CURDIR)/shots go test -count=1 -run TestShots ./e2e/browser/

pictures: ## Retake the pictures of the documents, in docs/screenshots (needs chromium)
	SHOTS_DIR=$(CURDIR)/docs/screenshots SHOTS_RETAKE=1 go test -count=1 -run TestShots ./e2e/browser/

release: ## Build archives and packages of a commit into dist/ (VERSION=v0.1.0)
	tools/release.sh $(VERSION)

release-check: ## Install, start, upgrade and purge what make release built (as root, VERSION=v0.1.0)
	tools/release-check.sh $(VERSION)
