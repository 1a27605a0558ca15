# Targets create the virtual environment if necessary.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PREPARED := $(VENV)/.prepared
TRAINING := $(VENV)/training
INSTALLED := $(VENV)/.installed
JOBS ?=

.PHONY: demo ljspeech test quick audit test-frameworks soak pages check format bench speed docs lock dist-check install-optional test-optional clean

demo: $(PREPARED)
	$(BIN)/tts-prep demo demo

ljspeech: $(PREPARED)
	@test -n "$(CORPUS)" && test -n "$(STORE)" || { echo "usage: make ljspeech CORPUS=folder STORE=folder [PRESET=name] [JOBS=n]" >&2; exit 2; }
	$(BIN)/tts-prep ljspeech "$(CORPUS)" "$(STORE)" --preset $(or $(PRESET),hifigan) --waveform int16 $(if $(JOBS),--jobs $(JOBS))

# Tests flush stores to the disk tens of thousands of times, which takes no time where the disk is memory.
IN_MEMORY := $(shell df --output=avail -BG /dev/shm 2>/dev/null | grep -qE '[0-9]{2}G' && echo PYTEST_DEBUG_TEMPROOT=/dev/shm)

test: $(INSTALLED)
	$(IN_MEMORY) $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# Takes hours, one of them for epochs: 700 kills, a fault at every write, thousands of fuzzed stores, every text of LJ
# Speech, a long corpus. docs/reliability.md has the times of the long ones. `make test` has a short form of most.
soak: $(INSTALLED)
	KILLS=$(or $(KILLS),200) COMMAND_KILLS=$(or $(COMMAND_KILLS),500) MUTATIONS=$(or $(MUTATIONS),20000) MINUTES=$(or $(MINUTES),60) HOURS=$(or $(HOURS),10) $(BIN)/python -m pytest -m soak -s
	CORRUPTIONS=$(or $(CORRUPTIONS),2000) FAULT_STEP=1 $(BIN)/python -m pytest \
		tests/format/test_hostile.py tests/verification/test_corruption.py tests/preprocess/make/test_full_disk.py
	RECORDINGS=$(or $(RECORDINGS),500000) $(BIN)/python -m pytest -s tests/containers/test_fuzzed_recordings.py
	LISTS=$(or $(LISTS),100000) SETTINGS=$(or $(SETTINGS),20000) $(BIN)/python -m pytest -s tests/corpora/test_fuzzed_lists.py
	RESPONSES=$(or $(RESPONSES),2000) DOWNLOAD_KILLS=$(or $(DOWNLOAD_KILLS),100) $(BIN)/python -m pytest -s tests/remote/test_faults.py
	HISTORIES=$(or $(HISTORIES),500) $(BIN)/python -m pytest tests/update/test_histories.py \
		tests/additions/test_column_values.py
	ERASURES=$(or $(ERASURES),50) $(BIN)/python -m pytest tests/removal/test_rows.py
	PROPERTIES=$(or $(PROPERTIES),2000) EXAMPLES=$(or $(EXAMPLES),100) $(BIN)/python -m pytest -m hypothesis

# Every block of every page, as it is written, and every recipe, as it is printed, each in an environment made by its own
# lines, from a package index.
pages: $(INSTALLED)
	$(BIN)/python -m pytest -m soak -s tests/project/test_pages_as_written.py \
		tests/recipes/test_guides.py::test_a_recipe_runs_as_printed_in_an_empty_environment

# What takes seconds: format, lint, types, and the tests of rooms that build no store of a corpus.
quick: check
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal tests/format tests/loader tests/recipes tests/checks \
		tests/project --ignore tests/project/test_docs.py --ignore tests/project/test_examples.py \
		--ignore tests/project/test_training.py

# Known vulnerabilities in what users install, and in what builds a release. Without --strict, pip-audit passes where it
# found none of the packages, such as behind an index that does not answer; tts-prep itself is in no index.
audit: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group audit
	$(BIN)/python -m pip freeze --exclude-editable > $(VENV)/audited.txt
	for locked in requirements/*.txt; do \
		$(BIN)/python -m pip_audit --strict --require-hashes --disable-pip --requirement $$locked || exit 1; \
	done
	$(BIN)/python -m pip_audit --strict --no-deps --disable-pip --requirement $(VENV)/audited.txt

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED)
	$(BIN)/python benchmarks/run.py $(if $(PEER_PYTHON),--peer-python $(PEER_PYTHON)) $(if $(NODE_MODULES),--node-modules $(NODE_MODULES))

# A point of the history of speed for each commit, measured in turn; what the last one is slower in than the one before.
speed: $(INSTALLED)
	$(BIN)/python benchmarks/history.py $(or $(COMMITS),HEAD) --rounds $(or $(ROUNDS),5) --result speed

docs: $(INSTALLED)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs docs/_build

# Optional libraries for some tests, which take gigabytes on some systems.
install-optional: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group frameworks

# What `make test` left out because a library was not installed, and nothing else; types once more, with those of torch.
test-optional: install-optional
	$(BIN)/mypy
	$(IN_MEMORY) $(BIN)/python -m pytest --numprocesses auto --dist worksteal --left-out -rs

# Update the pinned versions of the demo and of releases, for all systems and versions of Python; needs uv.
LOCK := uv pip compile pyproject.toml --universal --python-version 3.10 --generate-hashes --upgrade \
	--no-emit-index-url --no-annotate --no-header --quiet
lock:
	for name in demo release; do sed '/^[^#]/,$$d' requirements/$$name.txt > requirements/$$name.new; done
	$(LOCK) --extra prepare >> requirements/demo.new
	$(subst pyproject.toml,--group release,$(LOCK)) >> requirements/release.new
	for name in demo release; do mv requirements/$$name.new requirements/$$name.txt; done

# Includes libraries that no other target installs; the tests of exports need lhotse, datasets and webdataset.
test-frameworks: install-optional $(TRAINING)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group peers
	$(BIN)/python -m pytest -m '' -rs tests/loader/test_outputs.py tests/loader/test_frameworks.py tests/export/test_peers.py tests/export/test_kaldi_export.py \
		tests/preprocess/audio/test_resampling.py
	$(TRAINING)/bin/python -m pytest -m '' -rs tests/recipes/test_training_steps.py

# Other systems, which need other versions of what is in $(VENV): an environment of their own, in which the packages of
# $(VENV) are found where it has none itself. They come without their requirements, such as web pages and old NumPys.
$(TRAINING)/.installed: pyproject.toml $(INSTALLED)
	test -x $(TRAINING)/bin/python || $(BIN)/python -m venv $(TRAINING)
	$(BIN)/python -c "import sysconfig; print(f'import site; site.addsitedir({sysconfig.get_path(\"purelib\")!r})')" \
		> "$$($(TRAINING)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/parent.pth"
	$(TRAINING)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(TRAINING)/bin/python -m pip install --quiet --disable-pip-version-check --group training
	# What Matcha-TTS brings in C was made for an older NumPy.
	CYTHON_FORCE_REGEN=1 $(TRAINING)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		bigvgan f5-tts matcha-tts piper-tts vocos
	touch $@

dist-check: $(INSTALLED)
	.ci/dist-check $(BIN)/python

clean:
	rm -rf $(VENV) build dist demo docs/_build *.egg-info .mypy_cache .ruff_cache .pytest_cache benchmarks/output

$(PREPARED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[prepare,report]'
	touch $@

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	# Groups of dependencies need pip 25.1; that of an older Python is older.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --group dev
	touch $(PREPARED) $@
