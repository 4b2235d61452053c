"""Operations in a graph that are not layers, such as `x + 1` and `ops.mean(x)`, in configs.

Keras writes an operation as a class of `keras.src.ops` whose settings are a config and whose
tensors are arguments of the call. The table lists which arguments are tensors; for an operation
that is not in it, saving a model raises an error.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from podium import ops
from podium.core import KerasTensor, Node, Variable, tree_leaves
from podium.core.internal import _operators as operators

# By module of Keras and names of the tensors: the classes.
_TABLE: dict[str, dict[str, str]] = {
    "numpy": {
        "x": "Abs Absolute All Amax Amin Angle Any Arccos Arccosh Arcsin Arcsinh Arctan Arctanh "
        "Argmax Argmin Argpartition "
        "Argsort ArraySplit Bincount BitwiseInvert BitwiseNot BroadcastTo Cbrt Ceil Clip "
        "Conj Conjugate Copy Corrcoef Cos Cosh "
        "CountNonzero Cumprod Cumsum Deg2rad Diag Diagflat Diagonal Dsplit Exp Exp2 "
        "ExpandDims Expm1 Fabs Flip Fliplr Flipud "
        "Floor Hsplit I0 Imag Isfinite Isinf Isnan Isneginf Isposinf Isreal Log Log10 Log1p "
        "Log2 LogicalNot Max Mean Median Min "
        "Moveaxis NanToNum Nanargmax Nanargmin Nancumprod Nancumsum Nanmax Nanmean "
        "Nanmedian Nanmin Nanprod Nanstd Nansum Nanvar "
        "Negative OnesLike Prod Ptp Rad2deg Ravel Real Reciprocal Repeat Reshape Roll Round "
        "Sign Signbit Sin Sinc Sinh Slogdet "
        "Sort Split Sqrt Square Squeeze Stack Std Sum Swapaxes Tan Tanh Tile Trace "
        "Transpose Tril Triu Trunc Vander Var View "
        "Vsplit ZerosLike",
        "x1 x2": "Add AllClose Append Arctan2 Correlate Cross Divide DivideNoNan Dot Equal "
        "FloorDivide Fmax Fmin Fmod Gcd "
        "Greater GreaterEqual Heaviside Hypot Inner IsIn Kron Lcm Ldexp Less LessEqual "
        "Logaddexp Logaddexp2 LogicalAnd LogicalOr "
        "LogicalXor Matmul Maximum Minimum Mod Multiply Nextafter NotEqual Outer Power "
        "Subtract Tensordot TrueDivide Vdot",
        "x y": "BitwiseAnd BitwiseLeftShift BitwiseOr BitwiseRightShift BitwiseXor LeftShift "
        "RightShift",
        "xs": "Concatenate Dstack Hstack Vstack",
        "array": "Rot90",
        "a": "Diff",
        "y": "Trapezoid",
        "x weights": "Average",
        "x bins": "Digitize",
        "x fill_value": "FullLike",
        "x key": "GetItem",
        "x q": "Nanpercentile Nanquantile Percentile Quantile",
        "x constant_values": "Pad",
        "x indices": "Take TakeAlongAxis",
        "sorted_sequence values": "SearchSorted",
        "condition x1 x2": "Where",
        "x1 x2 rtol atol": "Isclose",
    },
    "nn": {
        "x": "Celu DepthToSpace Elu Gelu Glu HardShrink HardSigmoid HardSilu HardTanh LeakyRelu "
        "LogSigmoid LogSoftmax Moments "
        "Normalize OneHot Relu Relu6 Selu Sigmoid Silu SoftShrink Softmax Softplus Softsign "
        "SpaceToDepth SparsePlus "
        "SparseSigmoid Sparsemax Squareplus TanhShrink Threshold Unfold",
        "inputs": "AdaptiveAveragePool AdaptiveMaxPool AveragePool MaxPool",
        "inputs kernel": "Conv ConvTranspose DepthwiseConv",
        "inputs depthwise_kernel pointwise_kernel": "SeparableConv",
        "target output": "BinaryCrossentropy CategoricalCrossentropy SparseCategoricalCrossentropy",
        "x1 x2": "PSNR",
        "abs_ angle": "Polar",
    },
    "core": {
        "x": "Cast SaturateCast Unstack",
        "inputs start_indices": "Slice",
        "variable": "StopGradient",
    },
    "math": {
        "x": "Erf Erfc Erfinv ExtractSequences Logdet Logsumexp Rsqrt TopK",
        "data segment_ids": "SegmentMax SegmentSum",
        "targets predictions": "InTopK",
        "x y": "CDist",
    },
    "linalg": {"x": "Cholesky Det Eigh Inv Norm Pinv Qr SVD", "a b": "Solve SolveTriangular"},
    "image": {"images": "CropImages HSVToRGB PadImages RGBToGrayscale RGBToHSV Resize"},
}
# The public names of operators; after a colon the name in `core`, if it is another.
_OPERATORS = (
    "add subtract multiply divide floor_divide power matmul equal not_equal less less_equal "
    "greater greater_equal bitwise_and:and bitwise_or:or bitwise_xor:xor "
    "bitwise_left_shift:left_shift bitwise_right_shift:right_shift mod:remainder"
)


class GraphOperation:
    """One kind of operation: the function, Keras's class, and which arguments are tensors.

    Args:
        function: The function of `podium.ops`.
        module: The module of Keras's class.
        class_name: The name of Keras's class.
        tensor_names: The names of the arguments that are tensors; the others are settings.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        module: str,
        class_name: str,
        tensor_names: tuple[str, ...],
    ):
        self.function = function
        self.module, self.class_name = module, class_name
        self._tensor_names = tensor_names
        self._signature = inspect.signature(function)

    def split_arguments(self, node: Node) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """Return the settings of a node of this kind, and its tensors."""
        bound = self._signature.bind(*node.args, **node.kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        settings = {
            name: value for name, value in arguments.items() if name not in self._tensor_names
        }
        tensors = tuple(arguments[name] for name in self._tensor_names if name in arguments)
        while len(tensors) > 1 and tensors[-1] is None:
            tensors = tensors[:-1]
        return settings, tensors

    def bind_settings(self, settings: Mapping[str, Any]) -> Callable[..., Any]:
        """Return a function of tensors, for settings from a file."""

        def run(*args: Any, **kwargs: Any) -> Any:
            tensors = dict(zip(self._tensor_names, args, strict=False))
            if self.class_name == "GetItem" and isinstance(tensors["key"], list):
                tensors["key"] = tuple(tensors["key"])
            return self.function(**tensors, **kwargs, **settings)

        return run


class _OperationTable(NamedTuple):
    """All known operations.

    Attributes:
        by_function: By `id` of the function that a node runs.
        by_class: By Keras's module and class.
    """

    by_function: dict[int, GraphOperation]
    by_class: dict[tuple[str, str], GraphOperation]


@functools.cache
def _operations() -> _OperationTable:
    functions = {
        name.replace("_", ""): getattr(package, name)
        for package in (ops.linalg, ops.nn, ops.numpy, ops)
        for name in dir(package)
    }
    image_functions = {name.replace("_", ""): getattr(ops.image, name) for name in dir(ops.image)}
    table = _OperationTable({}, {})
    for module, rows in _TABLE.items():
        for tensor_names, classes in rows.items():
            for class_name in classes.split():
                key = class_name.lower()
                function = image_functions.get(key) if module == "image" else None
                function = function or functions[key]
                operation = GraphOperation(
                    function, module, class_name, tuple(tensor_names.split())
                )
                table.by_class[module, class_name] = operation
                table.by_function.setdefault(id(getattr(function, "raw", function)), operation)
    by_name = {operation.function.__name__: operation for operation in table.by_class.values()}
    for entry in _OPERATORS.split():
        name, _, core_name = entry.partition(":")
        function = getattr(operators, f"_{core_name or name}")
        table.by_function[id(function)] = by_name[name]
    table.by_function[id(operators.getitem)] = table.by_class["numpy", "GetItem"]
    return table


def operation_of(node: Node) -> GraphOperation:
    """Return the operation that a node runs.

    Raises:
        ValueError: Files have no name for it, or cannot hold its arguments.
    """
    function = getattr(node.run, "__wrapped__", node.run)
    table = _operations()
    operation = table.by_function.get(id(function)) or table.by_class.get(_jax_name(function))
    if operation is None:
        raise ValueError(
            f"The model uses the operation `{node.name}` on symbolic values, outside of layers, "
            "and files have no name for it. Wrap it in a layer: write a `podium.layers.Layer` "
            "whose `call` does it."
        )
    for leaf in tree_leaves((node.args, node.kwargs)):
        if isinstance(leaf, Variable):
            raise ValueError(
                f"The model uses the Variable {leaf.path!r} in the operation `{node.name}`, "
                "outside of layers, so its value would not be saved. Make it a weight of a layer."
            )
    settings, _ = operation.split_arguments(node)
    if any(isinstance(leaf, KerasTensor) for leaf in tree_leaves(settings)):
        raise ValueError(
            f"The operation `{node.name}` has a symbolic setting, which files cannot hold. Wrap "
            "it in a layer."
        )
    return operation


_JAX_NAMES = {
    "stop_gradient": ("core", "StopGradient"),
    "negative": ("numpy", "Negative"),
    "absolute": ("numpy", "Absolute"),
    "abs": ("numpy", "Absolute"),
    "bitwise_not": ("numpy", "BitwiseNot"),
}


def _jax_name(function: object) -> tuple[str, str]:
    """Return Keras's module and class for a function of JAX that nodes run directly."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__name__", "")
    return _JAX_NAMES.get(name, ("", "")) if module.startswith("jax") else ("", "")


def find_operation(layer_config: Mapping[str, Any]) -> GraphOperation | None:
    """Return the operation for a config that names a class of `keras.src.ops`, or None."""
    module, class_name = layer_config.get("module"), layer_config.get("class_name")
    by_class = _operations().by_class
    if module is None:  # in Keras 3's `.h5` files; the config of a layer would have "trainable"
        config = layer_config.get("config")
        if not isinstance(config, Mapping) or "trainable" in config:
            return None
        matches = (operation for (_, name), operation in by_class.items() if name == class_name)
        return next(matches, None)
    package, _, module_name = str(module).rpartition(".")
    if package not in ("keras.src.ops", "keras.ops") or not isinstance(class_name, str):
        return None
    return by_class.get((module_name, class_name))
