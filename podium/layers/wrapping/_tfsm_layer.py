"""TFSMLayer: a SavedModel that TensorFlow runs on the host, for inference."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Config, DTypeLike, PathLike, Tree
from podium.core import dispatch
from podium.layers._layer import Layer


class TFSMLayer(Layer):
    """Runs an endpoint of a SavedModel as a layer, without training it.

    TensorFlow computes it on the host: compiled steps call back, and wait. Its variables are not
    weights of the layer, and it has no gradient; to train a model of Keras from a SavedModel, use
    `podium.models.load_model`. Load only SavedModels that you trust, since their programs run.

    Args:
        filepath: The directory of the SavedModel.
        call_endpoint: The endpoint to call: an attribute of the SavedModel, or a signature.
        call_training_endpoint: The endpoint to call in training; None for `call_endpoint`.
        trainable: Accepted for Keras's signature, without effect.
        name: The name of the layer.
        dtype: The dtype of the layer.

    Raises:
        ImportError: tensorflow is not installed.
        ValueError: The SavedModel has no such endpoint.

    Example:
        >>> podium.layers.TFSMLayer("nowhere")
        Traceback (most recent call last):
        FileNotFoundError: TFSMLayer was given 'nowhere', which is not a SavedModel: a directory ...
    """

    def __init__(
        self,
        filepath: PathLike,
        call_endpoint: str = "serve",
        call_training_endpoint: str | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(trainable=trainable, name=name, dtype=dtype)
        self.filepath = os.fsdecode(filepath)
        self.call_endpoint = call_endpoint
        self.call_training_endpoint = call_training_endpoint
        if not os.path.isfile(os.path.join(self.filepath, "saved_model.pb")):
            raise FileNotFoundError(
                f"TFSMLayer was given {self.filepath!r}, which is not a SavedModel: a directory "
                "with a file saved_model.pb was expected, as `model.export` writes it."
            )
        tensorflow = _import_tensorflow()
        loaded = tensorflow.saved_model.load(self.filepath)
        self._endpoint = _HostFunction(tensorflow, loaded, call_endpoint)
        self._training_endpoint = (
            self._endpoint
            if call_training_endpoint is None
            else _HostFunction(tensorflow, loaded, call_training_endpoint)
        )
        self.built = True

    def call(self, inputs: Tree, training: bool = False) -> Tree:
        """Run the endpoint on the host."""
        endpoint = self._training_endpoint if training else self._endpoint
        return dispatch(endpoint.run, inputs)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer on a machine with the same file."""
        return super().get_config() | {
            "filepath": self.filepath,
            "call_endpoint": self.call_endpoint,
            "call_training_endpoint": self.call_training_endpoint,
        }

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        custom_objects: Mapping[str, Any] | None = None,
        safe_mode: bool | None = None,
    ) -> Self:
        """Create a layer from the result of `get_config`, if `safe_mode` is False.

        Files of models cannot contain this layer: loading them would run the programs of another
        file that they name.
        """
        if safe_mode is not False:
            raise ValueError(
                f"A config with a TFSMLayer of {config.get('filepath')!r} was given; a SavedModel "
                "that a config names is not loaded, since its program would run. If you trust it, "
                "create the layer yourself, or call `TFSMLayer.from_config(config, "
                "safe_mode=False)`."
            )
        arguments = {name: value for name, value in config.items() if name != "trainable"}
        return cls(**arguments)


class _HostFunction:
    """One function of a SavedModel, as a function of arrays."""

    def __init__(self, tensorflow: ModuleType, loaded: Any, name: str):
        self._tf = tensorflow
        self._loaded = loaded  # its functions do not keep their variables
        self._fn: Any = getattr(loaded, name, None)
        self._argument_names: list[str] | None = None  # of a signature, which takes them by name
        if self._fn is None:
            if name not in loaded.signatures:
                raise ValueError(
                    f"TFSMLayer was given the endpoint {name!r}; the SavedModel has the signatures "
                    f"{sorted(loaded.signatures)} and no attribute of that name."
                )
            self._fn = loaded.signatures[name]
            self._argument_names = sorted(self._fn.structured_input_signature[1])
        self._specs: dict[Any, Tree] = {}  # of outputs, by the shapes of the inputs

    def run(self, inputs: Tree) -> Tree:
        """Call the endpoint, also while a program is traced; its gradient raises an error."""
        flat, structure = jax.tree.flatten(inputs)
        shapes = tuple((tuple(leaf.shape), jnp.dtype(leaf.dtype).name) for leaf in flat)

        @jax.custom_vjp
        def call(flat: list[Any]) -> Tree:
            return jax.pure_callback(
                lambda leaves: self._compute(structure, leaves),
                self._output_specs(structure, shapes),
                flat,
                vmap_method="sequential",
            )

        def differentiate(flat: list[Any]) -> tuple[Tree, None]:
            raise TypeError(
                "A gradient through a TFSMLayer was requested; TensorFlow computes it outside of "
                "the program, so that it has none. Put layers that are trained after it, and not "
                "before, or load the model with `podium.models.load_model`."
            )

        call.defvjp(differentiate, lambda *_: (None,))
        return call(flat)

    def _output_specs(self, structure: Tree, shapes: tuple[Any, ...]) -> Tree:
        key = (structure, shapes)
        if key not in self._specs:  # TensorFlow may not know the sizes; outputs for zeros have them
            outputs = self._compute(structure, [np.zeros(*shape) for shape in shapes])
            self._specs[key] = jax.tree.map(
                lambda value: jax.ShapeDtypeStruct(value.shape, value.dtype), outputs
            )
        return self._specs[key]

    def _compute(self, structure: Tree, leaves: list[Any]) -> Tree:
        arguments = jax.tree.unflatten(structure, [np.asarray(leaf) for leaf in leaves])
        if self._argument_names is None:
            outputs = self._fn(self._cast(arguments))
        else:
            by_name = arguments
            if not isinstance(arguments, Mapping):
                values = jax.tree.leaves(arguments)
                by_name = dict(zip(self._argument_names, values, strict=True))
            specs = self._fn.structured_input_signature[1]
            outputs = self._fn(
                **{name: self._tf.cast(value, specs[name].dtype) for name, value in by_name.items()}
            )
        return jax.tree.map(_as_array, self._tf.nest.map_structure(lambda x: x, outputs))

    def _cast(self, arguments: Tree) -> Tree:
        """Return tensors of the dtypes that the function was saved with."""
        functions = getattr(self._fn, "concrete_functions", None) or [self._fn]
        specs = self._tf.nest.flatten(functions[0].structured_input_signature[0])
        values = self._tf.nest.flatten(arguments)
        dtypes = [getattr(spec, "dtype", None) for spec in specs]
        tensors = [
            self._tf.convert_to_tensor(value) if dtype is None else self._tf.cast(value, dtype)
            for value, dtype in zip(values, [*dtypes, *[None] * len(values)], strict=False)
        ]
        return self._tf.nest.pack_sequence_as(arguments, tensors)


def _as_array(tensor: Tree) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = tensor.numpy()
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype))


def _import_tensorflow() -> ModuleType:
    try:
        tensorflow = importlib.import_module("tensorflow")
    except ImportError as error:
        raise ImportError(
            "TFSMLayer needs the package 'tensorflow', which is not installed: `pip install "
            "tensorflow` (or `tensorflow-cpu`). `podium.models.load_model` reads SavedModels of "
            "Keras without it."
        ) from error
    if not hasattr(tensorflow, "saved_model") or not hasattr(tensorflow.saved_model, "load"):
        raise ImportError(
            "TFSMLayer needs the real package 'tensorflow', and `import tensorflow` means Podium "
            "here. Run the script without `python -m podium`."
        )
    return tensorflow
