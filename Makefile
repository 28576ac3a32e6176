# The two commands to know: make demo, make test. Each does all its own set-up.

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
WORKFLOWCHECK ?= go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0
# The race detector needs a C compiler.
RACE        := $(if $(shell command -v gcc || command -v clang),-race)
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS     := $(if $(VERSION),-ldflags "-X godwit/internal/version.release=$(VERSION)")

.PHONY: help build devserver deps demo demo-ddl test test-go lint bench chaos clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

build: devserver ## bin/godwit, bin/godwit-worker, bin/godwit-devserver
	$(GO) build $(LDFLAGS) -o bin/godwit ./starter
	$(GO) build $(LDFLAGS) -o bin/godwit-worker ./worker

devserver:
	@mkdir -p bin
	@[ -x bin/godwit-devserver ] || echo "building the embedded Temporal server: a few minutes, once"
	cd internal/devserver && $(GO) build -o ../../bin/godwit-devserver .

deps: ## install the database servers that demo and tests start
	$(GO) run ./internal/sandbox/deps postgres mariadb mysql

demo: build ## copy a shop database from MariaDB to PostgreSQL, with the Web UI
	$(GO) run ./internal/sandbox/deps postgres $(if $(findstring --mysql,$(ARGS)),mysql,mariadb)
	bin/godwit demo $(ARGS)

demo-ddl: build ## the same, and then alter a big table under an application's writes
	bin/godwit demo --ddl $(ARGS)

test: build deps test-go ## the whole suite, on real servers

# The random moments of the chaos tests: make test SEED=… repeats them. They run
# alone, since they measure how soon things happen; make chaos has the race
# detector in their workers, too. The corpus is a load of its own: several hundred
# migrations, a few at once.
SEED ?= $(shell date +%s)

test-go:
	@echo "seed $(SEED)"
	cd internal/devserver && $(GO) vet ./... && $(GO) test ./...
	$(GO) test $(RACE) -p 2 -timeout 30m $$($(GO) list ./... | grep -v -e /internal/chaos -e /internal/corpus)
	$(GO) test -timeout 30m ./internal/corpus/
	GODWIT_SEED=$(SEED) $(GO) test -count 1 -timeout 30m ./internal/chaos/

lint: ## gofmt, vet, staticcheck, workflowcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt would change: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(WORKFLOWCHECK) ./workflows/...

bench: build deps ## speed, as ratios to a raw pipe and to installed peers
	@command -v pgloader >/dev/null || apt-get install -y pgloader || echo "pgloader is not installed: there will be no ratio to it"
	$(GO) test -run '^$$' -bench '.' -benchtime 1x -timeout 60m ./internal/bench/

chaos: build deps ## long kill, freeze and restart tests
	$(GO) test $(RACE) -timeout 3h -count 1 ./internal/chaos/ -chaos.rounds 20

clean:
	rm -rf bin
