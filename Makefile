# Everything from nothing: the first command that needs it makes .venv and installs the tested versions.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
WORKERS ?= 2
LABEL_STUDIO := 1.23.2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: install demo test quick long-test page-test ray-test docs-test ranks-test workers-test label-studio-test attack attack-quick dist lint format picture readme clean

install: $(READY)  ## make .venv and nothing else
	@echo "ready; now: . $(BIN)/activate"

demo: $(READY)  ## see forgetting happen, and not happen (a few minutes on two cores)
	rm -rf demo
	$(BIN)/retainer demo --out demo

test: $(READY)  ## the suite, at most five minutes on two cores, no network; long-test and page-test have the rest
	$(PYTEST)

long-test: $(READY)  ## the tests that take longest: whole paths, several processes, full disks; two minutes on two cores
	$(PYTEST) -m long

page-test: $(READY)  ## the server's page in Chromium, a few minutes on two cores, no network
	$(PYTEST) tests/serve/page

ray-test: $(READY)  ## bulk tagging and sweeps on a Ray cluster of two nodes, a minute and a half; installs the extra ray
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[ray]'
	$(BIN)/python -m pytest tests/cluster

quick: $(READY)  ## the tests that start no process, browser or training, at most a minute
	RETAINER_TESTS=quick $(PYTEST) --quick

docs-test: $(READY)  ## run every command of the README and of docs/, a few minutes on two cores, no network
	$(BIN)/python -m pytest tests/docs -n $(WORKERS) --maxschedchunk 1

ranks-test: $(READY)  ## kill a process of a run under torchrun, and go on: a minute on two cores, no network
	$(BIN)/python -m pytest tests/training/torchrun

workers-test: $(READY)  ## a server with workers: reloads, kills and its end, under load, half a minute on two cores, no network
	$(BIN)/python -m pytest tests/serve/workers/processes

label-studio-test: $(READY) .venv-label-studio/ready-$(LABEL_STUDIO)  ## a real Label Studio, from an empty project to a taught version, at most ten minutes on two cores; installs 1 GB first
	$(BIN)/python benchmarks/label_studio.py --label-studio .venv-label-studio/bin/label-studio --out results/label-studio.txt

attack: $(READY)  ## attack readers, versions, runs and the server, at most an hour on two cores
	$(BIN)/python benchmarks/attack.py --out results/attack.json

attack-quick: $(READY)  ## the same in three to four minutes
	$(BIN)/python benchmarks/attack.py --quick

dist: $(READY)  ## wheel and sdist in dist/, tried in a clean environment per Python, 12 to 20 minutes each; PYTHONS=... tries other Pythons
	$(BIN)/python benchmarks/dist.py --out dist --record results/dist.txt $(addprefix --python ,$(PYTHONS))

lint: $(READY)  ## style, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## format the code with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

readme: $(READY)  ## write the generated tables of README, CONTRIBUTING and docs/ again, and the curve
	$(BIN)/python benchmarks/readme.py

picture: demo  ## make the picture of the README again
	cp demo/curves.svg docs/demo.svg

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "retainer needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

.venv-label-studio/ready-$(LABEL_STUDIO):
	rm -rf .venv-label-studio
	$(PYTHON) -m venv .venv-label-studio
	.venv-label-studio/bin/pip install --quiet label-studio==$(LABEL_STUDIO)
	touch $@

clean:  ## remove what the commands above made
	rm -rf .venv .venv-label-studio demo dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
