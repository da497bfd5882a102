# Each target does what its comment says; the commands stand alone, for people without make.
# A Python of 3.11 or newer and git are all that must be there: `install` fetches the rest from PyPI.

PYTHON ?= python3
BIN := .venv/bin
DATA ?= ../shared/data/locomo/locomo_dev.json
PAGES ?= 1000,10000

# Where this is set, every program that starts compiles all of ours again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install demo demo-postgres check fix test bench docs clean

## install: make .venv with MemoryOS, its extras and the development tools
install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "MemoryOS needs Python 3.11 or newer; name one with make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]' --group dev
	@touch $@

## demo: play a conversation of seven weeks and ask six questions
demo: install
	$(BIN)/memoryos demo

## demo-postgres: the same on a real PostgreSQL, which is started for it and gone afterwards
demo-postgres: install
	$(BIN)/python tools/demo_postgres.py

## check: format, lint, types, layers (changes nothing)
check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

## fix: format and repair what can be repaired
fix: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## test: every test, those of a memory on SQLite and on a PostgreSQL that they start
test: install
	$(BIN)/pytest --numprocesses auto --dist worksteal

## bench: speed by size (PAGES=1000,100000), and recall where the data is (DATA=locomo10.json)
bench: install
	$(BIN)/memoryos bench speed --pages "$(PAGES)"
	@if [ -f "$(DATA)" ]; then $(BIN)/memoryos bench locomo --data "$(DATA)"; \
	else echo "No recall: there is no $(DATA); name a LoCoMo file with make bench DATA=FILE"; fi

## docs: write docs/reference/ from the code, and build the site in build/docs; broken links fail
docs: install
	$(BIN)/python tools/build_reference.py
	$(BIN)/sphinx-build -W --keep-going -q -d build/doctrees docs build/docs

## clean: remove what install made
clean:
	rm -rf .venv build
