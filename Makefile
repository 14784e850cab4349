# make test is all a contributor needs. It installs the tools of the full round where it can, and says what to install where it can't.
GO      ?= go
TIMEOUT ?= 5m
FULL_TIMEOUT ?= 25m
# The longest packages start first, so that none is left for one core at the end. Those that wait run beside those that compute.
LONGEST ?= ./internal/chaos ./cmd/wafbot ./internal/store ./cmd/wafbot/doctor ./commands ./internal/redistest ./poller
CHAOS_FOR    ?= 5m
CHAOS_ROUNDS ?= 1
CHAOS_SEED   ?= $(shell date +%s)
SOAK_FOR     ?= 10m
ABUSE_TIMES  ?= 20
VERSIONS_FOR ?= 20s

.PHONY: test full short lint bench fuzz chaos versions crowded soak abuse pictures build tools image image-test helm-test conformance release install-test alerts scale

build: ## the binary, static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$$(./scripts/ldflags)" -o bin/wafbot ./cmd/wafbot

test: tools ## what to run between two edits: all tests, small, with a real redis-server and the race detector where there is a C compiler. What didn't change isn't run again
	./scripts/test -timeout $(TIMEOUT) $(LONGEST) ./...

full chaos versions crowded soak abuse scale alerts pictures bench: export FULL_TESTS = 1

full: tools ## before a merge: all tests without the race detector, with large tables, a round of faults, a browser, Prometheus, and what builds the program
	./scripts/test -count=1 -timeout $(FULL_TIMEOUT) $(LONGEST) ./...

image: ## the container image, with buildah; docker build -f deploy/Dockerfile -t wafbot . makes the same
	./scripts/image

image-test: tools image ## the image with the compose file's settings, against the emulated world and a real redis-server
	./scripts/image-test

helm-test: ## the Helm chart: lint, unit tests, its renderings against deploy/helm/rendered (UPDATE=1 writes them) and Kubernetes' schemas
	./scripts/helm-test

release: ## in dist/, all that a release has, built twice and compared; COSIGN_KEY signs it
	./scripts/release

install-test: ## the ways of docs/install.md, to the letter, on a Debian that has nothing else; as root
	./scripts/install-test

short: ## what needs Go alone
	$(GO) test -short ./...

tools:
	./scripts/tools

lint:
	test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet -tags image,pictures ./...
	golangci-lint run ./...
	$(GO) tool -modfile=tools/go.mod actionlint -shellcheck= -pyflakes=

bench: ## figures, beside a careless bot or a raw round trip of the same run
	$(GO) test -run '^$$' -bench . -benchmem -timeout 15m ./...

fuzz: ## each fuzz test for FUZZTIME
	./scripts/fuzz

chaos: tools ## CHAOS_FOR (5m) of faults in each round, CHAOS_ROUNDS (1) of each mix, the first with CHAOS_SEED (the time); a fault at every step; wrong clocks; restarts in place
	./scripts/test -v -run 'TestChaos|TestSteps|TestReplicasWithWrongClocks|TestRestartsInPlace' -count 1 -timeout 0 ./internal/chaos -args -chaos.steps=all -chaos.mix=kept,emptied,cluster,sentinel,tls,reshard,outside \
		-chaos.for=$(CHAOS_FOR) -chaos.rounds=$(CHAOS_ROUNDS) -chaos.seed=$(CHAOS_SEED) -chaos.clocks -chaos.restarts=20

crowded: ## tests in which people or replicas act at the same moment, COUNT (1500) times each, EACH (300) seconds at most, on 8 threads beside two busy loops
	./scripts/crowded

versions: tools ## over a new version of the state and back, while people click, with VERSIONS_FOR (20s) between two steps
	$(GO) test -v -run TestTwoVersions -count 1 -timeout 0 ./internal/chaos -args -chaos.versions=$(VERSIONS_FOR) -chaos.seed=$(CHAOS_SEED)

soak: tools ## SOAK_FOR (10m) of attacks and clicks without faults, in which as much ends as begins: nothing may grow
	$(GO) test -v -run TestSoak -count 1 -timeout 0 ./internal/chaos -args -chaos.soak=$(SOAK_FOR) -chaos.seed=$(CHAOS_SEED)

abuse: tools ## ABUSE_TIMES (20) as much as in the tests of what others may send to make the bot big, with a table of peaks
	$(GO) test -v -run TestAbuse -count 1 -timeout 0 ./cmd/wafbot -args -abuse.times=$(ABUSE_TIMES)

scale: tools ## the shipped program with 1,000 accounts, 1, 2 and 4 replicas, one Redis and a cluster: the table in docs/scale.md, in half an hour
	$(GO) test -v -run 'TestScale$$' -count 1 -timeout 0 ./internal/chaos -args -scale -scale.doc=$(CURDIR)/docs/scale.md

alerts: tools ## the alert rules and the dashboard, with the real Prometheus: each fault of the emulated world fires its alert alone (half an hour)
	$(GO) test -v -run TestRound -parallel 8 -count 1 -timeout 0 ./deploy/prometheus -args -alerts

conformance: ## Slack's own clients against the emulated workspace, and wafbot against an emulator of others, with a table; fails at what docs/conformance.md doesn't say
	./scripts/conformance

pictures: ## the pictures of the documentation, from the demo, in docs/pictures, and an animation of a denial
	./scripts/tools pngquant webp fonts-noto-color-emoji
	$(GO) test -tags pictures -run 'TestPictures|TestAnimation' -count 1 -timeout 10m ./cmd/wafbot -args -pictures=$(CURDIR)/docs/pictures
	pngquant --force --skip-if-larger --ext .png 64 docs/pictures/*.png
	img2webp -loop 0 -min_size -lossy -q 60 -m 4 $$(cat docs/pictures/frames/list) -o docs/pictures/deny.webp
	rm -r docs/pictures/frames
