"""The paths of TensorFlow's and Keras's private modules, and TensorFlow's manners, while the import
hook is installed.
"""

import importlib
import sys
import types

import numpy as np
import pytest

import podium
from podium import compat
from podium.compat import tensorflow as tf
from podium.compat._module_paths import MODULES

# The helpers that the training loop of Keras 2 uses, under the paths that it imports them from.
HELPERS = {
    "keras.engine.data_adapter": (
        "DataHandler", "DataAdapter", "get_data_handler", "expand_1d", "unpack",
        "unpack_x_y_sample_weight", "pack_x_y_sample_weight", "train_validation_split",
    ),
    "keras.engine.training": (
        "Model", "reduce_per_replica", "concat", "write_scalar_summaries", "_minimum_control_deps",
        "_multi_worker_concat", "_tpu_multi_host_concat", "_disallow_inside_tf_function",
        "_detect_save_format", "flatten_metrics_in_order",
    ),
    "keras.engine.training_utils": ("RespectCompiledTrainableState",),
    "keras.engine.compile_utils": ("LossesContainer", "MetricsContainer"),
    "keras.engine.base_layer": ("Layer",),
    "keras.engine.input_layer": ("Input", "InputLayer"),
    "keras.engine.functional": ("Functional",),
    "keras.engine.sequential": ("Sequential",),
    "keras.utils.tf_utils": ("sync_to_numpy_or_python_type", "is_tensor_or_variable"),
    "keras.saving.saving_utils": ("is_hdf5_filepath",),
    "keras.saving.hdf5_format": ("load_model",),
    "keras.optimizer_v2.adam": ("Adam",),
    "keras.optimizer_v2.optimizer_v2": ("OptimizerV2",),
}  # fmt: skip
TENSORFLOW = {
    "tensorflow.python.distribute.coordinator.cluster_coordinator": ["ClusterCoordinator"],
    "tensorflow.python.distribute.parameter_server_strategy_v2": ["ParameterServerStrategyV2"],
    "tensorflow.python.saved_model.loader_impl": ("contains_saved_model",),
    "tensorflow.python.saved_model.constants": ("VARIABLES_DIRECTORY", "VARIABLES_FILENAME"),
    "tensorflow.python.eager.context": ("async_wait", "executing_eagerly"),
    "tensorflow.python.eager.def_function": ("function", "run_functions_eagerly"),
    "tensorflow.python.eager.backprop": ("GradientTape",),
    "tensorflow.python.framework.ops": ("inside_function", "convert_to_tensor", "name_scope"),
    "tensorflow.python.framework.errors": ("OutOfRangeError",),
    "tensorflow.python.framework.sparse_tensor": ("SparseTensor",),
    "tensorflow.python.ops.array_ops": ("concat", "zeros", "ones", "shape"),
    "tensorflow.python.ops.math_ops": ("range", "reduce_mean", "cast"),
    "tensorflow.python.ops.variables": ("Variable", "VariableAggregation"),
    "tensorflow.python.ops.summary_ops_v2": ("scalar",),
    "tensorflow.python.distribute.distribution_strategy_context": ("get_strategy",),
    "tensorflow.python.distribute.values": ("PerReplica",),
    "tensorflow.python.data.ops.dataset_ops": ("DatasetV2", "Dataset"),
    "tensorflow.python.data.ops.iterator_ops": ("Iterator", "OwnedIterator"),
    "tensorflow.python.util.nest": ("map_structure", "map_structure_up_to", "flatten"),
    "tensorflow.python.util.tf_export": ("keras_export",),
}


@pytest.fixture
def installed():
    compat.install()
    yield
    compat.uninstall()


@pytest.mark.parametrize("prefix", ["keras", "tensorflow.keras", "tensorflow.python.keras"])
def test_helpers_are_found_under_the_paths_of_keras(installed, prefix):
    for path, names in HELPERS.items():
        path = path.replace("keras", prefix, 1)
        package, _, module = path.rpartition(".")
        namespace = {}
        exec(f"import {path}\nfrom {path} import {', '.join(names)}", namespace)
        exec(f"from {package} import {module} as module", namespace)
        for name in names:
            assert getattr(namespace["module"], name) is namespace[name]
    for version in ("keras.src.engine.training", "tf_keras.src.engine.training"):
        assert importlib.import_module(version).Model is podium.Model


def test_helpers_are_found_under_the_paths_of_tensorflow(installed):
    for path, names in TENSORFLOW.items():
        package, _, module = path.rpartition(".")
        namespace = {}
        exec(f"from {path} import {', '.join(names)}", namespace)
        exec(f"from {package} import {module} as module\nimport {path}", namespace)
        for name in names:
            assert getattr(namespace["module"], name) is namespace[name]


def test_every_path_of_the_table_can_be_imported(installed):
    for path in MODULES:
        module = importlib.import_module(path)
        assert isinstance(module, types.ModuleType) and vars(module)["__getattr__"]


def test_a_missing_name_says_where_it_is_missing(installed):
    nest = importlib.import_module("tensorflow.python.util.nest")
    with pytest.raises(AttributeError, match=r"tensorflow\.python\.util\.nest\.map_structur is"):
        _ = nest.map_structur
    with pytest.raises(ImportError, match=r"cannot import name 'flat_map'"):
        exec("from tensorflow.python.util.nest import flat_map")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tensorflow\.python\.tpu'"):
        importlib.import_module("tensorflow.python.tpu")


def test_uninstall_removes_the_modules_from_the_packages():
    compat.install()
    exec("from tensorflow.keras.utils import tf_utils")
    assert "podium.compat.keras.utils.tf_utils" in sys.modules
    compat.uninstall()
    assert "podium.utils.tf_utils" not in sys.modules
    assert not hasattr(podium.utils, "tf_utils")
    assert "podium.layers.core" in sys.modules


def test_tools_of_the_sources_do_what_their_names_say(installed):
    context = importlib.import_module("tensorflow.python.eager.context")
    ops = importlib.import_module("tensorflow.python.framework.ops")
    export = importlib.import_module("tensorflow.python.util.tf_export").keras_export
    decorator = importlib.import_module("tensorflow.python.util.tf_decorator").make_decorator
    sparse = importlib.import_module("tensorflow.python.framework.sparse_tensor").SparseTensor
    seen = []
    podium.function(lambda x: seen.append(ops.inside_function()) or x)(podium.Tensor(1.0))
    assert set(seen) == {True} and not ops.inside_function()
    assert context.async_wait() is None and ops.executing_eagerly_outside_functions()

    @export("keras.Model", v1=[])
    def original():
        """Docstring."""

    wrapped = decorator(original, lambda: 1)
    assert (wrapped(), wrapped.__name__, wrapped.__doc__) == (1, "original", "Docstring.")
    value = sparse(indices=[[0, 1], [2, 0]], values=[3.0, 4.0], dense_shape=(3, 2))
    assert isinstance(value, sparse) and not isinstance(podium.Tensor(1.0), sparse)
    np.testing.assert_array_equal(value.todense(), [[0, 3], [0, 0], [4, 0]])


# --- TensorFlow's text of values (recorded from TensorFlow 2.21)

TEXTS = [
    (100.0, "numpy=100.0", "100.0"),
    (1.4210857e-13, "numpy=1.4210857e-13", "1.4210857e-13"),
    ([1.0, 2.0], "numpy=array([1., 2.], dtype=float32)", "[1. 2.]"),
    (
        [[1.0, 2.0], [3.0, 4.0]],
        "numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)",
        "\n[[1. 2.]\n [3. 4.]]",
    ),
    (3, "numpy=3", "3"),
    (True, "numpy=True", "True"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "representation", "text"), TEXTS)
def test_tensors_and_variables_are_printed_as_tensorflow_does(
    installed, value, representation, text
):
    tensor = podium.convert_to_tensor(value)
    shape, dtype = tensor.shape, tensor.dtype
    assert repr(tensor) == f"<tf.Tensor: shape={shape}, dtype={dtype}, {representation}>"
    assert str(tensor) == f"tf.Tensor({text}, shape={shape}, dtype={dtype})"
    variable = podium.Variable(tensor, name="v")
    assert repr(variable) == f"<tf.Variable 'v:0' shape={shape} dtype={dtype}, {representation}>"
    assert f"{podium.Tensor(1.5):.3f}" == "1.500"


def test_tensors_are_printed_as_podium_does_without_the_hook(installed):
    traced = []
    podium.function(lambda x: traced.append(str(x)) or x)(podium.Tensor(1.0))
    assert traced[0] == "<tf.Tensor: shape=(), dtype=float32, inside a trace>"
    compat.uninstall()
    assert str(podium.Tensor(1.0)) == "<podium.Tensor shape=(), dtype=float32, value=1.>"


# --- soft placement


def test_a_missing_device_is_replaced_with_a_warning(installed):
    message = r"device='/gpu:0' was given, and this machine has no such device; '/cpu:0' is used"
    with pytest.warns(UserWarning, match=message) as caught:
        strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
    assert caught[0].filename == __file__
    with strategy.scope():
        assert podium.Variable(1.0).value.devices() == {podium.distribute.find_device("/cpu:0")}
    with pytest.raises(ValueError, match=r"device='gpu 0' was given; a name such as"):
        tf.distribute.OneDeviceStrategy("gpu 0")
    compat.uninstall()
    with pytest.raises(ValueError, match=r"device='/gpu:0' was given, and this machine has no"):
        tf.distribute.OneDeviceStrategy("/gpu:0")


def test_real_imports_reach_the_real_packages_inside_of_the_block_alone(tmp_path, monkeypatch):
    package = tmp_path / "tf_keras"
    package.mkdir()
    (package / "__init__.py").write_text("from tf_keras.part import NAME\n")
    (package / "part.py").write_text("NAME = 'real'\n")
    monkeypatch.syspath_prepend(tmp_path)
    podium.compat.install()
    try:
        replaced = importlib.import_module("tf_keras")
        assert not hasattr(replaced, "NAME")
        with podium.compat.real_imports():
            real = importlib.import_module("tf_keras")
            assert real.NAME == "real" and "tf_keras.part" in sys.modules
        assert importlib.import_module("tf_keras") is replaced
        assert "tf_keras.part" not in sys.modules
        with podium.compat.real_imports(), podium.compat.real_imports():
            assert importlib.import_module("tf_keras") is real
        assert importlib.import_module("tf_keras") is replaced
    finally:
        podium.compat.uninstall()
    with podium.compat.real_imports():  # nothing is replaced
        assert importlib.import_module("tf_keras").NAME == "real"
    del sys.modules["tf_keras"]
    del sys.modules["tf_keras.part"]
