# Everything needs only Go and make. Tools are pinned here and run with their version.
GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
WASM        := plugins/builtin/dist/builtin.wasm plugins/builtin/dist/template.wasm
GUEST       := $(shell find sdk wasm-parsers -name '*.go' ! -name '*_test.go' 2>/dev/null) go.mod
FUZZTIME    ?= 20s
BENCHTIME   ?= 3s

.DEFAULT_GOAL := help
.PHONY: help build wasm run test race check lint fmt fuzz bench golden clean FORCE

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/callgate ## build the parsers and bin/callgate, one file that needs nothing beside it

bin/callgate: $(WASM) FORCE
	@go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/gateway

wasm: $(WASM) ## build the built-in parsers to WebAssembly

plugins/builtin/dist/builtin.wasm: MAIN := ./wasm-parsers/builtin
plugins/builtin/dist/template.wasm: MAIN := ./wasm-parsers/templateplugin
$(WASM): $(GUEST)
	@GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags '-s -w -buildid=' -buildmode=c-shared -o $@ $(MAIN)

run: build ## serve on 127.0.0.1:8080 with the demo upstream, no key needed
	@./bin/callgate serve

# -count=1: conformance tests a binary that it builds, which go's cache of results cannot see.
test: build ## build the parsers and run all tests
	go test -count=1 ./...

race: $(WASM) ## run all tests with the race detector
	go test -race -count=1 ./...

check: fmt build ## what a change must pass: format, lint, vet, race, tidy, clean tree
	go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./cmd/... ./plugins/... ./gateway/... ./providers/...
	GOOS=windows GOARCH=amd64 go vet ./cmd/... ./plugins/... ./gateway/... ./providers/...
	$(MAKE) lint
	$(MAKE) race
	go mod tidy -diff
	go mod verify
	git diff --exit-code
	@test -z "$$(git status --porcelain)" || { git status --short; echo "the tree is not clean"; exit 1; }

# The linter takes some minutes to build the first time, so make test does without.
lint: ## run the linters, built at the pinned version
	go run $(GOLANGCI) run ./...

fmt: ## format all Go files
	@gofmt -l -w cmd conformance gateway plugins providers sdk wasm-parsers

fuzz: $(WASM) ## run every fuzz target for FUZZTIME each
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$p || exit 1; done; done

bench: build ## print the figures of the README, as ratios of one run
	@go run ./cmd/bench -time $(BENCHTIME)

golden: $(WASM) ## rewrite the golden files with what the code gives now; look at the diff
	go test ./gateway/config ./gateway/metrics -update
	@for p in $$(grep -rl sdktest.Golden --include=*_test.go wasm-parsers | xargs -n1 dirname | sort -u); do go test -run Golden ./$$p -args -update || exit 1; done
	go test ./cmd/gateway -run Readme -update
	cd conformance && go test -update

clean: ## remove what was built
	rm -rf bin $(WASM)

FORCE:
