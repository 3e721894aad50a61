# Everything a contributor types. `make` alone explains itself.

GO     ?= go
TOOLS  := $(CURDIR)/.tools
LINT   := $(TOOLS)/golangci-lint
LINT_VERSION := v2.14.0
VULN   := $(TOOLS)/govulncheck
VULN_VERSION := v1.8.0
# The product is built without cgo; the race detector of the tests needs it.
export CGO_ENABLED ?= 0

.PHONY: help run build test servers lint bench chaos load clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: build ## watch simulated GitHub accounts being collected; again to go on
	./bin/sluice demo

build: ## build bin/sluice
	$(GO) build -trimpath -tags grpcnotrace -o bin/sluice ./cmd/sluice

# Tests wait for servers and for each other: three packages keep two processors busy.
test: servers ## set up and run everything, with the race detector and real servers
	@rm -f .testdata/fallbacks; mkdir -p .testdata
	SLUICE_TEST_FALLBACKS=$(CURDIR)/.testdata/fallbacks CGO_ENABLED=1 $(GO) test -race -p 3 -timeout 14m ./...
	@if [ -s .testdata/fallbacks ]; then echo "did not run with the real thing:"; sort -u .testdata/fallbacks; fi

servers: ## install the servers that tests use, where they are missing
	./scripts/test-servers

lint: $(LINT) ## formatting, vet, the linter with its import rules, known vulnerabilities
	@test -z "$$(gofmt -l cmd internal bench)" || { gofmt -l cmd internal bench; echo "run gofmt -w on these files"; exit 1; }
	$(GO) vet ./...
	$(LINT) run ./...
	./scripts/vulncheck $(VULN) $(VULN_VERSION)

$(LINT):
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

bench: build ## the numbers, beside peers and raw limits measured in the same run
	./scripts/bench

chaos: build servers ## the long proofs: SIGKILL at random instants; several machines and every fault; timers on five servers; refreshes on several machines
	CGO_ENABLED=1 $(GO) test -race -timeout 60m -count=1 -run 'Chaos|TimersManyServers|RefreshManyMachines' ./cmd/sluice \
		-args -kills=200 -faults=75 -accounts=50 -timers=10000 -timer-seconds=60 -refresh-faults=90 -refresh-seconds=180

load: servers ## the sixteen load scenarios of the refresh pipeline: embedded, on Redis, on a Redis cluster, on Kafka
	./scripts/load

clean: ## remove what was built and the demo's data
	rm -rf bin .tools sluice-data
