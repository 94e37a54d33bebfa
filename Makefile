# Two commands do everything on a machine with Python 3.11 or newer and make:
#   make try    a thread becomes a job, on your own machine
#   make test   all checks and tests
# While you work:
#   make quick  the checks, and all tests but the long ones: under two minutes on two cores
# And for what must hold whatever dies:
#   make chaos  three instances at work while everything around them fails: SEED=n MINUTES=m, by default a random
#               seed, which is printed, and ten minutes; TEAMS=1: with five teams, and nothing crosses between them
#   make hostile  a model that obeys whatever it reads, before people who approve nothing: SEED=n
#   make pictures  the pictures of the README and of the crews' pages, from the demos: CREWS="ops support", by default all
#   make release-check  builds and tries out all that a release consists of, as far as this machine can: RELEASE=v1.2.3
#   make mutants  takes the guards of "once" away, one at a time, and shows that the tests notice each
# The rest: make install (the command alone, .venv/bin/leadhand), make wheel (into dist/), make check (lint, types,
# arrows, pages), make docs (the pages as a site, dist/docs/index.html), make coverage (how much of handoff its own tests reach), make bench, make lock, make clean.

# The first Python that runs and is new enough; a name on the PATH alone may be a shim for nothing.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
    $$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(BIN)/uv --quiet --no-progress

# Python keeps what it has compiled, also where it is told not to: else every start compiles all of it again, and the
# tests start many.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: try install wheel test quick check docs coverage bench chaos hostile mutants pictures release-check lock clean

try: $(VENV)/.ready
	@$(BIN)/leadhand try

install: $(VENV)/.ready
	@echo "The command is $(BIN)/leadhand"

# With all that a run needs in it, for machines without a clone.
wheel: $(VENV)/.ready
	@$(BIN)/python -m hatchling build --target wheel

# Three workers a core, eight at most: tests that wait for a process or a deadline leave the core to others, and each
# worker collects all tests for itself. Fewer on slow or busy cores: what many workers share is too little for the
# bot's own time limits.
WORKERS  = $(shell $(BIN)/python -m tests.patience)

PYTEST   = -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Of handoff by tests/handoff alone: what other tests happen to pass through is not shown by that.
REACHING = rm -rf .coverage && mkdir .coverage && $(BIN)/python $(PYTEST) -p tests.handoff.reach $(1) \
    && $(BIN)/coverage combine --quiet && $(BIN)/coverage report

# Beside the checks, which mostly keep one core busy, everything is collected once: so it is compiled once, and not by
# each worker at the same time. Faults of that are those of the run that follows.
test: $(VENV)/.ready-dev
	@{ $(BIN)/python -m pytest -q --collect-only tests >/dev/null 2>&1 || true; } & \
	    $(MAKE) --no-print-directory check || { wait; exit 1; }; wait
	@$(call REACHING,tests)

quick: check
	@$(BIN)/python $(PYTEST) -m "not long"

check: $(VENV)/.ready-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tests.pages

docs: $(VENV)/.ready-docs
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(VENV)/docs $(BIN)/python -m mkdocs build --quiet --config-file .ci/mkdocs.yml

coverage: $(VENV)/.ready-dev
	@$(call REACHING,tests/handoff)

bench: $(VENV)/.ready-dev
	@$(BIN)/python -m tests.bench

chaos: $(VENV)/.ready-dev
	@$(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(TEAMS),--teams)

pictures: $(VENV)/.ready-dev
	@$(BIN)/python -m tests.pictures $(CREWS)

hostile: $(VENV)/.ready-hostile
	@$(BIN)/python -m tests.hostile $(if $(SEED),--seed $(SEED))

release-check: $(VENV)/.ready-dev $(VENV)/.ready-release
	@bash .ci/release-check

mutants: $(VENV)/.ready-dev
	@$(BIN)/python -m tests.mutants

# The environment comes from the hash-checked locks alone. uv (itself from the lock) installs in seconds what pip
# takes most of a minute for; .ci/install.py sees to it that it takes them from where pip would.
$(VENV)/.uv: requirements.lock
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(NEW_ENOUGH)' || { \
	    echo "Leadhand needs Python 3.11 or newer on the PATH. Or say which: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@echo "Making the environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $(VENV)/uv.lock
	@touch $@

$(VENV)/.ready: $(VENV)/.uv requirements.lock pyproject.toml .ci/install.py
	@echo "Installing what Leadhand needs, hash-checked against requirements.lock ..."
	@$(BIN)/python .ci/install.py requirements.lock
	@$(UV) pip install --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready .ci/dev.lock .ci/node/package-lock.json
	@echo "Installing what the tests need, hash-checked against .ci/dev.lock ..."
	@$(BIN)/python .ci/install.py .ci/dev.lock
	@mkdir -p $(VENV)/node && cp .ci/node/*.json $(VENV)/node
	@npm ci --prefix $(VENV)/node --ignore-scripts --no-audit --no-fund --loglevel error >/dev/null 2>&1 || \
	    echo "Bolt for JavaScript is not installed: the tests of apps on Node.js are skipped."
	@touch $@

# AgentDojo's suites, in a folder beside the environment: what they bring along is no part of it.
$(VENV)/.ready-hostile: $(VENV)/.ready-dev .ci/hostile.lock
	@echo "Installing AgentDojo, hash-checked against .ci/hostile.lock ..."
	@$(BIN)/python .ci/install.py --into $(VENV)/agentdojo .ci/hostile.lock
	@touch $@

$(VENV)/.ready-release: $(VENV)/.ready-dev .ci/release.lock
	@echo "Installing what checks a release, hash-checked against .ci/release.lock ..."
	@$(BIN)/python .ci/install.py --into $(VENV)/release .ci/release.lock
	@touch $@

$(VENV)/.ready-docs: $(VENV)/.ready .ci/docs.lock
	@echo "Installing what makes the site, hash-checked against .ci/docs.lock ..."
	@$(BIN)/python .ci/install.py --into $(VENV)/docs .ci/docs.lock
	@touch $@

lock: $(VENV)/.uv
	@printf 'uv\nhatchling\neditables\n' > $(VENV)/build.in
	@$(UV) pip compile pyproject.toml $(VENV)/build.in --extra all --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header --upgrade -o requirements.lock
	@$(UV) pip compile pyproject.toml --extra all --group dev -c requirements.lock --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header --upgrade -o .ci/dev.lock
	@$(UV) pip compile .ci/hostile.in -c .ci/dev.lock $$(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/--no-emit-package \1/p' .ci/dev.lock) \
	    --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --upgrade -o .ci/hostile.lock
	@$(UV) pip compile .ci/audit.in --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header --upgrade -o .ci/audit.lock
	@$(UV) pip compile .ci/release.in --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header --upgrade -o .ci/release.lock
	@$(UV) pip compile .ci/docs.in --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header --upgrade -o .ci/docs.lock
	@npm update --prefix .ci/node --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel error

clean:
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage dist
