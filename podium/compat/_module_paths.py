"""The dotted paths of TensorFlow's and Keras's private modules, and where Podium has their names.

Code that was written against the sources of Keras 2.4 to 2.15 or of TensorFlow imports them; Podium
has no module per path. `python -m podium` makes a module for each path in the table below, with the
names of Podium's packages in it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from podium.compat._missing_names import make_getattr

# Prefixes that mean the same package, the longest first.
PREFIXES = {
    "tensorflow.python.keras": "keras",
    "tensorflow.compat.v2.keras": "keras",
    "tensorflow.keras": "keras",
    "tf_keras.src": "keras",
    "tf_keras.api": "keras",
    "tf_keras": "keras",
    "keras.src": "keras",
    "keras.api": "keras",
    "keras": "keras",
    "tensorflow.compat.v2": "tensorflow",
    "tensorflow": "tensorflow",
    "podium.compat.keras": "keras",
    "podium.compat.tensorflow": "tensorflow",
    "podium": "keras",
}

_TF = "podium.compat.tensorflow"
_ENGINE = "podium.compat.keras.engine"
_TOOLS = "podium.compat._source_tools"
_LAYERS = "podium.layers"
_OPTIMIZERS = ("adadelta", "adagrad", "adam", "adamax", "ftrl", "nadam", "rmsprop", "sgd")
_OPERATIONS = (_TF, f"{_TF}.math", f"{_TF}.linalg")

# For each path, the packages whose public names it has, the first that has a name first; or
# single names, as `package:name`, or `package:name=name in the module`.
MODULES: dict[str, tuple[str, ...]] = {
    # --- Keras's engine
    "keras.engine.base_layer": (_LAYERS,),
    "keras.engine.base_layer_utils": (),
    "keras.engine.functional": ("podium.models:Model=Functional", "podium.models"),
    "keras.engine.input_layer": (_LAYERS,),
    "keras.engine.input_spec": (_LAYERS,),
    "keras.engine.keras_tensor": ("podium.core",),
    "keras.engine.sequential": ("podium.models",),
    "keras.models.functional": ("podium.models:Model=Functional", "podium.models"),
    "keras.models.model": ("podium.models",),
    "keras.models.sequential": ("podium.models",),
    "keras.models.cloning": ("podium.models",),
    # --- Keras's utilities
    "keras.utils.tf_utils": (f"{_ENGINE}.tf_utils",),
    "keras.utils.backend_utils": (f"{_TOOLS}:in_grain_data_pipeline", f"{_TOOLS}:in_tf_graph"),
    "keras.utils.data_utils": ("podium.utils",),
    "keras.utils.dataset_utils": ("podium.utils",),
    "keras.utils.generic_utils": ("podium.utils",),
    "keras.utils.io_utils": (f"{_TOOLS}:path_to_string",),
    "keras.utils.image_utils": ("podium.utils",),
    "keras.utils.layer_utils": ("podium.models",),
    "keras.utils.losses_utils": (
        "podium.losses:Reduction=ReductionV2",
        "podium.distribute",
        "podium.losses",
    ),
    "keras.utils.mode_keys": (f"{_TOOLS}:ModeKeys",),
    "keras.utils.np_utils": ("podium.utils",),
    "keras.utils.object_registration": ("podium.utils",),
    "keras.utils.tf_contextlib": ("contextlib",),
    "keras.utils.tf_inspect": ("inspect",),
    "keras.utils.tracking": ("podium.layers.internal:no_automatic_dependency_tracking",),
    "keras.utils.traceback_utils": (f"{_TOOLS}:filter_traceback",),
    "keras.utils.version_utils": (
        f"{_TOOLS}:ModelVersionSelector",
        f"{_TOOLS}:disallow_legacy_graph",
    ),
    "keras.utils.vis_utils": ("podium.utils",),
    "keras.distribution.distribution_lib": ("podium.compat.keras.distribution",),
    "keras.trainers": (),
    "keras.trainers.data_adapters": (),
    "keras.trainers.data_adapters.data_adapter_utils": (
        f"{_TOOLS}:class_weight_to_sample_weights",
        "podium.data",
    ),
    # --- Keras's files
    "keras.saving.hdf5_format": ("podium.saving",),
    "keras.saving.save": ("podium.saving",),
    "keras.saving.saving_api": ("podium.saving",),
    "keras.saving.saving_lib": ("podium.saving",),
    "keras.saving.serialization_lib": ("podium.saving",),
    "keras.saving.object_registration": ("podium.saving", "podium.utils"),
    "keras.saving.saving_utils": ("podium.saving.internal:is_hdf5_filepath",),
    "keras.saving.legacy": ("podium.saving",),
    "keras.saving.legacy.hdf5_format": ("podium.saving",),
    "keras.saving.legacy.save": ("podium.saving",),
    "keras.saving.legacy.saving_utils": ("podium.saving.internal:is_hdf5_filepath",),
    "keras.saving.legacy.serialization": ("podium.saving",),
    # --- modules that hold one family of classes
    "keras.layers.advanced_activations": (_LAYERS,),
    "keras.layers.dense_attention": (_LAYERS,),
    "keras.layers.embeddings": (_LAYERS,),
    "keras.layers.merge": (_LAYERS,),
    "keras.layers.noise": (_LAYERS,),
    "keras.layers.recurrent": (_LAYERS,),
    "keras.layers.recurrent_v2": (_LAYERS,),
    "keras.layers.layer": (_LAYERS,),
    "keras.layers.wrappers": (_LAYERS,),
    "keras.initializers.initializers_v2": ("podium.initializers",),
    "keras.losses.loss": ("podium.losses",),
    "keras.losses.losses": ("podium.losses",),
    "keras.metrics.base_metric": ("podium.metrics",),
    "keras.metrics.metrics": ("podium.metrics",),
    "keras.mixed_precision.loss_scale_optimizer": ("podium.optimizers",),
    "keras.mixed_precision.policy": (
        "podium.core:DTypePolicy=Policy",
        "podium.compat.keras.mixed_precision",
    ),
    "keras.optimizers.optimizer": ("podium.optimizers",),
    **{f"keras.optimizers.{name}": ("podium.optimizers",) for name in _OPTIMIZERS},
    **{
        f"keras.optimizers.legacy.{name}": ("podium.optimizers.legacy",)
        for name in (*_OPTIMIZERS, "gradient_descent")
    },
    "keras.optimizers.schedules.learning_rate_schedule": ("podium.optimizers.schedules",),
    "keras.optimizers.optimizer_v1": (f"{_TOOLS}:V1Optimizer=Optimizer",),
    "keras.optimizers.optimizer_v2": ("podium.optimizers",),
    "keras.optimizers.optimizer_v2.adam": ("podium.optimizers",),
    "keras.optimizers.optimizer_v2.gradient_descent": ("podium.optimizers",),
    "keras.optimizers.optimizer_v2.optimizer_v2": (
        "podium.optimizers:Optimizer=OptimizerV2",
        "podium.optimizers",
    ),
    "keras.optimizer_v2": ("podium.optimizers",),
    "keras.optimizer_v2.adam": ("podium.optimizers",),
    "keras.optimizer_v2.gradient_descent": ("podium.optimizers",),
    "keras.optimizer_v2.optimizer_v2": (
        "podium.optimizers:Optimizer=OptimizerV2",
        "podium.optimizers",
    ),
    "keras.optimizer_v1": (f"{_TOOLS}:V1Optimizer=Optimizer",),
    "keras.distribute.distributed_training_utils": ("podium.distribute",),
    # --- TensorFlow's sources
    "tensorflow.python": (_TF,),
    "tensorflow.python.data": (f"{_TF}.data",),
    "tensorflow.python.data.ops": (),
    "tensorflow.python.data.ops.dataset_ops": (
        "podium.data:Dataset=DatasetV2",
        f"{_TF}.data",
    ),
    "tensorflow.python.data.ops.iterator_ops": (
        "podium.data:Iterator=OwnedIterator",
        f"{_TF}.data",
    ),
    "tensorflow.python.distribute": (f"{_TF}.distribute",),
    "tensorflow.python.distribute.coordinator": ("podium.distribute.coordinator",),
    "tensorflow.python.distribute.coordinator.cluster_coordinator": (
        "podium.distribute.coordinator",
    ),
    "tensorflow.python.distribute.distribute_lib": (f"{_TF}.distribute",),
    "tensorflow.python.distribute.distribution_strategy_context": (f"{_TF}.distribute",),
    "tensorflow.python.distribute.mirrored_strategy": (f"{_TF}.distribute",),
    "tensorflow.python.distribute.one_device_strategy": (f"{_TF}.distribute",),
    "tensorflow.python.distribute.parameter_server_strategy": (f"{_TF}.distribute",),
    "tensorflow.python.distribute.parameter_server_strategy_v2": (
        "podium.distribute:ParameterServerStrategy=ParameterServerStrategyV2",
        f"{_TF}.distribute",
    ),
    "tensorflow.python.distribute.reduce_util": (f"{_TF}.distribute",),
    "tensorflow.python.distribute.values": ("podium.distribute",),
    "tensorflow.python.eager": (),
    "tensorflow.python.eager.backprop": (_TF,),
    "tensorflow.python.eager.context": (
        f"{_TOOLS}:async_wait",
        f"{_TF}:executing_eagerly",
        f"{_TF}:device",
    ),
    "tensorflow.python.eager.def_function": (
        f"{_TF}:function",
        "podium.core:run_functions_eagerly",
        "podium.core:functions_run_eagerly",
    ),
    "tensorflow.python.eager.polymorphic_function": (),
    "tensorflow.python.eager.polymorphic_function.polymorphic_function": (f"{_TF}:function",),
    "tensorflow.python.framework": (),
    "tensorflow.python.framework.constant_op": (_TF,),
    "tensorflow.python.framework.dtypes": (f"{_TF}.dtypes",),
    "tensorflow.python.framework.errors": (f"{_TF}.errors",),
    "tensorflow.python.framework.errors_impl": (f"{_TF}.errors",),
    "tensorflow.python.framework.ops": (
        f"{_TOOLS}:executing_eagerly_outside_functions",
        _TF,
    ),
    "tensorflow.python.framework.random_seed": (f"{_TF}.random:set_seed",),
    "tensorflow.python.framework.sparse_tensor": (f"{_TOOLS}:SparseTensor",),
    "tensorflow.python.framework.tensor_shape": (_TF,),
    "tensorflow.python.framework.tensor_spec": (_TF,),
    "tensorflow.python.framework.tensor_util": (f"{_TF}:is_tensor", f"{_TF}:is_tensor=is_tf_type"),
    "tensorflow.python.ops": (),
    "tensorflow.python.ops.array_ops": _OPERATIONS,
    "tensorflow.python.ops.check_ops": _OPERATIONS,
    "tensorflow.python.ops.clip_ops": _OPERATIONS,
    "tensorflow.python.ops.control_flow_ops": _OPERATIONS,
    "tensorflow.python.ops.control_flow_util": (_TF,),
    "tensorflow.python.ops.custom_gradient": (_TF,),
    "tensorflow.python.ops.init_ops": (_TF,),
    "tensorflow.python.ops.linalg_ops": _OPERATIONS,
    "tensorflow.python.ops.logging_ops": (f"{_TF}:print=print_v2",),
    "tensorflow.python.ops.math_ops": _OPERATIONS,
    "tensorflow.python.ops.nn": (f"{_TF}.nn",),
    "tensorflow.python.ops.nn_ops": (f"{_TF}.nn",),
    "tensorflow.python.ops.random_ops": (
        f"{_TF}.random:normal=random_normal",
        f"{_TF}.random:uniform=random_uniform",
        f"{_TF}.random",
    ),
    "tensorflow.python.ops.summary_ops_v2": (f"{_TF}.summary",),
    "tensorflow.python.ops.variables": (_TF,),
    "tensorflow.python.ops.while_loop": (_TF,),
    "tensorflow.python.platform": (),
    "tensorflow.python.platform.gfile": (f"{_TF}.io.gfile",),
    "tensorflow.python.platform.tf_logging": ("logging",),
    "tensorflow.python.saved_model": (),
    "tensorflow.python.saved_model.constants": (
        f"{_TOOLS}:VARIABLES_DIRECTORY",
        f"{_TOOLS}:VARIABLES_FILENAME",
        f"{_TOOLS}:SAVED_MODEL_FILENAME_PB",
        f"{_TOOLS}:SAVED_MODEL_FILENAME_PBTXT",
    ),
    "tensorflow.python.saved_model.loader_impl": ("podium.saving.internal:contains_saved_model",),
    "tensorflow.python.util": (),
    "tensorflow.python.util.compat": (f"{_TF}.compat",),
    "tensorflow.python.util.nest": (
        "podium.compat._nest:map_structure_up_to",
        "podium.compat._nest:flatten_up_to",
        f"{_TF}.nest",
    ),
    "tensorflow.python.util.tf_decorator": (f"{_TOOLS}:make_decorator",),
    "tensorflow.python.util.tf_export": (f"{_TOOLS}:keras_export", f"{_TOOLS}:tf_export"),
    "tensorflow.python.util.tf_inspect": ("inspect",),
    "tensorflow.tools": (),
    "tensorflow.tools.docs": (),
    "tensorflow.tools.docs.doc_controls": (
        f"{_TOOLS}:do_not_generate_docs",
        f"{_TOOLS}:do_not_generate_docs=do_not_doc_inheritable",
        f"{_TOOLS}:do_not_generate_docs=for_subclass_implementers",
    ),
}


def canonical_path(fullname: str) -> str:
    """Return a dotted path with the prefix `keras` or `tensorflow` that this table uses.

    Example:
        >>> canonical_path("tensorflow.python.keras.engine.training")
        'keras.engine.training'
    """
    for prefix, name in PREFIXES.items():
        if fullname == prefix or fullname.startswith(f"{prefix}."):
            return name + fullname[len(prefix) :]
    return fullname


def make_module(fullname: str, sources: tuple[str, ...]) -> ModuleType:
    """Return a new module with the names of Podium that a path of the table has.

    Args:
        fullname: The path, which becomes the name of the module.
        sources: The value of the table.
    """
    module = ModuleType(fullname, f"Podium's names for `{fullname}`.")
    for source in reversed(sources):
        vars(module).update(_names_of(source))
    vars(module).update(__getattr__=make_getattr(fullname, fullname), __path__=[])
    return module


def _names_of(source: str) -> dict[str, object]:
    """Return the names and values that one source of the table stands for."""
    package, _, name = source.partition(":")
    namespace = vars(importlib.import_module(package))
    if not name:
        return {name: value for name, value in namespace.items() if not name.startswith("_")}
    name, _, alias = name.partition("=")
    return {alias or name: namespace[name]}
