# Every target works on a fresh machine with Python 3.11+ and make: the first one that needs it makes .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
SOURCES := .venv-sources
ORACLES := .oracles

.PHONY: demo test test-sources check bench bench-data bench-distribute bench-self bench-saving soak soak-saves soak-flips oracle oracle-record oracle-report check-saving clean

demo: $(INSTALLED)
	$(RUN) examples/gan.py

test: $(INSTALLED)
	$(RUN) -m pytest -n 2 --dist loadfile

# Data of other libraries (pandas, torch, tf.data, Grain ...), with the real packages in an environment of their own.
test-sources: $(SOURCES)/.installed
	$(SOURCES)/bin/python -m pytest tests/sources tests/data/test_source_table.py

# 100 runs killed at random instants and continued; each must end as if it had never been interrupted. About ten minutes.
soak: $(INSTALLED)
	$(RUN) -m tests.soak 100

check: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# What the library costs beside plain JAX; prints tables of ratios.
bench-self: $(INSTALLED)
	$(RUN) benchmarks/run.py --check
	$(RUN) benchmarks/run.py --self
	$(RUN) benchmarks/overheads.py
	$(RUN) benchmarks/core.py
	$(RUN) benchmarks/convolution.py

# Samples per second from each kind of source, and the memory that training on a large file takes.
bench-data: $(SOURCES)/.installed
	$(SOURCES)/bin/python benchmarks/data.py

# What strategies cost on one device, and the time in synchronisation on several.
bench-distribute: $(INSTALLED)
	$(RUN) benchmarks/distribute.py

# Saving and loading a model of one gigabyte, beside writing and reading its bytes.
bench-saving: $(INSTALLED)
	$(RUN) benchmarks/saving.py

# Two hundred saves killed with SIGKILL; a thousand flipped bits of each format. Short versions run in `make test`.
soak-saves: $(INSTALLED)
	$(RUN) tests/reliability/kill_saves.py --count 200

soak-flips: $(INSTALLED)
	$(RUN) tests/reliability/flip_bits.py --count 1000

# Beside Keras 3, tf_keras and Lightning, in environments of their own under .peers; writes benchmarks/results.md.
bench: $(INSTALLED)
	$(RUN) benchmarks/run.py --check
	$(RUN) benchmarks/run.py

# The libraries that fixtures are recorded from, in environments of their own; never dependencies.
oracle: $(ORACLES)/keras/.installed $(ORACLES)/tf_keras/.installed

oracle-record: oracle
	for room in record record_losses record_metrics record_optimizers record_saving; do \
	    KERAS_BACKEND=jax $(ORACLES)/keras/bin/python tests/oracle/$$room.py --out tests/oracle/fixtures || exit 1; done
	$(ORACLES)/tf_keras/bin/python tests/oracle/record_losses.py --tf-keras --out tests/oracle/fixtures
	for room in record_tf_keras record_callbacks record_data record_training record_compat record_utils record_weights_file record_tensorflow_files; do \
	    $(ORACLES)/tf_keras/bin/python tests/oracle/$$room.py --out tests/oracle/fixtures || exit 1; done

# Ten models saved by each side and loaded by the other, in three formats.
check-saving: $(INSTALLED) oracle
	$(RUN) tests/oracle/check_saving.py --keras $(ORACLES)/keras/bin/python

oracle-report: $(INSTALLED)
	$(RUN) tests/oracle/report.py

$(INSTALLED): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit('Podium needs Python 3.11 or newer') if sys.version_info < (3, 11) else None"
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet --editable ".[dev]"
	touch $@

$(SOURCES)/.installed: pyproject.toml
	test -x $(SOURCES)/bin/python || $(PYTHON) -m venv $(SOURCES)
	$(SOURCES)/bin/python -m pip install --quiet --upgrade pip
	$(SOURCES)/bin/python -m pip install --quiet --editable ".[dev,sources]"
	touch $@

$(ORACLES)/keras/.installed:
	$(PYTHON) -m venv $(ORACLES)/keras
	$(ORACLES)/keras/bin/pip install --quiet "keras==3.15.1" "jax==0.10.2"
	touch $@

$(ORACLES)/tf_keras/.installed:
	$(PYTHON) -m venv $(ORACLES)/tf_keras
	$(ORACLES)/tf_keras/bin/pip install --quiet tensorflow-cpu tf_keras
	touch $@

clean:
	rm -rf $(VENV) $(SOURCES) $(ORACLES) .mypy_cache .ruff_cache .hypothesis .cache
