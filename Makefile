# The first command on a fresh machine may be any of these; Python 3.11+ and make are all they need.
# Paths are relative, because the folder may have a space in its name.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	echo $$python; break; fi; done)

# A .venv is made again when an install was interrupted, the folder was moved, or its Python went away.
USABLE := .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
STALE := $(shell test -d .venv || exit 0; test ! -e .venv/.installing && $(USABLE) && \
	{ test ! -e .venv/.installed || test "$$(cat .venv/.installed)" = "$$(pwd -P)"; } || echo stale)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore
export PIP_USER := 0
unexport PYTHONHOME PYTHONPATH VIRTUAL_ENV

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help install demo up test test-fast check format lock bench bench-quick soak rehearse shell clean stale

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile

install: .venv/.installed ## make .venv with everything that requirements.lock names

demo: .venv/.installed ## play scripted conversations through the whole system (REAL=1: with the model of LLM_API_URL)
	@.venv/bin/nightshift demo $(if $(filter-out 0 no false,$(REAL)),--real) $(if $(LOCALE),--locale $(LOCALE))

up: .venv/.installed ## run Nightshift: the Procfile, and an embedded Valkey unless REDIS_URL is set
	@.venv/bin/nightshift up

# Three processes for two cores: what plays whole conversations mostly waits. The longest files come first (conftest.py).
test: .venv/.installed-dev ## run the tests (ARGS="-k window" passes on to pytest)
	.venv/bin/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

test-fast: .venv/.installed-dev ## the pure tests and those of the store alone: no Celery, no server but Valkey (ARGS as above)
	.venv/bin/python -m pytest -n 2 -m "not slow" tests/bot tests/dispatcher tests/store --ignore tests/store/server $(ARGS)

check: .venv/.installed-dev ## format, lint, types and the import rules, without changing anything
	.venv/bin/python -m ruff format --check
	.venv/bin/python -m ruff check
	.venv/bin/python -m mypy
	.venv/bin/python .venv/bin/lint-imports

format: .venv/.installed-dev ## format the code and mend what ruff can mend
	.venv/bin/python -m ruff format
	.venv/bin/python -m ruff check --fix

lock: .venv/.installed-dev ## resolve the dependencies of pyproject.toml anew, with hashes
	.venv/bin/python -m uv pip compile --quiet $(UV_COMPILE) pyproject.toml -o requirements.lock
	.venv/bin/python -m uv pip compile --quiet $(UV_COMPILE) --group dev pyproject.toml -c requirements.lock -o requirements-dev.lock

UV_COMPILE := --universal --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --python-version 3.11 \
	$(if $(UPGRADE),--upgrade)

bench: .venv/.installed-dev ## measure against the floor, half an hour (PEERS=python-with-the-group-peers, ARGS="--only ack")
	.venv/bin/python -m benchmarks $(if $(PEERS),--peers $(PEERS)) $(ARGS)

bench-quick: .venv/.installed-dev ## the same in two minutes, rougher
	.venv/bin/python -m benchmarks --quick $(if $(PEERS),--peers $(PEERS)) $(ARGS)

soak: .venv/.installed-dev ## random worlds through the core (WORLDS=5000 SEED=7, ARGS="--weather doubt"): docs/testing.md
	@.venv/bin/python -m tests.worlds --worlds $(or $(WORLDS),1000) --seed $(or $(SEED),1) $(ARGS)

rehearse: .venv/.installed ## the silence test for 20 minutes, a worker killed every 5 s (ARGS="--minutes 60 --seed 7")
	@.venv/bin/nightshift rehearse --minutes 20 --kill-worker-every 5 $(ARGS)

shell: .venv/.installed ## a shell in which `nightshift` and `python` are those of .venv
	@env VIRTUAL_ENV="$$PWD/.venv" PATH="$$PWD/.venv/bin:$$PATH" "$${SHELL:-/bin/sh}"

clean: ## remove .venv and the caches; var/ and .env stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are written last. They hold the folder's name, because the scripts in .venv/bin do as well.
.venv/.installed: requirements.lock pyproject.toml .ci/install.py $(if $(STALE),stale)
	@$(if $(PYTHON),,echo "Python 3.11 or newer with its venv module is needed" \
		"(Debian, Ubuntu: python3 and python3-venv); make PYTHON=... names another one." >&2; exit 1)
	@$(if $(STALE),rm -rf .venv)
	@mkdir -p .venv && touch .venv/.installing
	@$(USABLE) || { echo "Making .venv"; "$(PYTHON)" -m venv --clear .venv && touch .venv/.installing; }
	@rm -f .venv/.installed .venv/.installed-dev
	@.venv/bin/python .ci/install.py requirements.lock
	@.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@rm .venv/.installing
	@pwd -P >.venv/.installed

.venv/.installed-dev: .venv/.installed requirements-dev.lock
	@touch .venv/.installing
	@.venv/bin/python .ci/install.py requirements-dev.lock
	@rm .venv/.installing
	@touch .venv/.installed-dev
