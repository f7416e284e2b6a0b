# The main commands are `make run` (build, then the standard melt on two ranks) and `make test`
# (everything CI runs).

RANKS ?= 2
SCENARIO ?= configs/lj-melt.toml
STEPS ?= 10000000
TARGET := $(or $(CARGO_TARGET_DIR),target)
BOOK := target/book
KEYS := docs/reference/scenario-keys.md
# With a test among the targets, dependencies get the features that they have for tests, and nothing
# is built twice.
BUILD_MD_CLI := cargo build --workspace --bin md-cli --test cli

.PHONY: help setup build run test lint test-programs docs-check-built test-with-mpi test-without-mpi readers arm examples test-all test-libraries soak nightly loom fuzz bench simulate simulate-short ase-venv docs docs-keys docs-check deny

help:
	@echo "make run    build and run $(SCENARIO) on $(RANKS) ranks (RANKS=4 SCENARIO=configs/quickstart.toml)"
	@echo "make test   formatting, lints, all tests with and without MPI, trajectories read by ASE"
	@echo "make test-all  that, every strategy on every path of the MPI library, every fault, test-libraries; takes hours"
	@echo "make test-libraries  the conformance suite with every MPI library that can be installed; takes long"
	@echo "make soak   $(STEPS) steps of a small system on four backends (STEPS=200000)"
	@echo "make nightly  soak (200000 steps), every fault, ten minutes of fuzz"
	@echo "make loom   flag protocol, queues of messages and watchdog, in all interleavings"
	@echo "make fuzz   scenarios and other files that nobody has thought of, for FUZZ_SECONDS=3600 each"
	@echo "make bench  micro-benchmarks"
	@echo "make simulate  transports on 4 to 64 ranks simulated by SimGrid, beside predictions"
	@echo "make docs   the book (docs/), into $(BOOK)"
	@echo "make setup  check for (on Debian and Ubuntu: install) what the build needs"

setup:
	@scripts/setup.sh

build: setup
	cargo build --release

run: build
	scripts/mpirun.sh $(RANKS) $(TARGET)/release/md-cli run $(SCENARIO)

# Each step runs even if others have failed; what failed is listed at the end.
TEST_STEPS := lint test-programs docs-check-built test-with-mpi examples test-without-mpi readers arm deny

test: setup
	@mkdir -p $(TARGET)/steps; failed= times=; for step in $(TEST_STEPS); do \
			begun=$$(date +%s); log=$(TARGET)/steps/$$step.log; \
			{ $(MAKE) --no-print-directory $$step 2>&1; echo $$? >$$log.code; } | tee $$log; \
			[ "$$(cat $$log.code)" = 0 ] || failed="$$failed $$step"; \
			times="$$times$$step $$(($$(date +%s) - begun)) s\n"; \
		done; printf "$$times"; \
		[ -z "$$failed" ] || { cd $(TARGET)/steps; \
			for step in $$failed; do grep -aE 'FAILED|panicked at|^error' $$step.log | sort -u; done; \
			echo "make test: failed:$$failed"; exit 1; } >&2

lint:
	cargo fmt --all --check
	scripts/check_cycles.py
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --workspace --no-default-features -- -D warnings

test-programs:
	cargo test --workspace --no-run

# Uses the program built by the previous step.
docs-check-built:
	$(MAKE) docs-check BUILD_MD_CLI=

# Tests of the program often wait; meanwhile another test runs, and models are checked and ranks
# simulated at the lowest priority.
test-with-mpi:
	@mkdir -p $(TARGET); $(MAKE) loom simulate-short >$(TARGET)/models.log 2>&1 & beside=$$!; \
		RUST_TEST_THREADS=$$(($$(nproc) + 1)) cargo test --workspace --no-fail-fast; tests=$$?; \
		wait $$beside; models=$$?; cat $(TARGET)/models.log; exit $$((tests || models))
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || echo "skipped: pages in a browser (there is no chromium)"

# Without MPI, md-core and the unit tests do not change, nor do nearly all other tests, which are
# linted once.
test-without-mpi:
	cargo test --workspace --no-fail-fast --no-default-features --features metis --test conformance --test cli --test truth -- \
		broken_runs:: commands:: launch:: configs:: compare::shells_and_exchanges_over_threads compare::threads_without_mpirun

# Reads trajectories and tables with ASE and other programs.
readers:
	scripts/test-ase.sh

arm:
	scripts/check-arm.sh

# Checks licences, sources and known vulnerabilities of the dependencies.
deny:
	scripts/deny.sh

# Runs the examples and checks the libraries' documentation.
examples: setup
	cargo build --examples
	$(TARGET)/debug/examples/own_potential
	$(TARGET)/debug/examples/md_from_scratch
	scripts/mpirun.sh 3 $(TARGET)/debug/examples/md_from_scratch rma-fence
	scripts/mpirun.sh 2 $(TARGET)/debug/examples/embed
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

# Parts can be selected: MD_CONFORMANCE_RANKS=2 MD_CONFORMANCE_ONLY="rma-lock osc/sm",
# MD_STRATEGIES_RANKS=2 MD_STRATEGIES_PATHS=sm.
test-all: test
	cargo test -p md-core --lib without_metis
	MD_CONFORMANCE=full cargo test -p md-comm --test conformance
	MD_QUIET_MACHINE=1 cargo test -p md --test nodes
	MD_STRATEGIES=full cargo test -p md --test truth_strategies
	cargo test -p md --test cli checkpoints:: -- --ignored
	cargo test --release -p md --test truth -- --ignored ensembles:: stated_errors:: transport::
	cargo test --release -p md-engine --test missed_pairs -- --ignored
	scripts/truths-by-level.sh
	cargo test -p md-grid --lib cavity -- --ignored
	scripts/fault-matrix.sh
	scripts/check-races.sh
	scripts/check-arm.sh --run
	$(MAKE) soak STEPS=200000
	$(MAKE) test-libraries

# Uses the installed Open MPI, and Open MPI 5, MPICH and Intel MPI from PyPI; for a part of it see
# the script's --help.
test-libraries: setup
	scripts/compare-mpi-libraries.sh --suite

# A long run with each way of waiting: memory, energy, particles, messages.
soak: setup
	MD_SOAK_STEPS=$(STEPS) cargo test --release --workspace --test soak

# Long runs, every fault, and 10 minutes of new cases for each kind of input.
nightly: setup
	$(MAKE) soak STEPS=200000 && scripts/fault-matrix.sh && $(MAKE) fuzz FUZZ_SECONDS=600

# Uses a separate directory, since other flags would rebuild everything.
loom:
	CARGO_TARGET_DIR=$(TARGET)/loom RUSTFLAGS="--cfg loom" \
		nice -n 19 cargo test -p md-comm --no-default-features --profile model --lib _model::

# Uses other seeds than `make test`, which tries 2,000 cases. Options: FUZZ_SECONDS=36000
# FUZZ_SEED=7.
fuzz:
	MD_FUZZ_SECONDS=$(or $(FUZZ_SECONDS),3600) MD_FUZZ_SEED=$(or $(FUZZ_SEED),1000) \
		cargo test -p md-cli --test fuzz -- --nocapture

bench: setup
	cargo bench --workspace

# Skipped (exit code 77) if SimGrid is not installed, except in continuous integration.
simulate:
	scripts/simulate.sh $(TARGET)/simulate || [ $$? = 77 ]

# The shortest simulation, whose times do not depend on the machine: most pairs of backends must be
# in the predicted order.
simulate-short:
	@MD_CLI=$(TARGET)/debug/md-cli MD_LEAST_SAME_ORDER=80 nice -n 19 scripts/simulate.sh $(TARGET)/simulate 4 8 >$(TARGET)/simulate.log; code=$$?; \
		grep -v '^$$' $(TARGET)/simulate.log | tail -n 1; [ $$code = 0 ] || { [ $$code = 77 ] && [ "$$CI" != true ]; }

ase-venv:
	scripts/test-ase.sh --only-venv

# The book needs mdbook, which `make docs` installs if cargo can.
docs: docs-keys
	scripts/unsafe_blocks.py > docs/reference/unsafe.md
	scripts/check_docs.py
	command -v mdbook >/dev/null || cargo install mdbook --locked
	mdbook build

# Generates the reference of the scenario's keys from the schema, that is from the doc comments of
# the scenario's model.
docs-keys: setup
	$(BUILD_MD_CLI)
	scripts/scenario_reference.py $(TARGET)/debug/md-cli > $(TARGET)/scenario-keys.md
	cp $(TARGET)/scenario-keys.md $(KEYS)

# Checks that this reference and the list of unsafe blocks are up to date, and that every link in
# the documentation is valid.
docs-check: setup
	$(BUILD_MD_CLI)
	scripts/scenario_reference.py $(TARGET)/debug/md-cli > $(TARGET)/scenario-keys.md
	diff -u $(KEYS) $(TARGET)/scenario-keys.md || { echo "run \`make docs-keys\`"; exit 1; }
	scripts/unsafe_blocks.py > $(TARGET)/unsafe.md
	diff -u docs/reference/unsafe.md $(TARGET)/unsafe.md || { echo "run \`make docs\`"; exit 1; }
	scripts/check_docs.py
