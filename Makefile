# All targets work on a fresh machine with Python 3.11 or newer: the first one creates .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
SOURCES := .venv-sources
CLIENTS := .venv-clients
ORACLES := .oracles

.PHONY: demo test test-sources check format metrics \
	fuzz soak soak-saves soak-flips soak-checkpoints soak-launch soak-load \
	bench bench-data bench-distribute bench-ps bench-self bench-saving bench-telemetry \
	oracle oracle-record oracle-report check-saving check-applications check-replicas check-tensorflow-files clean

demo: $(INSTALLED)
	$(RUN) examples/gan.py

test: $(INSTALLED)
	$(RUN) -m pytest -n 2 --dist loadfile

# What CI checks in addition to the tests. `make format` fixes what can be fixed automatically.
check: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/codespell
	$(RUN) tools/vocabulary.py
	$(RUN) -m pytest tests/architecture -m static

format: $(INSTALLED)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# Measurements of the code base; `python tools/metrics.py --compare COMMIT` adds a column.
metrics: $(INSTALLED)
	$(RUN) tools/metrics.py

# Data and modules of other libraries (pandas, torch, tf.data, Grain, Flax, Equinox ...), with the real
# packages installed.
test-sources: $(SOURCES)/.installed
	$(SOURCES)/bin/python -m pytest tests/sources tests/data/test_documented_sources.py

# Libraries that are built on Keras, unmodified, in an environment of their own: each script in
# tests/clients uses one.
.PHONY: test-clients
test-clients: $(CLIENTS)/.installed
	for script in tests/clients/*.py; do \
	    echo "== $$script"; $(CLIENTS)/bin/python -m podium $$script || exit 1; done

# 100 runs are killed at random times and resumed; each must end like an uninterrupted run.
# About ten minutes.
soak: $(INSTALLED)
	$(RUN) -m tests.soak 100

# 200 saves are killed with SIGKILL; 1,000 bits are flipped in files of each format. Short versions
# run in `make test`.
soak-saves: $(INSTALLED)
	$(RUN) tests/reliability/kill_saves.py --count 200

soak-flips: $(INSTALLED)
	$(RUN) tests/reliability/flip_bits.py --count 1000

# Every signal is sent 50 times to `podium launch`, to its chief and to its worker; no process may be
# left over. A short version runs in `make test`.
soak-launch: $(INSTALLED)
	$(RUN) tests/distribute/launch_signals.py --count 50

# Ten threads predict while another trains for two minutes; 2,000 fits; 200 models. Results must be
# right, and the process may not grow. A short version runs in `make test`.
soak-load: $(INSTALLED)
	$(RUN) tests/reliability/load.py

# 500 TensorFlow checkpoints and 250 SavedModels are damaged or forged; each is rejected, or has the
# same weights.
soak-checkpoints: $(INSTALLED)
	$(RUN) tests/reliability/mutate_checkpoints.py --count 500

# 5,000 files of all formats are damaged or forged, and loaded: no code is run, nothing crashes, takes
# long or allocates much, and no damage changes a weight. A short version runs in `make test`.
fuzz: $(INSTALLED)
	$(RUN) tests/reliability/fuzz.py --count 5000

# 50 workers of parameter-server training are killed with SIGKILL, then a server and the coordinator:
# every step is applied once. A short version runs in `make test`.
.PHONY: soak-workers
soak-workers: $(INSTALLED)
	$(RUN) -m tests.distribute.parameter_server.kill_processes --count 50

# A job of four workers on a Ray cluster of local nodes loses two nodes and gains one, twice; each run
# must end with the weights of an undisturbed one. A short version runs in `make test`.
.PHONY: soak-elastic
soak-elastic: $(INSTALLED)
	$(RUN) -m tests.distribute.elastic.lose_nodes --workers 4 --runs 2

# The overhead over plain JAX, as tables of ratios.
bench-self: $(INSTALLED)
	$(RUN) benchmarks/run.py --check
	$(RUN) benchmarks/run.py --self
	$(RUN) benchmarks/overheads.py
	$(RUN) benchmarks/core.py
	$(RUN) benchmarks/convolution.py

# Samples per second of each kind of source, and the memory needed to train on a large file.
bench-data: $(SOURCES)/.installed
	$(SOURCES)/bin/python benchmarks/data.py

# The overhead of strategies on one device, and the time spent in synchronization on several.
bench-distribute: $(INSTALLED)
	$(RUN) benchmarks/distribute.py

# Steps a second with parameter servers, the latency of a call, and the bytes that a step moves.
bench-ps: $(INSTALLED)
	$(RUN) benchmarks/parameter_server.py

# Saving and loading a model of one gigabyte, compared with writing and reading its bytes.
bench-saving: $(INSTALLED)
	$(RUN) benchmarks/saving.py

# The cost of telemetry at steps of one millisecond, and its agreement with a stopwatch.
bench-telemetry: $(INSTALLED)
	$(RUN) benchmarks/telemetry.py

# Compared with Keras 3, tf_keras and Lightning, which are installed in environments under
# .benchmark-envs; writes benchmarks/results.md.
bench: $(INSTALLED)
	$(RUN) benchmarks/run.py --check
	$(RUN) benchmarks/run.py

# The libraries that fixtures are recorded from, in separate environments; never dependencies.
oracle: $(ORACLES)/keras/.installed $(ORACLES)/tf_keras/.installed

oracle-record: oracle
	for script in record record_losses record_metrics record_optimizers record_saving \
	    record_applications record_catalogue record_names record_images record_quantize \
	    record_conv_lstm record_visualization; do \
	    KERAS_BACKEND=jax $(ORACLES)/keras/bin/python tests/oracle/$$script.py \
	        --out tests/oracle/fixtures || exit 1; done
	KERAS_BACKEND=jax $(ORACLES)/keras/bin/python tests/oracle/record_preprocessing.py --audio \
	    --out tests/oracle/fixtures
	$(ORACLES)/tf_keras/bin/python tests/oracle/record_catalogue.py --package tf_keras \
	    --out tests/oracle/fixtures
	$(ORACLES)/tf_keras/bin/python tests/oracle/record_losses.py --tf-keras \
	    --out tests/oracle/fixtures
	for script in record_tf_keras record_audio record_callbacks record_data record_training record_compat \
	    record_utils record_weights_file record_tensorflow_files record_tensorflow_checkpoints \
	    record_seed_replicas record_requirements record_preprocessing record_keras2_names; do \
	    $(ORACLES)/tf_keras/bin/python tests/oracle/$$script.py \
	        --out tests/oracle/fixtures || exit 1; done

# Ten models saved by each side and loaded by the other, in three formats.
check-saving: $(INSTALLED) oracle
	$(RUN) tests/oracle/check_saving.py --keras $(ORACLES)/keras/bin/python

# Keras's own unit tests, read from the installed package and run on Podium. More than an hour.
.PHONY: keras-tests
keras-tests: $(INSTALLED) oracle
	PYTHONPATH=tools $(RUN) -m keras_tests --out docs/keras_tests.md \
	    --keras $$($(ORACLES)/keras/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")

# Every architecture of Keras's applications: layers, weights and outputs, recorded again and compared.
# About half an hour.
check-applications: $(INSTALLED) oracle
	KERAS_BACKEND=jax $(ORACLES)/keras/bin/python tests/oracle/record_applications.py --again \
	    --out tests/oracle/fixtures
	$(RUN) tests/oracle/check_applications.py

# Engines of documents about Keras: their weights with several replicas and processes.
check-replicas: $(INSTALLED)
	PYTHONPATH=. $(RUN) tests/oracle/check_seed_replicas.py

# Fourteen models in TensorFlow's checkpoints and SavedModels, written by each side and read by the
# other.
check-tensorflow-files: $(INSTALLED) $(SOURCES)/.installed oracle
	$(RUN) tests/oracle/check_tensorflow_files.py --tf-keras $(ORACLES)/tf_keras/bin/python
	$(SOURCES)/bin/python tests/oracle/check_saved_models.py \
	    --tf-keras $(ORACLES)/tf_keras/bin/python

# Runs the comparisons with what Keras has recorded, and counts the public names that they compare;
# `make oracle-record` records with Keras itself. About ten minutes.
.PHONY: parity
parity: $(INSTALLED)
	$(RUN) tools/parity.py --missing

# docs/catalogue.md: each public name of Keras 3 and Keras 2, and what Podium has for it.
.PHONY: catalogue
catalogue: $(INSTALLED)
	$(RUN) tools/catalogue.py

oracle-report: $(INSTALLED)
	$(RUN) tests/oracle/report.py

$(INSTALLED): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(\
	    'Podium needs Python 3.11 or newer' if sys.version_info < (3, 11) else 0)"
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet --editable ".[dev]"
	touch $@

$(SOURCES)/.installed: pyproject.toml
	test -x $(SOURCES)/bin/python || $(PYTHON) -m venv $(SOURCES)
	$(SOURCES)/bin/python -m pip install --quiet --upgrade pip
	$(SOURCES)/bin/python -m pip install --quiet --editable ".[dev,sources]"
	touch $@

$(CLIENTS)/.installed: pyproject.toml tests/clients/requirements.txt
	test -x $(CLIENTS)/bin/python || $(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --quiet --upgrade pip
	$(CLIENTS)/bin/python -m pip install --quiet --editable . \
	    --requirement tests/clients/requirements.txt
	$(CLIENTS)/bin/python -m pip install --quiet --no-deps keras-hub==0.32.0 keras-rs==0.4.0 \
	    kagglehub==1.0.3 kagglesdk==0.1.28
	touch $@

$(ORACLES)/keras/.installed:
	$(PYTHON) -m venv $(ORACLES)/keras
	$(ORACLES)/keras/bin/pip install --quiet "keras==3.15.1" "jax==0.10.2" \
	    opencv-python-headless pydot # which Keras draws with
	touch $@

$(ORACLES)/tf_keras/.installed:
	$(PYTHON) -m venv $(ORACLES)/tf_keras
	$(ORACLES)/tf_keras/bin/pip install --quiet tensorflow-cpu tf_keras scipy pillow pandas
	touch $@

clean:
	rm -rf $(VENV) $(SOURCES) $(CLIENTS) $(ORACLES) .mypy_cache .ruff_cache .hypothesis .cache
