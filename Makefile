# Everything a contributor types. `make` alone explains itself.

GO     ?= go
TOOLS  := $(CURDIR)/.tools
LINT   := $(TOOLS)/golangci-lint
LINT_VERSION := v2.14.0
VULN   := $(TOOLS)/govulncheck
VULN_VERSION := v1.8.0
# The product is built without cgo; the race detector of the tests needs it.
export CGO_ENABLED ?= 0

.PHONY: help run build test servers lint bench chaos fuzz load docs screenshots release-snapshot clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

run: build ## watch simulated GitHub accounts being collected; again to go on
	./bin/sluice demo

build: ## build bin/sluice
	$(GO) build -trimpath -tags grpcnotrace -o bin/sluice ./cmd/sluice

# All is watched but SQLite itself, which is C translated to Go, and the malloc
# that it calls: it takes a quarter of the time so, and its memory is its own.
# Nothing around it is left out: generic functions that are shared with others
# would go unwatched, and races be reported that are none. A test in scripts sees
# to that. Pointers into that memory are no pointers of Go's (checkptr).
# A process need not stay a second longer for races to come (GORACE), what vet
# says is said by lint, and without the folder's name in it (-trimpath) what one
# clone compiled serves every other.
RACE := CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 $(GO) test -trimpath -vet=off -race \
	-gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/memory=-race=false -gcflags=modernc.org/libc=-d=checkptr=0

# With it every simulated GitHub of the tests refuses what GitHub's schema refuses.
SCHEMA := $(TOOLS)/github-schema.graphql

# What takes longest comes first: others fill the processors while it waits.
PACKAGES ?= ./internal/proof/machines ./internal/proof/collection ./internal/backend/relational ./internal/backend/mongo ./internal/source/github ./internal/backend/redis ./internal/engine ./internal/proof/... ./...
# Tests wait for servers, disks and each other: six packages keep two processors busy.
test: servers ## set up and run everything, with the race detector and real servers
	@rm -f .testdata/fallbacks; mkdir -p .testdata
	SLUICE_GITHUB_SCHEMA=$$(ls $(SCHEMA) 2>/dev/null) SLUICE_TEST_FALLBACKS=$(CURDIR)/.testdata/fallbacks ./scripts/without-canary env $(RACE) -short -count=1 -p 6 -timeout 30m $(PACKAGES)
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

# -v: the seed of a proof is worth keeping when it passes, too.
LONG := $(RACE) -timeout 60m -count=1
chaos: build servers ## the long proofs: SIGKILL at random instants; several machines and every fault; timers on five servers; refreshes on several machines; every alert; every suite's long form
	$(LONG) -v -run Chaos ./internal/proof/collection -args -kills=200 -nasty-lives=100
	$(LONG) -v -run Chaos -parallel 1 ./internal/proof/machines -args -faults=300 -accounts=50 -long-sleep=2m -nasty-faults=60
	$(LONG) -v -run ManyServers ./internal/proof/timers -args -timers=10000 -timer-seconds=60
	$(LONG) -v -run ManyMachines ./internal/proof/refresh -args -refresh-faults=90 -refresh-seconds=180
	$(LONG) -v -run Outages ./internal/proof/watching
	$(LONG) -v ./internal/proof/sinks -args -kills=60
	$(LONG) -v ./internal/proof/keeping
	$(LONG) -p 2 $$($(GO) list ./internal/... | grep -v /proof/)

FUZZ_TIME ?= 30s
fuzz: servers ## fuzz every endpoint from the API's own description, for five minutes, then everything that reads what others wrote, for half a minute each
	$(LONG) -v -run Fuzz ./internal/proof/api -args -fuzz-seconds=300
	./scripts/fuzz $(FUZZ_TIME)

load: servers ## the sixteen load scenarios of the refresh pipeline: embedded, on Redis, on a Redis cluster, on Kafka
	./scripts/load

docs: build ## the pages that are made from the program: docs/settings.md, docs/cli.md, docs/architecture.svg, and man pages in build/man
	$(GO) test ./internal/config ./internal/cli ./internal/sources ./docs -run 'Documented|Reference|Picture' -update
	./bin/sluice reference man build/man

screenshots: servers ## every page of the dashboard, light and dark, desktop and phone, as PNG in build/screenshots
	mkdir -p build/screenshots
	$(GO) test -count=1 -timeout 20m -run EverybodyCanUseIt ./internal/proof/web -args -screenshots=$(CURDIR)/build/screenshots

GORELEASER := $(TOOLS)/goreleaser
# Later ones need Go 1.27, or modules that not every proxy serves.
GORELEASER_VERSION := v2.16.0
release-snapshot: $(GORELEASER) ## archives, deb, rpm, images, checksums and lists of modules in dist/, checked; publishes nothing
	./scripts/release-snapshot $(GORELEASER)

$(GORELEASER):
	GOBIN=$(TOOLS) $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

clean: ## remove what was built and the demo's data
	rm -rf bin build dist .tools sluice-data
