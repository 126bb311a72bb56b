# Every target sets up what it needs first; nothing asks questions. `make help` lists them.
PYTHON ?= python3
VENV := .venv/bin
RUN := $(VENV)/python -m
PYTEST := $(RUN) pytest
MINUTES ?= 5
SEED ?= 1
SIZE ?= default
TRIES ?= 50
TASKS ?= 200
BASE ?= HEAD
EXAMPLES ?= 500
ROUNDS ?= 50

COMPILE := $(VENV)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header

.DEFAULT_GOAL := help
.PHONY: fleet help setup browser demo test unit conformance integration failover golden lint format types imports bench \
	bench-handover bench-shared bench-compare soak faults snapshots locks long targets smallest fuzz prove mutants up down clean lock docs docker

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 20

setup: ## .venv with the locked requirements; Java and Maven where missing
	@$(PYTHON) dev/bootstrap.py

browser: ## the same, and Chromium for the browser tests
	@$(PYTHON) dev/bootstrap.py --browser

demo: setup ## start everything with real servers and show replication and a failover
	@$(RUN) dev.demo

test: browser ## format, lint, types, import contracts, and every test suite with real servers
	@$(RUN) dev.check

unit: setup ## unit tests: no server, seconds
	@$(PYTEST) tests/unit

conformance: setup ## one suite over every implementation of each port
	@$(PYTEST) tests/conformance

integration: setup ## the parts against real servers
	@$(PYTEST) tests/integration

failover: setup ## real processes, killed and frozen
	@$(PYTEST) tests/failover

golden: setup ## our records against those of Debezium, Maxwell and Canal: how many are equal, by system and variation
	@$(RUN) dev.golden

coverage: setup ## lines and branches that the unit tests reach, by package
	@$(RUN) dev.coverage

pythons: setup ## the unit tests on each other Python from 3.11 to 3.13 that this machine has
	@$(RUN) dev.pythons

lint: setup ## ruff check; what the product is built from, as build/sbom.json, and known vulnerabilities of it
	@$(RUN) dev.check lint supply

format: setup ## rewrite the sources with ruff's formatter
	@$(VENV)/ruff format .

types: setup ## mypy --strict, and what tests do
	@$(RUN) dev.check types

imports: setup ## the import contracts of pyproject.toml
	@$(RUN) dev.check imports

bench: setup ## every figure of docs/performance.md in 15 minutes; SIZE=full for more, PEERS=1 adds Debezium
	@$(RUN) dev.bench --size $(SIZE) $(if $(filter 1,$(PEERS)),--peers)

bench-handover: setup ## take-over and switchover under load, TRIES of each
	@$(RUN) dev.bench.handover --tries $(TRIES)

bench-shared: setup ## 1 and 20 tasks that read one source, over their own connections and over a shared one
	@$(RUN) dev.bench.shared

fleet: setup ## 1,000 tasks without data path over five Cores and three ZooKeepers, and TASKS real idle ones over two Cores
	@$(RUN) dev.fleet --real $(TASKS)

bench-compare: setup ## this tree against the revision BASE, run by run: ratios and their spread
	@$(RUN) dev.bench.versus $(BASE)

soak: setup ## random faults under load for MINUTES from SEED, and a verdict over everything written and seen
	@$(RUN) dev.soak --minutes $(MINUTES) --seed $(SEED)

faults: setup ## ROUNDS random faults under load from SEED, Cores in a group; figures, raw history, take-over times as a picture
	@$(RUN) dev.soak --rounds $(ROUNDS) --seed $(SEED)

locks: setup ## locks in Redis, Redlock and ZooKeeper: speed, and who has them after faults; writes docs/locks.md
	@$(RUN) dev.locks

long: setup ## tests of minutes that `make test` leaves out: faults while a target is filled, more cases, later moments
	@LONG=1 $(PYTEST) tests/integration/sink/mysql/long_snapshot_faults.py tests/unit/decode/test_recorded.py \
		tests/failover/test_what_operators_see.py tests/failover/test_kafka.py \
		tests/integration/test_many_schema_parts.py

snapshots: setup ## ROUNDS snapshots of random tables from SEED beside random writers, DDL and faults; the rows rebuilt
	@$(RUN) dev.snapshots --rounds $(ROUNDS) --seed $(SEED)

targets: setup ## ROUNDS of random transactions from SEED applied to a second server under faults, and a verdict
	@$(RUN) dev.targets --rounds $(ROUNDS) --seed $(SEED)

smallest: setup ## the smallest session timeout that holds on this machine for MINUTES
	@$(RUN) dev.faults.smallest --minutes $(MINUTES)

wheel: setup ## dist/*.whl for this machine, with the documentation, and the compiled decoder where there is a C compiler
	@$(RUN) dev.wheel

up: setup ## ZooKeeper, Kafka, MySQL and MariaDB on free loopback ports, until `make down`
	@$(RUN) dev.servers.up up

fuzz: setup ## bent binlogs through both decoders for MINUTES from SEED; what is found goes to build/fuzz
	@$(RUN) dev.fuzz --minutes $(MINUTES) --seed $(SEED)

prove: setup ## the tables that consumers rebuild from random changes, EXAMPLES of them a server
	@PROVE=$(EXAMPLES) $(PYTEST) tests/integration/test_rebuild.py

mutants: setup ## remove each guard once and show which test notices
	@$(RUN) dev.mutants

down: setup ## stop what `make up` started and remove its data
	@$(RUN) dev.servers.up down

lock: setup ## write both lock files again: everything, and the runtime's part for the container image
	@$(COMPILE) --upgrade --extra oracle --output-file requirements.lock pyproject.toml requirements-dev.in
	@$(COMPILE) --constraints requirements.lock --output-file requirements-runtime.lock pyproject.toml

docs: setup ## write the generated parts of docs/
	@$(RUN) dev.docs

docker: ## build the container image
	@docker build --tag mysql-replicator .

clean: ## remove what the tools left in the tree (the servers' cache stays)
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
