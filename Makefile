# Thin: what is more than one command is in scripts/.

.PHONY: help test setup cluster bench budget fuzz torture soak simulate mutants header examples doc clean

help:
	@echo 'make test      every check there is; ends with "N passed, N failed"'
	@echo 'make setup     installs what the checks need, or names what is missing'
	@echo 'make cluster   checks the cluster home, with an etcd that is built for it'
	@echo 'make bench     measures beside the peers; writes target/bench.json'
	@echo 'make budget    counts instructions per call and compares with the record'
	@echo 'make fuzz      random calls from C, files, values of etcd and texts, for ten minutes in all (SECONDS_TO_FUZZ=n for another time)'
	@echo 'make torture   kills processes at every instruction of every change of a shared table, and in a long storm'
	@echo 'make soak      every language on every home at once, for ten minutes (MINUTES=n): is memory flat?'
	@echo 'make simulate  simulated machines with everything that can go wrong, for a minute (SECONDS_TO_SIMULATE=n, TERN_SEED=n)'
	@echo 'make mutants   changes the rules in one place at a time: does a test notice? For an hour; scripts/mutants FILE for a part'
	@echo 'make header    makes include/ternlease.h from the code'
	@echo 'make examples  runs every example'
	@echo 'make doc       builds the documentation'
	@echo 'make clean     removes what was built'

test:
	@scripts/test

setup:
	@scripts/setup

cluster:
	@scripts/test-cluster

bench:
	@python3 -c 'import filelock' 2>/dev/null || python3 -m pip install --quiet filelock || echo 'filelock (a Python package) is missing: its line will be, too'
	@test -x target/gpu-gate/bin/gpu-gate || { python3 -m venv target/gpu-gate && target/gpu-gate/bin/pip install --quiet gpu-gate; } || echo 'gpu-gate (a Python package) is missing: its line will be, too'
	cargo run --release -p ternlease-bench --features etcd
	@scripts/bench-bindings

budget:
	cargo run --release -p ternlease-bench -- instructions --check

fuzz:
	@scripts/fuzz $(or $(SECONDS_TO_FUZZ),600)

torture:
	TERN_TORTURE=full cargo test --release --test host_kill --test host_births --test host_storm --test host_hostile -- --nocapture --test-threads 1

soak:
	@scripts/soak $(or $(MINUTES),10)

simulate:
	TERN_SECONDS=$(or $(SECONDS_TO_SIMULATE),60) scripts/cargo-sim test --release -- --nocapture --test-threads 1

mutants:
	@scripts/mutants

header:
	TERN_UPDATE=1 cargo test --quiet -p ternlease-c --test header

examples:
	@for file in examples/*.rs; do \
		name=$$(basename $$file .rs); echo "== $$name"; \
		cargo run --quiet --release --example $$name || exit 1; echo; \
	done

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

clean:
	cargo clean
