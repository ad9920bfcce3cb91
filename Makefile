# Paths of the checkout are no part of what the compiler writes, so that all clones share its cache.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

# Builds one binary, ./loci. The C driver of SQLite is faster; without a C compiler the pure Go driver is used.
# GOAMD64=v2 targets x86 processors since 2009: POPCNT counts bits in semantic searches.
# -s -w omits the tables of symbols and for debuggers: 14 of 72 MB. Stack traces and profiles do not need them.
ifneq ($(shell command -v $${CC:-gcc} 2>/dev/null),)
BUILD := GOAMD64=v2 CGO_ENABLED=1 go build -tags sqlite_fts5 -ldflags='-s -w'
TAGS  := -tags sqlite_fts5
else
BUILD := GOAMD64=v2 CGO_ENABLED=0 go build -ldflags='-s -w'
TAGS  :=
endif

.PHONY: help build run test lint ci nightly bench bench-retrieval soak torture judge clients golden setup

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./loci
	$(BUILD) -o loci ./cmd/loci

run: build ## build and serve on 127.0.0.1:7007
	./loci serve

setup: ## install the tools of the tests and judges (Debian, PyPI, npm)
	scripts/setup

test: ## run each test once, on SQLite; it needs Go alone
	scripts/test

lint: ## check format, modules, code and the assembly of scores
	scripts/lint

ci: ## run what must hold before a change lands
	.ci/run

nightly: ## run every check: all engines, cases, kills and judges, tests three times in random order
	.ci/run nightly

bench: ## measure performance beside the floors
	go run $(TAGS) ./bench

SETS := $(or $(wildcard ../shared/data/retrieval),internal/relevance/testdata)

bench-retrieval: ## run the queries of the judged datasets and report the quality
	go run $(TAGS) ./cmd/loci bench retrieval --data $(SETS)

SOAK := 30m

soak: ## load a server for SOAK=30m; its memory must not grow in the last third
	go run $(TAGS) ./bench soak -for $(SOAK)

torture: build ## kill the server 1,000 times during writes, and 200 times beside streams; nothing acknowledged may be missing
	LOCI_TORTURE=1000 go test $(TAGS) -run TestKill ./cmd/loci -timeout 2h
	scripts/judges/node_modules/.bin/node scripts/judges/streams.mjs ./loci 200

judge: setup build ## test a server of each variant by its OpenAPI document, with 1,000 examples an operation
	for variant in full a b; do scripts/judges/schemathesis ./loci $$variant 1000 || exit 1; done

clients: setup build ## run real client programs with ./loci; it installs 1.5 GB of them
# npm ci refuses a lock file without the packages of other systems, which not every registry has
	cd scripts/judges/clients && npm install --no-save --no-audit --no-fund --loglevel=error
	scripts/judges/setup-clients ./loci
	scripts/judges/node_modules/.bin/node scripts/judges/programs.mjs ./loci all
	scripts/judges/node_modules/.bin/node scripts/judges/hooks.mjs ./loci all
	scripts/judges/node_modules/.bin/node scripts/judges/agents.mjs ./loci all
	scripts/judges/node_modules/.bin/node scripts/judges/acp.mjs ./loci

golden: ## write the golden files and the Go client again (in packages whose tests have -update)
	go generate ./client
	go test $(TAGS) $$(git ls-files -co --exclude-standard '*_test.go' | xargs grep -lE 'flag\.Bool\("update", false' | xargs -n 1 dirname | sort -u | sed 's|^|./|') -run Golden -update
