# Everything needs only Go and make. Tools are pinned here and run with their version.
GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.16.0
HELM        := helm.sh/helm/v3/cmd/helm@v3.22.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
WASM        := plugins/builtin/dist/builtin.wasm plugins/builtin/dist/template.wasm
GUEST       := $(shell find sdk wasm-parsers -name '*.go' ! -name '*_test.go' 2>/dev/null) go.mod
MODULES     := . conformance/clients deploy examples/adstudio internal/e2e internal/site
SLOWEST     := internal/cli gateway/store/postgres sdk/examples plugins/trial
TESTS       := go run ./internal/testrun $(addprefix -in ,$(MODULES)) $(addprefix -first ,$(SLOWEST)) -- -count=1 -timeout 30m -parallel 8 '-ldflags=-s -w'
FUZZTIME    ?= 20s
BENCHTIME   ?= 3s
ATTACKTIME  ?= 10m

.DEFAULT_GOAL := help
.PHONY: help build image image-push registry-login chart release release-check wasm run example test race check lint fmt fuzz bench bench-units bench-prefix replay-prefix attack clients foreign golden conformance picture docs clean FORCE

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/callgate ## build the parsers and bin/callgate, one file that needs nothing beside it

LDFLAGS     := -s -w -X github.com/callgate/callgate/internal/cli.version=$(VERSION)

# Without C: it runs on any Linux, and in an image that has nothing else.
bin/callgate: $(WASM) FORCE
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/gateway

bin/linux-%/callgate: $(WASM) FORCE
	@CGO_ENABLED=0 GOOS=linux GOARCH=$* go build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/gateway

# Without Docker, a base image or a network.
image: bin/linux-amd64/callgate bin/linux-arm64/callgate ## make the container image for both architectures in bin/image
	@cd deploy && go run ./image -version $(VERSION) -to '$(CURDIR)/bin/image'

image-push: bin/linux-amd64/callgate bin/linux-arm64/callgate ## push the image for both architectures to IMAGE=REGISTRY/NAME:TAG
	@cd deploy && go run ./image -version $(VERSION) -push $(or $(IMAGE),$(error name the image: make image-push IMAGE=registry.example/callgate:1.0))

registry-login: ## log in to REGISTRY as REGISTRY_USER, with the password in GITHUB_TOKEN, for image-push
	@printf '%s' "$$GITHUB_TOKEN" | docker login $(REGISTRY) -u $(REGISTRY_USER) --password-stdin

chart: ## lint the Helm chart and pack it into bin
	@go run $(HELM) lint deploy/helm/callgate -f deploy/helm/callgate/ci/full-values.yaml
	@go run $(HELM) package deploy/helm/callgate -d bin

release-check: ## check the release's configuration, and build the archive of this machine's kind
	@go run $(GORELEASER) check
	@go run $(GORELEASER) release --snapshot --clean --single-target

release: ## build the archives of a tag, and make a draft of a release on GitHub
	@go run $(GORELEASER) release --clean

wasm: $(WASM) ## build the built-in parsers to WebAssembly

plugins/builtin/dist/builtin.wasm: MAIN := ./wasm-parsers/builtin
plugins/builtin/dist/template.wasm: MAIN := ./wasm-parsers/templateplugin
$(WASM): $(GUEST)
	@GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags '-s -w -buildid=' -buildmode=c-shared -o $@ $(MAIN)

run: build ## serve on 127.0.0.1:8080 with the demo upstream, no key needed
	@./bin/callgate serve

picture: build ## draw docs/demo.svg from what callgate demo prints
	@bin/callgate demo > bin/demo.txt && go run ./internal/picture callgate demo < bin/demo.txt > docs/demo.svg

docs: ## write the documents as a static site with search to site/, which any web server serves
	@cd internal/site && go run . -from ../.. -to ../../site

# MODEL=openai/gpt-5-mini asks a real model, with the key of its provider in the environment.
# EXAMPLEFLAGS: -app, -tools, -gateway and -admin set other addresses.
example: build ## make radio ads on http://127.0.0.1:8090: an app, its tools and the gateway, no key needed
	@cd examples/adstudio && go build -o ../../bin/adstudio . && exec ../../bin/adstudio up -data ../../bin/adstudio-data $(EXAMPLEFLAGS)

# -count=1: some tests run a binary, which go's cache of results cannot see. -parallel: many
# tests wait for a timer. The slowest packages start first, so that none runs alone at the end.
# The limit of 30 minutes is for a test that hangs. -s -w: what a debugger reads takes a third of the
# time that a large test is linked in.
test: build ## build the parsers and run all tests
	@CALLGATE_PROGRAM=$(CURDIR)/bin/callgate $(TESTS)

clients: build ## play all clients, Claude Code, Codex, aider, Continue and Open WebUI too, which are two gigabytes to install
	@cd internal/e2e && CALLGATE_PROGRAM=$(CURDIR)/bin/callgate CALLGATE_REQUIRE_CLIENTS=1 CALLGATE_CLIENT_AGENTS=1 go test -count=1 ./clients

# Test cases of others' parsers, of one pinned version (MIT, 25 MB), read by ours. They are not kept here.
OLLAMA := github.com/ollama/ollama@v0.17.4

foreign: ## read the test cases of Ollama's parsers with ours, and print precision and recall
	@go mod download $(OLLAMA)
	@OLLAMA="$$(go env GOMODCACHE)/$(OLLAMA)" go test -run '^TestForeign$$' -count=1 -v ./gateway/chain | grep '^foreign:'

race: $(WASM) ## run all tests with the race detector
	@$(TESTS) -race

check: fmt build ## what a change must pass: format, lint, vet, race, tidy, clean tree
	for m in $(MODULES); do (cd $$m && go vet ./...) || exit 1; done
	GOOS=darwin GOARCH=arm64 go vet ./cmd/... ./plugins/... ./gateway/... ./internal/... ./providers/...
	GOOS=windows GOARCH=amd64 go vet ./cmd/... ./plugins/... ./gateway/... ./internal/... ./providers/...
	$(MAKE) lint
	$(MAKE) race
	for m in $(MODULES); do (cd $$m && go mod tidy -diff && go mod verify) || exit 1; done
	git diff --exit-code
	@test -z "$$(git status --porcelain)" || { git status --short; echo "the tree is not clean"; exit 1; }

# The linter takes some minutes to build the first time, so make test does without.
lint: ## run the linters, built at the pinned version
	for m in $(MODULES); do (cd $$m && go run $(GOLANGCI) run ./...) || exit 1; done

fmt: ## format all Go files
	@gofmt -l -w *.go cmd conformance docs examples gateway internal plugins providers sdk wasm-parsers

fuzz: $(WASM) ## run every fuzz target for FUZZTIME each
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$p || exit 1; done; done

bench: build ## print the figures of docs/benchmarks.md, as ratios of one run (BENCHFLAGS: -only REGEXP, -beside BINARY)
	@go run ./cmd/bench -time $(BENCHTIME) $(BENCHFLAGS)

# One client that behaves well among hostile clients, upstream, Redis and plugins. make test does
# a short one.
attack: build ## attack the gateway in all ways at once for ATTACKTIME, with memory and answers checked
	@go run ./cmd/attack -time $(ATTACKTIME)

bench-units: ## print what repairs, breakers, attempts, routing by prefix, stored turns and providers cost
	@go test -run '^$$' -bench . -benchtime $(BENCHTIME) ./gateway/repair ./gateway/internal/ledger ./gateway/internal/guard ./gateway/breaker ./gateway/prefix ./gateway/admit ./gateway/protocol/responses/state ./cmd/bench ./providers/openai ./providers/anthropic

# Eight targets whose caches keep everything, and no more than 10,000 blocks remembered of
# each. Gateways talk over a real Redis, or in memory if there can be none.
SIMULATE := ./bin/callgate simulate --targets 8 --entries 10000 --max-imbalance 1.15 --trace gateway/prefix/testdata/mooncake_

bench-prefix: build ## replay public traces through the routing by prefix, with its aims met or missed
	@go run ./internal/redistest/with -- $(MAKE) --no-print-directory replay-prefix

replay-prefix:
	@status=0; replay() { \
		echo; echo "$$1: $$4"; $(SIMULATE)$$1.jsonl.gz --min-hits $$2 $$3 || status=1; }; \
	way="in memory, for want of a Redis"; test -z "$$CALLGATE_REDIS_URL" || way="over Redis"; \
	talk() { replay $$1 $$2 "--policy ours --gateways 8 --sync 1s --max-loss 0.5 $${CALLGATE_REDIS_URL:+--redis $$CALLGATE_REDIS_URL} $$3" \
		"8 gateways that tell each other each second what they have learned, $$way"; }; \
	replay conversation 36.0 "" "one gateway"; \
	replay conversation 52.0 "--shared-tokens 4096" "with a system prompt that all share"; \
	talk conversation 35.5 ""; talk conversation 51.5 "--shared-tokens 4096"; \
	replay conversation 36.0 "--down 0.4:0.5" "a target dies, and returns with an empty cache"; \
	replay synthetic 63.5 "" "one gateway"; \
	replay synthetic 71.0 "--shared-tokens 4096" "with a system prompt that all share"; \
	talk synthetic 63.0 ""; talk synthetic 70.5 "--shared-tokens 4096"; \
	replay synthetic 63.0 "--down 0.4:0.5" "a target dies, and returns with an empty cache"; \
	exit $$status

conformance: build ## run the conformance suite on bin/callgate, or on TARGET=URL with KEY=its key; reports go to bin/
	@./bin/callgate conformance $(if $(TARGET),--target $(TARGET) $(if $(KEY),--key $(KEY)) $(ARGS),--self --quiet) --report bin/conformance.json --report bin/conformance.xml --report bin/conformance.md

golden: $(WASM) ## rewrite the golden files with what the code gives now; look at the diff
	go test ./gateway/config ./gateway/flow ./gateway/metrics ./gateway/playground ./gateway/prefix ./gateway/prefix/tracelog \
		./gateway/internal/hint ./gateway/internal/prompted ./providers/anthropic ./providers/demo -update
	@for p in $$(grep -rl sdktest.Golden --include=*_test.go wasm-parsers sdk/examples | xargs -n1 dirname | sort -u); do go test -run Golden ./$$p -args -update || exit 1; done
	go test ./sdk/examples -run Texts/go -args -update
	go test ./internal/cli -run 'Readme|TestSettingsPage|TestGlossaryPage|TestSimulateGolden|TestPrefixAdmin' -update
	cd conformance && go test -update && go test ./plainproxy -update

clean: ## remove what was built
	rm -rf bin site $(WASM)

FORCE:
