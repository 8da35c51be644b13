# Every target sets up what it needs, in .venv, on a machine that has Python 3.11 to 3.13, make and a way to the Python
# package index. pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS, PIP_CERT, pip.conf, …) are honoured.
#
#   make demo         fifteen small real sources -> a curated, verified corpus in build/demo/work
#   make demo-train   the same, then a minute of training on its shards; installs torch
#   make gpu-check    training on one or two GPUs of this machine, for whoever has them
#   make test-core    all tests but the trainer's; needs no torch
#   make test         the trainer's as well; installs torch
#   make test-faults  what a killed, starved or damaged run leaves behind
#   make chaos        kills the demo fifty times and resumes it; KILLS=6 for a look, CORPUS=small for a quick one
#   make test-cluster all stages by spark-submit, and on the oldest Spark
#   make lint         style, types, the Dockerfile
#   make docs         the documentation as pages, in build/site
#   make image        the container image (DOCKER=podman or buildah works too)
#   make clean        what the targets above made
#
# PYTHON=… picks the interpreter, CURATION_REAL_DATA=… a folder with larger samples for the tests that use them.

SHELL = /bin/sh
DOCKER = docker
BIN = .venv/bin
INTERPRETERS = $(or $(PYTHON),python3.11 python3.12 python3.13 python3)
APART = --ignore=tests/faults --ignore=tests/cluster
PACKAGES = curation jobs schemas $(wildcard trainer)

# A new package must reach the editable install, so each one's __init__.py counts as set-up.
SETUP = setup.cfg pyproject.toml constraints.txt $(wildcard $(addsuffix /__init__.py,$(PACKAGES)))
INSTALL = $(BIN)/python -m pip install --no-input --disable-pip-version-check --constraint constraints.txt

# An environment whose Python was upgraded away is made anew. This must happen before make looks at the stamps below.
$(shell $(BIN)/python -c '' 2>/dev/null || rm -f $(BIN)/python .venv/.installed-*)

.PHONY: docs demo demo-train gpu-check test test-core test-faults test-cluster chaos lint image clean java

demo: .venv/.installed-base java
	$(BIN)/curate demo --work build/demo/work

demo-train: .venv/.installed-train java
	$(BIN)/curate demo --work build/demo/work --train

gpu-check: .venv/.installed-train
	$(BIN)/python -m benchmarks.gpu_check

test-core: .venv/.installed-dev java
	$(BIN)/python -m pytest $(APART) --ignore=tests/trainer $(ARGS)

test: .venv/.installed-train java
	$(BIN)/python -m pytest $(APART) $(ARGS)

test-faults: .venv/.installed-dev java
	$(BIN)/python -m pytest tests/faults $(ARGS)

chaos: .venv/.installed-dev java
	$(BIN)/python tests/faults/chaos.py --kills $(or $(KILLS),50) --seed $(or $(SEED),1) --corpus $(or $(CORPUS),demo)

test-cluster: .venv/.installed-dev java
	$(BIN)/python -m pytest tests/cluster $(ARGS)

# mypy looks into torch, too: without it the trainer's types mean nothing.
lint: .venv/.installed-train
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy $(PACKAGES)
	$(BIN)/hadolint Dockerfile

docs: .venv/.installed-docs
	$(BIN)/python -m mkdocs build --strict --quiet --site-dir build/site

image:
	$(DOCKER) build --tag megatron-corpus .

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per layer: done once, done again when what is to be installed changes.
.venv/.installed-base: $(BIN)/python $(SETUP)
	$(INSTALL) --quiet --upgrade pip
	$(INSTALL) --editable .
	@touch $@

.venv/.installed-dev: .venv/.installed-base
	$(INSTALL) --editable '.[dev,s3]'
	@touch $@

.venv/.installed-docs: .venv/.installed-base
	$(INSTALL) --quiet --editable '.[docs]'
	@touch $@

# megatron-core is an oracle of the tests, and comes without what it requires: it needs no more here, and there are
# wheels for Linux alone. Where none fits, its tests are skipped.
.venv/.installed-train: .venv/.installed-dev
	$(INSTALL) --editable '.[train]'
	@$(INSTALL) --no-deps --only-binary :all: megatron-core || echo "No megatron-core here: tests against it are skipped"
	@touch $@

# Asked each time, since a Java on the PATH can go away; the answer takes 0.4 s.
java: .venv/.installed-base
	@$(BIN)/python -m jobs.java 2>/dev/null || { $(INSTALL) --editable '.[java]' && $(BIN)/python -m jobs.java; }

$(BIN)/python:
	@for python in $(INTERPRETERS); do \
	  $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || continue; \
	  if $$python -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "Setting up .venv with $$($$python --version): once, about 1.5 GB, some minutes"; \
	    exec $$python -m venv --clear .venv; \
	  fi; \
	  bare=$$python; \
	done; \
	if [ -n "$$bare" ]; then \
	  echo "error: $$bare cannot make a virtual environment, because its venv module is not installed." >&2; \
	  echo "Next: on Debian or Ubuntu, apt-get install $${bare##*/}-venv; then make again" >&2; \
	else \
	  echo "error: no Python 3.11, 3.12 or 3.13 among: $(INTERPRETERS). The tool runs on these." >&2; \
	  echo "Next: install one (Debian 12, Ubuntu 24.04: apt-get install python3-venv), or name one: make PYTHON=/path/to/python3.12" >&2; \
	fi; \
	exit 1
