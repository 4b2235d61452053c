"""TensorFlow's functions on symbolic values, such as `x + 1` and `tf.reduce_mean(x)`, in configs of
Keras 2: layers of the classes `TFOpLambda` and `SlicingOpLambda`.

Each is called with TensorFlow's arguments, and adds operations of `podium.ops` to the graph, which
Podium's own files have names for. What is not in the table raises an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from podium import ops
from podium._typing import Axis, TensorLike, Tree
from podium.core import KerasTensor, Tensor, closest_match

CLASSES = ("TFOpLambda", "SlicingOpLambda")
_ELLIPSES = ("Ellipsis", {"class_name": "__ellipsis__"})
_QUOTED_DTYPE = re.compile(r"<dtype: '(\w+)'>")


class TensorFlowFunction(NamedTuple):
    """A function of TensorFlow: its name, what is called instead, and the names of arguments.

    Attributes:
        name: TensorFlow's name, without `tf.`.
        function: What is called instead.
        arguments: By TensorFlow's names, in order, the names of the arguments of `function`; ""
            for one that must have its default.
    """

    name: str
    function: Callable[..., Any]
    arguments: dict[str, str]

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        """Call the function with TensorFlow's arguments."""
        given = dict(zip(self.arguments, args, strict=False)) | kwargs
        given.pop("name", None)
        others = [key for key in given if not self.arguments.get(key)]
        unknown = [key for key in others if given[key] is not None and given[key] is not False]
        if unknown or len(args) > len(self.arguments):
            raise ValueError(
                f"The model calls `tf.{self.name}` with {unknown or args}, which is not known "
                "here. Create the model in Python and use `load_weights`."
            )
        ours = {self.arguments.get(key): value for key, value in given.items()}
        return self.function(**{key: value for key, value in ours.items() if key})


def find_tensorflow_function(layer_config: Mapping[str, Any]) -> TensorFlowFunction:
    """Return the function that a layer of one of the `CLASSES` calls.

    Raises:
        ValueError: It is not known.
    """
    config = layer_config.get("config")
    name = config.get("function") if isinstance(config, Mapping) else None
    shown = str(name)[:200]
    found = _FUNCTIONS.get(shown.removeprefix("compat.v1."))
    if found is None:
        nearest = closest_match(shown, list(_FUNCTIONS))
        hint = f" The nearest that is known is `tf.{nearest}`." if nearest else ""
        raise ValueError(
            f"The model calls TensorFlow's function `tf.{shown}` on symbolic values, which is not "
            f"known here.{hint} Create the model in Python, with a layer that does it, and use "
            "`load_weights`."
        )
    return found


def _matmul(
    a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False
) -> Tensor:
    left = ops.swapaxes(a, -1, -2) if transpose_a else a
    return ops.matmul(left, ops.swapaxes(b, -1, -2) if transpose_b else b)


def _get_item(x: Tensor, key: Tree) -> Tensor:
    return x[_key(key)]


def _key(spec: Tree) -> Tree:
    """Return a key for `[]` from what Keras 2 writes: slices are dictionaries."""
    if isinstance(spec, list):
        return tuple(_key(item) for item in spec)
    if spec in _ELLIPSES:
        return ...
    if isinstance(spec, Mapping):
        if spec.keys() != {"start", "stop", "step"}:
            raise ValueError(f"The config of a model has the slice {spec!r}, which is not known.")
        return slice(spec["start"], spec["stop"], spec["step"])
    return spec


def _cast(x: TensorLike, dtype: str) -> Tensor:
    quoted = _QUOTED_DTYPE.fullmatch(dtype)
    return ops.cast(x, quoted[1] if quoted else dtype)


def _argmax(x: TensorLike, axis: int = 0, output_type: str | None = None) -> Tensor:
    return ops.argmax(x, axis=axis)  # int32, as everywhere in Podium


def _reshape(x: TensorLike, newshape: Sequence[int]) -> Tensor:
    return ops.reshape(x, tuple(newshape))


def _l2_normalize(x: TensorLike, axis: Axis = None, epsilon: float = 1e-12) -> Tensor:
    total = ops.sum(ops.square(x), axis=axis, keepdims=True)
    return ops.multiply(x, ops.rsqrt(ops.maximum(total, epsilon)))


def _add_n(inputs: Sequence[Tensor] | Tensor) -> Tensor:
    total, *others = [inputs] if isinstance(inputs, (Tensor, KerasTensor)) else inputs
    for value in others:
        total = ops.add(total, value)
    return total


def _pad(
    x: TensorLike,
    pad_width: Sequence[Sequence[int]],
    mode: str = "CONSTANT",
    constant_values: float = 0,
) -> Tensor:
    if mode.upper() == "CONSTANT":
        return ops.pad(x, pad_width, constant_values=constant_values)
    return ops.pad(x, pad_width, mode=mode.lower())


def _gather(x: TensorLike, indices: TensorLike, axis: int = 0, batch_dims: int = 0) -> Tensor:
    if batch_dims:
        raise ValueError("The model calls `tf.gather` with batch_dims, which is not known here.")
    return ops.take(x, indices, axis=axis)


def _silu(x: TensorLike, beta: float = 1.0) -> Tensor:
    return ops.silu(x) if beta == 1.0 else ops.multiply(x, ops.sigmoid(ops.multiply(x, beta)))


def _gelu(x: TensorLike, approximate: bool = False) -> Tensor:
    return ops.gelu(x, approximate=approximate)


def _cumsum(x: TensorLike, axis: int = 0) -> Tensor:
    return ops.cumsum(x, axis=axis)


def _identity(x: Tensor) -> Tensor:
    return x


# By names of arguments, where ours differ after a colon: functions of TensorFlow and ours.
_TABLE: dict[str, dict[str, Callable[..., Any]]] = {
    "x:x1 y:x2": {
        "__operators__.add": ops.add,
        "math.add": ops.add,
        "math.subtract": ops.subtract,
        "math.multiply": ops.multiply,
        "math.truediv": ops.divide,
        "math.divide": ops.divide,
        "math.divide_no_nan": ops.divide_no_nan,
        "math.floordiv": ops.floor_divide,
        "floor_div": ops.floor_divide,
        "math.floormod": ops.mod,
        "math.pow": ops.power,
        "math.maximum": ops.maximum,
        "math.minimum": ops.minimum,
        "math.equal": ops.equal,
        "math.not_equal": ops.not_equal,
        "math.greater": ops.greater,
        "math.greater_equal": ops.greater_equal,
        "math.less": ops.less,
        "math.less_equal": ops.less_equal,
        "math.logical_and": ops.logical_and,
        "math.logical_or": ops.logical_or,
    },
    "x": {
        "math.abs": ops.abs,
        "math.ceil": ops.ceil,
        "math.cos": ops.cos,
        "math.exp": ops.exp,
        "math.floor": ops.floor,
        "math.log": ops.log,
        "math.log1p": ops.log1p,
        "math.logical_not": ops.logical_not,
        "math.negative": ops.negative,
        "math.round": ops.round,
        "math.rsqrt": ops.rsqrt,
        "math.sigmoid": ops.sigmoid,
        "math.sign": ops.sign,
        "math.sin": ops.sin,
        "math.sqrt": ops.sqrt,
        "math.square": ops.square,
        "math.tanh": ops.tanh,
        "nn.sigmoid": ops.sigmoid,
        "nn.tanh": ops.tanh,
    },
    "features:x": {
        "math.softplus": ops.softplus,
        "nn.elu": ops.elu,
        "nn.relu": ops.relu,
        "nn.relu6": ops.relu6,
        "nn.selu": ops.selu,
        "nn.softsign": ops.softsign,
    },
    "features:x beta": {"nn.silu": _silu},
    "features:x approximate": {"nn.gelu": _gelu},
    "features:x alpha:negative_slope": {"nn.leaky_relu": ops.leaky_relu},
    "logits:x axis": {"nn.softmax": ops.softmax, "nn.log_softmax": ops.log_softmax},
    "input_tensor:x axis keepdims": {
        "math.reduce_all": ops.all,
        "math.reduce_any": ops.any,
        "math.reduce_logsumexp": ops.logsumexp,
        "math.reduce_max": ops.max,
        "math.reduce_mean": ops.mean,
        "math.reduce_min": ops.min,
        "math.reduce_prod": ops.prod,
        "math.reduce_std": ops.std,
        "math.reduce_sum": ops.sum,
        "math.reduce_variance": ops.var,
    },
    "x axis epsilon": {"math.l2_normalize": _l2_normalize},
    "x axis": {"math.cumsum": _cumsum},
    "x dtype": {"cast": _cast},
    "a b transpose_a transpose_b": {"linalg.matmul": _matmul},
    "a:x perm:axes conjugate:": {"transpose": ops.transpose},
    "tensor:x shape:newshape": {"reshape": _reshape},
    "tensor:x axis": {"reverse": ops.flip},
    "tensor:x paddings:pad_width mode constant_values": {"pad": _pad},
    "params:x indices axis batch_dims": {"gather": _gather},
    "input:x axis": {
        "expand_dims": ops.expand_dims,
        "squeeze": ops.squeeze,
    },
    "input:x axis output_type": {"math.argmax": _argmax},
    "input:x repeats axis": {"repeat": ops.repeat},
    "input:x multiples:repeats": {"tile": ops.tile},
    "input:x": {
        "identity": _identity,
        "ones_like": ops.ones_like,
        "zeros_like": ops.zeros_like,
    },
    "input:variable": {"stop_gradient": ops.stop_gradient},
    "values:xs axis": {"concat": ops.concatenate},
    "values:x axis": {"stack": ops.stack},
    "inputs": {"math.add_n": _add_n},
    "indices:x depth:num_classes axis": {"one_hot": ops.one_hot},
    "condition x:x1 y:x2": {"where": ops.where},
    "t:x clip_value_min:x_min clip_value_max:x_max": {"clip_by_value": ops.clip},
    "tensor:x slice_spec:key": {"__operators__.getitem": _get_item},
}


def _parse_arguments(row: str) -> dict[str, str]:
    pairs = (entry.partition(":") for entry in row.split())
    return {theirs: ours if colon else theirs for theirs, colon, ours in pairs}


_FUNCTIONS = {
    name: TensorFlowFunction(name, function, _parse_arguments(row))
    for row, functions in _TABLE.items()
    for name, function in functions.items()
}
