# Each target does what its comment says; the commands stand alone, for people without make.
# A Python of 3.11 or newer and git are all that must be there: `install` fetches the rest from PyPI.

PYTHON ?= python3
BIN := .venv/bin
DATA ?= ../shared/data/locomo/locomo_dev.json
PAGES ?= 1000,10000

# Where this is set, every program that starts compiles all of ours again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install browser demo demo-postgres demo-page check fix test fuzz quick-starts bench docs clean

## install: make .venv with MemoryOS, its extras and the development tools
install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "MemoryOS needs Python 3.11 or newer; name one with make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]' --group dev
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt mem0ai
	@touch $@

## browser: the Chromium that tests/page drives, where a Debian or Ubuntu has none
browser:
	@if [ -n "$$(command -v chromium || command -v chromium-browser || command -v google-chrome)" ]; then :; \
	elif ! command -v apt-get >/dev/null; then echo "No Chromium: install it to run tests/page"; \
	elif [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	elif sudo -n true 2>/dev/null; then sudo -n apt-get update -qq && sudo -n apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else echo "No Chromium: run apt-get install chromium as root to run tests/page"; fi

## demo: play a conversation of seven weeks and ask six questions (make demo-page shows it in a browser)
demo: install
	$(BIN)/memoryos demo
	@$(BIN)/memoryos demo --local || echo "The part with a model in this process was left out: see above what it needs"
	@echo "Look at it in a browser: make demo-page"

## demo-page: the same conversation in a web page, until Ctrl-C
demo-page: install
	$(BIN)/memoryos serve --demo

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
test: install browser
	$(BIN)/pytest --numprocesses auto --dist worksteal

## fuzz: ask a real server all that its description allows, and what it does not, with Schemathesis (some minutes)
fuzz: install
	$(BIN)/python -m pip install --quiet "schemathesis==4.32.5"
	$(BIN)/python tools/fuzz_api.py

## quick-starts: try those of the documents with a wheel, each in an empty environment (some minutes)
quick-starts: install
	$(BIN)/python tools/try_quick_starts.py

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
