"""Operations in a graph that are no layers, such as `x + 1` and `ops.mean(x)`, as plain data in
Keras 3's form and back.

Keras writes an operation as a class of `keras.src.ops` whose settings are a config and whose
tensors are arguments of the call. The table says which arguments are which; an operation that it
does not hold is refused when a model is saved.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from podium import ops
from podium.core import KerasTensor, Node, Variable, tree_leaves
from podium.core.tensor import _operators as signs

# module of Keras -> arguments of the call -> classes
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
_SIGNS = (
    "add subtract multiply divide floor_divide power matmul equal not_equal less less_equal "
    "greater greater_equal bitwise_and:and bitwise_or:or bitwise_xor:xor "
    "bitwise_left_shift:left_shift bitwise_right_shift:right_shift mod:remainder"
)


class Operation:
    """One kind of operation: our function, Keras's class, and which arguments are tensors."""

    def __init__(self, function: Callable, module: str, class_name: str, call: tuple[str, ...]):
        self.function = function
        self.module, self.class_name, self.call = module, class_name, call
        self.signature = inspect.signature(function)

    def described(self, node: Node) -> tuple[dict[str, Any], tuple, dict[str, Any]]:
        """Return the settings of a node of this kind, and the arguments of its call."""
        bound = self.signature.bind(*node.args, **node.kwargs)
        bound.apply_defaults()
        settings = {name: value for name, value in bound.arguments.items() if name not in self.call}
        args = tuple(bound.arguments[name] for name in self.call if name in bound.arguments)
        while len(args) > 1 and args[-1] is None:
            args = args[:-1]
        return settings, args, {}

    def made(self, settings: Mapping[str, Any]) -> Callable:
        """Return a function of tensors, from settings in a file."""

        def run(*args: Any, **kwargs: Any) -> Any:
            named = dict(zip(self.call, args, strict=False))
            if self.class_name == "GetItem" and isinstance(named["key"], list):
                named["key"] = tuple(named["key"])
            return self.function(**named, **kwargs, **settings)

        return run


@functools.cache
def _known() -> tuple[dict[int, Operation], dict[tuple[str, str], Operation]]:
    """Return operations by what a node runs, and by Keras's module and class."""
    public = {
        name.replace("_", ""): getattr(room, name)
        for room in (ops.linalg, ops.nn, ops.numpy, ops)
        for name in dir(room)
    }
    by_class: dict[tuple[str, str], Operation] = {}
    by_run: dict[int, Operation] = {}
    for module, rows in _TABLE.items():
        for call, classes in rows.items():
            for class_name in classes.split():
                key = class_name.lower()
                images = {
                    name.replace("_", ""): getattr(ops.image, name) for name in dir(ops.image)
                }
                function = images.get(key) if module == "image" else public[key]
                operation = Operation(
                    function or public[key], module, class_name, tuple(call.split())
                )
                by_class[module, class_name] = operation
                by_run.setdefault(
                    id(getattr(operation.function, "raw", operation.function)), operation
                )
    by_name = {operation.function.__name__: operation for operation in by_class.values()}
    for sign in _SIGNS.split():
        name, _, own = sign.partition(":")
        by_run[id(getattr(signs, f"_{own or name}"))] = by_name[name]
    by_run[id(signs.getitem)] = by_class["numpy", "GetItem"]
    return by_run, by_class


def operation_of(node: Node) -> Operation:
    """Return the operation that a node runs, or raise if no file can name it."""
    function = getattr(node.run, "__wrapped__", node.run)
    found = _known()[0].get(id(function)) or _known()[1].get(_by_hand(function), None)
    if found is None:
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
    settings, _, _ = found.described(node)
    if any(isinstance(leaf, KerasTensor) for leaf in tree_leaves(settings)):
        raise ValueError(
            f"The operation `{node.name}` has a symbolic setting, which files cannot hold. Wrap "
            "it in a layer."
        )
    return found


def _by_hand(function: Any) -> tuple[str, str]:
    """Return Keras's name for functions that reach a node in another form than the public one."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__name__", "")
    if name in (
        "stop_gradient",
        "negative",
        "absolute",
        "abs",
        "bitwise_not",
    ) and module.startswith("jax"):
        found = {"stop_gradient": ("core", "StopGradient"), "negative": ("numpy", "Negative")}
        return found.get(name, ("numpy", "Absolute" if name.startswith("abs") else "BitwiseNot"))
    return "", ""


def operation_named(described: Mapping[str, Any]) -> Operation | None:
    """Return the operation for a description that names a class of `keras.src.ops`, or None."""
    module, class_name, config = (
        described.get("module"),
        described.get("class_name"),
        described.get("config"),
    )
    if (
        module is None
    ):  # Keras 3's `.h5` files leave it out; layers of the same name say whether they are trainable
        named = [found for (_, name), found in _known()[1].items() if name == class_name]
        return (
            named[0]
            if named and isinstance(config, Mapping) and "trainable" not in config
            else None
        )
    prefix, _, last = str(module).rpartition(".")
    if prefix not in ("keras.src.ops", "keras.ops") or not isinstance(class_name, str):
        return None
    return _known()[1].get((last, class_name))
