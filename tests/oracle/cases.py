"""The table of cases in which Podium is compared with Keras.

Pure data (standard library only): no Keras, no Podium. Recorders build each case in the oracle's
environment, the test builds the same case from `podium`. `building.py` makes arrays and layers
from the data.

A case's `args` are the positional arguments of the call; an argument is an array spec or a list of
them. Array specs are allowed in `call` too (keyword arguments). Objects inside a config (wrapped
layers, cells, regularizers) are written `{"module": ..., "class_name": ..., "config": ...}`;
`module` is "layers" by default.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One comparison: an object, its arguments and its inputs."""

    id: str
    kind: str  # "layer" | "activation" | "initializer" | "regularizer" | "constraint"
    name: str  # the class or function, as Keras spells it
    config: dict[str, Any] = field(default_factory=dict)
    args: tuple[Any, ...] = ()
    call: dict[str, Any] = field(default_factory=dict)
    masking: tuple[int, ...] = ()  # positional arguments that first pass a Masking layer
    calls: int = 1  # > 1: call this often in a row, then once more after reset_state()
    grads: bool = True
    adapt: Any = None  # array spec handed to layer.adapt before the call
    tolerance: float = 1e-5
    seed: int = 0


# Array specs
# ----------------------------------------------------------------------


def normal(*shape):
    """Standard normal values."""
    return {"fill": "normal", "shape": shape}


def uniform(*shape):
    """Values in [0, 1)."""
    return {"fill": "uniform", "shape": shape}


def ints(*shape, high):
    """Integers in [0, high), int32."""
    return {"fill": "ints", "shape": shape, "high": high}


def lengths(*shape):
    """A boolean mask (batch, time): row i is True for the first `time - i` steps."""
    return {"fill": "lengths", "shape": shape}


def gaps(*shape):
    """A boolean mask with random holes; the first element along the last axis is True."""
    return {"fill": "gaps", "shape": shape}


def padded(*shape):
    """Normal values whose steps outside `lengths` are zero: what a Masking layer masks."""
    return {"fill": "padded", "shape": shape}


def holes(*shape):
    """Normal values with step 1 of row 0 zeroed and padding at the end: a mask with a hole."""
    return {"fill": "holes", "shape": shape}


def grid():
    """61 fixed points in [-6, 6], the kinks of all activations among them."""
    return {"fill": "grid", "shape": (1, 61)}


def _object(class_name, module="layers", **config):
    return {"module": module, "class_name": class_name, "config": config}


def _layers(name, args, variants):
    """Cases of one layer: `variants` maps a label to a config, or to (config, fields of Case)."""
    args = args if isinstance(args, tuple) else (args,)
    for label, variant in variants.items():
        config, fields = variant if isinstance(variant, tuple) else (variant, {})
        fields = dict(fields)
        case_args = fields.pop("args", args)
        case_args = case_args if isinstance(case_args, tuple) else (case_args,)
        yield Case(f"layer/{name}/{label}", "layer", name, config, case_args, **fields)


def _activation(name, label="default", x=None, **config):
    x = x or normal(4, 6)
    yield Case(f"activation/{name}/{label}", "activation", name, config, (x,))
    if label == "default" and name != "glu":
        yield Case(f"activation/{name}/grid", "activation", name, config, (grid(),), grads=False)


def _function(kind, name, label, x, **config):
    yield Case(f"{kind}/{name}/{label}", kind, name, config, (x,))


L2 = _object("L2", "regularizers", l2=0.05)
L1 = _object("L1", "regularizers", l1=0.02)
TRAIN = {"call": {"training": True}}
INFER = {"call": {"training": False}}
SEQUENCE = normal(2, 5, 3)
IMAGE = normal(2, 6, 5, 3)
IMAGE_FIRST = normal(2, 3, 6, 5)
VOLUME = normal(1, 4, 5, 3, 2)
VOLUME_FIRST = normal(1, 2, 4, 5, 3)
FIRST = {"data_format": "channels_first"}


# Dense, embedding, elementwise
# ----------------------------------------------------------------------


def _core():
    yield from _layers(
        "Dense",
        normal(3, 4),
        {
            "default": {"units": 5},
            "tanh_no_bias": {"units": 2, "activation": "tanh", "use_bias": False},
            "softmax": {"units": 3, "activation": "softmax"},
            "rank3": ({"units": 5, "activation": "relu"}, {"args": SEQUENCE}),
            "rank4": ({"units": 2, "activation": "gelu"}, {"args": normal(2, 2, 3, 4)}),
            "regularized": {
                "units": 3,
                "kernel_regularizer": L2,
                "bias_regularizer": L1,
                "activity_regularizer": L1,
            },
            "initializers": {
                "units": 3,
                "kernel_initializer": "he_normal",
                "bias_initializer": _object("Constant", "initializers", value=0.5),
                "kernel_constraint": _object("MaxNorm", "constraints", max_value=1.5),
            },
            "masked": ({"units": 2}, {"args": padded(2, 5, 3), "masking": (0,)}),
            "frozen": {"units": 2, "trainable": False},
            "mixed_bfloat16": ({"units": 3, "dtype": "mixed_bfloat16"}, {"tolerance": 3e-2}),
            "mixed_float16": ({"units": 3, "dtype": "mixed_float16"}, {"tolerance": 4e-3}),
        },
    )
    yield from _layers(
        "EinsumDense",
        normal(2, 3, 4),
        {
            "ab_bc": (
                {"equation": "ab,bc->ac", "output_shape": 5, "bias_axes": "c"},
                {"args": normal(2, 4)},
            ),
            "abc_cd": {"equation": "abc,cd->abd", "output_shape": [None, 5], "bias_axes": "d"},
            "heads": {
                "equation": "abc,cde->abde",
                "output_shape": [None, 2, 3],
                "bias_axes": "de",
                "activation": "relu",
            },
            "ellipsis": {"equation": "...x,xy->...y", "output_shape": 3, "bias_axes": "y"},
            "combine": (
                {"equation": "abde,dec->abc", "output_shape": [None, 4], "bias_axes": "c"},
                {"args": normal(2, 3, 2, 3)},
            ),
            "no_bias": {"equation": "abc,cd->abd", "output_shape": [3, 2]},
            "bias_bd": {"equation": "abc,cd->abd", "output_shape": [3, 2], "bias_axes": "bd"},
        },
    )
    yield from _layers(
        "Embedding",
        ints(2, 5, high=7),
        {
            "default": {"input_dim": 7, "output_dim": 3},
            "mask_zero": {"input_dim": 7, "output_dim": 3, "mask_zero": True},
            "rank1": ({"input_dim": 7, "output_dim": 2}, {"args": ints(4, high=7)}),
            "regularized": {"input_dim": 7, "output_dim": 2, "embeddings_regularizer": L2},
        },
    )
    yield from _layers(
        "Activation",
        normal(2, 5),
        {
            "relu": {"activation": "relu"},
            "softmax": {"activation": "softmax"},
            "linear": {"activation": None},
            "masked": ({"activation": "tanh"}, {"args": padded(2, 5, 3), "masking": (0,)}),
        },
    )
    yield from _layers(
        "ReLU",
        normal(3, 7),
        {
            "default": {},
            "max_value": {"max_value": 0.7},
            "negative_slope": {"negative_slope": 0.1},
            "threshold": {"threshold": 0.3},
            "all": {"max_value": 1.0, "negative_slope": 0.2, "threshold": 0.5},
        },
    )
    yield from _layers(
        "LeakyReLU", normal(3, 7), {"default": {}, "negative_slope": {"negative_slope": 0.05}}
    )
    yield from _layers(
        "PReLU",
        normal(2, 4, 3),
        {
            "default": {},
            "shared": {"shared_axes": [1]},
            "shared_image": ({"shared_axes": [1, 2], "alpha_regularizer": L2}, {"args": IMAGE}),
        },
    )
    yield from _layers("ELU", normal(3, 7), {"default": {}, "alpha": {"alpha": 0.5}})
    yield from _layers(
        "Softmax",
        normal(2, 4, 5),
        {
            "default": {},
            "axis1": {"axis": 1},
            "axes": {"axis": [1, 2]},
            "mask": ({}, {"call": {"mask": gaps(2, 4, 5)}}),
            "mask_axes": ({"axis": [1, 2]}, {"call": {"mask": gaps(2, 4, 5)}}),
        },
    )
    yield from _layers(
        "Identity",
        normal(2, 3),
        {"default": {}, "masked": ({}, {"args": padded(2, 5, 3), "masking": (0,)})},
    )
    yield from _layers("Lambda", normal(2, 3), {"double": {"function": {"function": "double"}}})
    yield from _layers(
        "Masking",
        padded(3, 5, 2),
        {"default": {}, "hole": ({}, {"args": holes(3, 5, 2)}), "value": {"mask_value": 1.0}},
    )
    yield from _layers(
        "Rescaling",
        IMAGE,
        {
            "scale": {"scale": 0.5},
            "offset": {"scale": 1 / 127.5, "offset": -1.0},
            "vector": {"scale": [0.5, 2.0, 3.0], "offset": [0.1, 0.2, 0.3]},
            "integers": ({"scale": 1 / 255}, {"args": ints(2, 3, high=255)}),
        },
    )
    yield from _layers(
        "Normalization",
        normal(4, 3),
        {
            "given": {"mean": [0.1, 0.2, 0.3], "variance": [1.0, 2.0, 0.5]},
            "given_scalar": {"axis": None, "mean": 0.5, "variance": 4.0},
            "invert": {"mean": [0.1, 0.2, 0.3], "variance": [1.0, 2.0, 0.5], "invert": True},
            "adapted": ({}, {"adapt": normal(9, 3)}),
            "adapted_none": ({"axis": None}, {"adapt": normal(9, 3)}),
            "adapted_axes": ({"axis": [1, 2]}, {"args": normal(4, 3, 2), "adapt": normal(9, 3, 2)}),
            "adapted_axis1": ({"axis": 1}, {"args": normal(4, 3, 2), "adapt": normal(9, 3, 2)}),
            "adapted_invert": ({"invert": True}, {"adapt": normal(9, 3)}),
            "not_adapted": {},
        },
    )


# Convolutions
# ----------------------------------------------------------------------


def _convolutions():
    yield from _layers(
        "Conv1D",
        normal(2, 7, 4),
        {
            "default": {"filters": 3, "kernel_size": 3},
            "same_strides": {
                "filters": 3,
                "kernel_size": 3,
                "strides": 2,
                "padding": "same",
                "activation": "relu",
            },
            "even_same": {"filters": 2, "kernel_size": 4, "strides": 2, "padding": "same"},
            "causal": {"filters": 3, "kernel_size": 3, "padding": "causal"},
            "causal_dilation": {
                "filters": 3,
                "kernel_size": 2,
                "dilation_rate": 2,
                "padding": "causal",
            },
            "dilation_same": {
                "filters": 3,
                "kernel_size": 3,
                "dilation_rate": 2,
                "padding": "same",
                "use_bias": False,
            },
            "groups": {"filters": 4, "kernel_size": 3, "groups": 2},
            "first": (
                {"filters": 3, "kernel_size": 3, "strides": 2, **FIRST},
                {"args": normal(2, 4, 7)},
            ),
            "first_causal": (
                {"filters": 3, "kernel_size": 3, "padding": "causal", **FIRST},
                {"args": normal(2, 4, 7)},
            ),
            "pointwise": {"filters": 5, "kernel_size": 1},
            "regularized": {
                "filters": 2,
                "kernel_size": 2,
                "kernel_regularizer": L2,
                "activity_regularizer": L1,
            },
        },
    )
    yield from _layers(
        "Conv2D",
        IMAGE,
        {
            "default": {"filters": 4, "kernel_size": 3},
            "rectangle": {
                "filters": 2,
                "kernel_size": [2, 3],
                "strides": [2, 1],
                "padding": "same",
            },
            "strides_valid": {"filters": 2, "kernel_size": 2, "strides": 2, "activation": "tanh"},
            "dilation": {"filters": 2, "kernel_size": 2, "dilation_rate": [2, 3]},
            "dilation_same": {
                "filters": 2,
                "kernel_size": 3,
                "dilation_rate": 2,
                "padding": "same",
                "use_bias": False,
            },
            "groups": (
                {"filters": 4, "kernel_size": 3, "groups": 2, "padding": "same"},
                {"args": normal(2, 5, 4, 4)},
            ),
            "depthwise_groups": {"filters": 6, "kernel_size": 3, "groups": 3},
            "first": (
                {"filters": 2, "kernel_size": 3, "padding": "same", **FIRST},
                {"args": IMAGE_FIRST},
            ),
            "first_strides": (
                {"filters": 2, "kernel_size": 3, "strides": 2, **FIRST},
                {"args": IMAGE_FIRST},
            ),
            "pointwise": {"filters": 4, "kernel_size": 1, "strides": 2},
            "even_same_strides": {"filters": 2, "kernel_size": 4, "strides": 2, "padding": "same"},
        },
    )
    yield from _layers(
        "Conv3D",
        VOLUME,
        {
            "default": {"filters": 2, "kernel_size": 2},
            "same_strides": {
                "filters": 2,
                "kernel_size": [2, 3, 1],
                "strides": [1, 2, 1],
                "padding": "same",
            },
            "dilation": {
                "filters": 2,
                "kernel_size": 2,
                "dilation_rate": [2, 2, 1],
                "use_bias": False,
            },
            "groups": {"filters": 2, "kernel_size": 2, "groups": 2},
            "first": ({"filters": 2, "kernel_size": 2, **FIRST}, {"args": VOLUME_FIRST}),
        },
    )
    yield from _layers(
        "Conv1DTranspose",
        normal(2, 4, 3),
        {
            "default": {"filters": 2, "kernel_size": 3},
            "strides_valid": {"filters": 2, "kernel_size": 3, "strides": 2},
            "strides_same": {"filters": 2, "kernel_size": 4, "strides": 2, "padding": "same"},
            "kernel_under_strides": {"filters": 2, "kernel_size": 2, "strides": 3},
            "kernel_under_strides_same": {
                "filters": 2,
                "kernel_size": 2,
                "strides": 3,
                "padding": "same",
            },
            "output_padding": {
                "filters": 2,
                "kernel_size": 3,
                "strides": 2,
                "output_padding": 1,
                "padding": "same",
            },
            "dilation": {"filters": 2, "kernel_size": 3, "dilation_rate": 2, "use_bias": False},
            "first": (
                {"filters": 2, "kernel_size": 3, "strides": 2, **FIRST},
                {"args": normal(2, 3, 4)},
            ),
        },
    )
    yield from _layers(
        "Conv2DTranspose",
        normal(2, 3, 4, 2),
        {
            "default": {"filters": 3, "kernel_size": 3},
            "strides_same": {
                "filters": 2,
                "kernel_size": 4,
                "strides": 2,
                "padding": "same",
                "activation": "relu",
            },
            "odd_same": {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same"},
            "rectangle": {"filters": 2, "kernel_size": [2, 3], "strides": [2, 1]},
            "output_padding": {
                "filters": 2,
                "kernel_size": 3,
                "strides": 2,
                "output_padding": [1, 0],
            },
            "dilation": {"filters": 2, "kernel_size": 2, "dilation_rate": 2, "padding": "same"},
            "no_bias": {"filters": 2, "kernel_size": 2, "use_bias": False},
            "first": (
                {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same", **FIRST},
                {"args": normal(2, 2, 3, 4)},
            ),
        },
    )
    yield from _layers(
        "Conv3DTranspose",
        normal(1, 2, 3, 2, 2),
        {
            "default": {"filters": 2, "kernel_size": 2},
            "strides_same": {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same"},
            "rectangle": {
                "filters": 2,
                "kernel_size": [1, 2, 3],
                "strides": [2, 1, 2],
                "use_bias": False,
            },
            "output_padding": {"filters": 2, "kernel_size": 2, "strides": 2, "output_padding": 1},
            "first": ({"filters": 2, "kernel_size": 2, **FIRST}, {"args": normal(1, 2, 2, 3, 2)}),
        },
    )
    yield from _layers(
        "SeparableConv1D",
        normal(2, 7, 3),
        {
            "default": {"filters": 4, "kernel_size": 3},
            "multiplier": {
                "filters": 4,
                "kernel_size": 2,
                "depth_multiplier": 2,
                "strides": 2,
                "padding": "same",
            },
            "dilation": {
                "filters": 2,
                "kernel_size": 2,
                "dilation_rate": 2,
                "use_bias": False,
                "activation": "relu",
            },
            "first": ({"filters": 4, "kernel_size": 3, **FIRST}, {"args": normal(2, 3, 7)}),
        },
    )
    yield from _layers(
        "SeparableConv2D",
        IMAGE,
        {
            "default": {"filters": 4, "kernel_size": 3},
            "multiplier": {
                "filters": 2,
                "kernel_size": [2, 3],
                "depth_multiplier": 2,
                "padding": "same",
            },
            "strides": {"filters": 2, "kernel_size": 3, "strides": 2, "use_bias": False},
            "dilation": {"filters": 2, "kernel_size": 2, "dilation_rate": 2},
            "first": ({"filters": 2, "kernel_size": 2, **FIRST}, {"args": IMAGE_FIRST}),
            "regularized": {
                "filters": 2,
                "kernel_size": 2,
                "depthwise_regularizer": L2,
                "pointwise_regularizer": L1,
            },
        },
    )
    yield from _layers(
        "DepthwiseConv1D",
        normal(2, 7, 3),
        {
            "default": {"kernel_size": 3},
            "multiplier": {
                "kernel_size": 2,
                "depth_multiplier": 2,
                "strides": 2,
                "padding": "same",
            },
            "dilation": {"kernel_size": 2, "dilation_rate": 2, "use_bias": False},
            "first": ({"kernel_size": 3, **FIRST}, {"args": normal(2, 3, 7)}),
        },
    )
    yield from _layers(
        "DepthwiseConv2D",
        IMAGE,
        {
            "default": {"kernel_size": 3},
            "multiplier": {
                "kernel_size": [2, 3],
                "depth_multiplier": 2,
                "padding": "same",
                "activation": "relu",
            },
            "strides": {"kernel_size": 3, "strides": 2, "padding": "same"},
            "dilation": {"kernel_size": 2, "dilation_rate": 2, "use_bias": False},
            "first": ({"kernel_size": 2, "depth_multiplier": 2, **FIRST}, {"args": IMAGE_FIRST}),
        },
    )


# Pooling and reshaping
# ----------------------------------------------------------------------


def _pooling():
    inputs = {1: normal(2, 7, 3), 2: IMAGE, 3: VOLUME}
    first = {1: normal(2, 3, 7), 2: IMAGE_FIRST, 3: VOLUME_FIRST}
    for rank in (1, 2, 3):
        for kind in ("MaxPooling", "AveragePooling"):
            yield from _layers(
                f"{kind}{rank}D",
                inputs[rank],
                {
                    # averages have no default in Keras 3
                    "default": {"pool_size": 2} if kind == "AveragePooling" else {},
                    "same": {"pool_size": 2, "padding": "same"},
                    "strides": {"pool_size": 3, "strides": 1},
                    "strides_same": {"pool_size": 3, "strides": 2, "padding": "same"},
                    "first": ({"pool_size": 2, **FIRST}, {"args": first[rank]}),
                },
            )
        for kind in ("GlobalMaxPooling", "GlobalAveragePooling"):
            yield from _layers(
                f"{kind}{rank}D",
                inputs[rank],
                {
                    "default": {},
                    "keepdims": {"keepdims": True},
                    "first": (FIRST, {"args": first[rank]}),
                },
            )
    yield from _layers(
        "MaxPooling2D", IMAGE, {"rectangle": {"pool_size": [2, 3], "strides": [1, 2]}}
    )
    yield from _layers(
        "AveragePooling2D",
        IMAGE,
        {"rectangle": {"pool_size": [3, 2], "strides": [2, 1], "padding": "same"}},
    )
    yield from _layers(
        "GlobalAveragePooling1D",
        normal(2, 5, 3),
        {
            "mask": ({}, {"call": {"mask": lengths(2, 5)}}),
            "masked": ({"keepdims": True}, {"args": holes(2, 5, 3), "masking": (0,)}),
        },
    )


def _reshaping():
    yield from _layers(
        "Flatten",
        normal(2, 3, 4),
        {
            "default": {},
            "rank1": ({}, {"args": normal(3)}),
            "rank2": ({}, {"args": normal(3, 2)}),
            "first": (FIRST, {"args": IMAGE_FIRST}),
        },
    )
    yield from _layers(
        "Reshape",
        normal(2, 6),
        {
            "default": {"target_shape": [3, 2]},
            "infer": {"target_shape": [-1, 3]},
            "scalar": ({"target_shape": []}, {"args": normal(4, 1)}),
        },
    )
    yield from _layers(
        "Permute",
        normal(2, 3, 4),
        {"default": {"dims": [2, 1]}, "rank4": ({"dims": [3, 1, 2]}, {"args": IMAGE})},
    )
    yield from _layers("RepeatVector", normal(2, 3), {"default": {"n": 4}})
    yield from _layers(
        "Cropping1D",
        normal(2, 6, 2),
        {
            "default": {},
            "pair": {"cropping": [1, 3]},
            "right_zero": {"cropping": [2, 0]},
        },
    )
    yield from _layers(
        "Cropping2D",
        IMAGE,
        {
            "default": {"cropping": 1},
            "pair": {"cropping": [1, 2]},
            "nested": {"cropping": [[1, 0], [2, 1]]},
            "first": ({"cropping": [[1, 0], [2, 1]], **FIRST}, {"args": IMAGE_FIRST}),
        },
    )
    yield from _layers(
        "Cropping3D",
        VOLUME,
        {
            "default": {},
            "nested": {"cropping": [[1, 0], [2, 1], [0, 1]]},
            "first": ({"cropping": [1, 2, 1], **FIRST}, {"args": VOLUME_FIRST}),
        },
    )
    yield from _layers(
        "ZeroPadding1D",
        normal(2, 3, 2),
        {
            "default": {},
            "pair": {"padding": [1, 2]},
            "first": ({"padding": [1, 2], **FIRST}, {"args": normal(2, 2, 3)}),
        },
    )
    yield from _layers(
        "ZeroPadding2D",
        normal(2, 2, 3, 2),
        {
            "default": {},
            "pair": {"padding": [1, 2]},
            "nested": {"padding": [[1, 0], [2, 1]]},
            "first": ({"padding": [[1, 0], [2, 1]], **FIRST}, {}),
        },
    )
    yield from _layers(
        "ZeroPadding3D",
        normal(1, 2, 2, 1, 2),
        {
            "default": {},
            "nested": {"padding": [[1, 0], [2, 1], [0, 1]]},
            "first": ({"padding": [1, 2, 1], **FIRST}, {}),
        },
    )
    yield from _layers("UpSampling1D", normal(2, 3, 2), {"default": {}, "size": {"size": 3}})
    yield from _layers(
        "UpSampling2D",
        normal(2, 3, 2, 2),
        {
            "default": {},
            "size": {"size": [2, 3]},
            "bilinear": {"interpolation": "bilinear"},
            "bilinear_size": {"size": [3, 2], "interpolation": "bilinear"},
            "bicubic": {"interpolation": "bicubic"},
            "lanczos3": {"interpolation": "lanczos3"},
            "first": ({"size": [2, 3], **FIRST}, {}),
            "first_bilinear": ({"interpolation": "bilinear", **FIRST}, {}),
        },
    )
    yield from _layers(
        "UpSampling3D",
        normal(1, 2, 2, 1, 2),
        {
            "default": {},
            "size": {"size": [1, 2, 3]},
            "first": ({"size": [1, 2, 3], **FIRST}, {}),
        },
    )


# Normalization and regularization
# ----------------------------------------------------------------------


def _normalization():
    yield from _layers(
        "BatchNormalization",
        normal(6, 4),
        {
            "train": ({}, TRAIN),
            "infer": ({}, INFER),
            "no_training_argument": {},
            "train_image": ({}, {"args": normal(3, 4, 3, 2), **TRAIN}),
            "infer_image": ({}, {"args": normal(3, 4, 3, 2), **INFER}),
            "axis1": ({"axis": 1}, {"args": normal(3, 2, 4, 3), **TRAIN}),
            "axis1_infer": ({"axis": 1}, {"args": normal(3, 2, 4, 3), **INFER}),
            "momentum": ({"momentum": 0.7, "epsilon": 0.1}, TRAIN),
            "no_center": ({"center": False}, TRAIN),
            "no_scale": ({"scale": False}, TRAIN),
            "neither": ({"center": False, "scale": False}, TRAIN),
            "neither_infer": ({"center": False, "scale": False}, INFER),
            "frozen": ({"trainable": False}, TRAIN),
            "mask": (
                {},
                {"args": normal(3, 5, 2), "call": {"training": True, "mask": lengths(3, 5)}},
            ),
            "masked": ({}, {"args": holes(3, 5, 2), "masking": (0,), **TRAIN}),
            "masked_infer": ({}, {"args": holes(3, 5, 2), "masking": (0,), **INFER}),
            "regularized": ({"gamma_regularizer": L2, "beta_regularizer": L1}, TRAIN),
            "renorm": ({"renorm": True}, TRAIN),
            "mixed_bfloat16": ({"dtype": "mixed_bfloat16"}, {"tolerance": 3e-2, **TRAIN}),
        },
    )
    yield from _layers(
        "LayerNormalization",
        normal(3, 4, 5),
        {
            "default": {},
            "axis1": {"axis": 1},
            "axes": {"axis": [1, 2]},
            "epsilon": {"epsilon": 0.1},
            "no_center": {"center": False},
            "no_scale": {"scale": False},
            "neither": {"center": False, "scale": False},
            "image": ({"axis": [2, 3]}, {"args": IMAGE}),
            "masked": ({}, {"args": padded(2, 5, 3), "masking": (0,)}),
            "regularized": {"gamma_regularizer": L2},
        },
    )
    yield from _layers(
        "GroupNormalization",
        normal(2, 3, 2, 4),
        {
            "default": ({}, {"args": normal(2, 3, 32)}),
            "two": {"groups": 2},
            "instance": {"groups": -1},
            "one": {"groups": 1},
            "axis1": ({"groups": 2, "axis": 1}, {"args": normal(2, 4, 3, 2)}),
            "epsilon": {"groups": 2, "epsilon": 0.1},
            "neither": {"groups": 2, "center": False, "scale": False},
            "rank2": ({"groups": 2}, {"args": normal(3, 4)}),
        },
    )
    yield from _layers(
        "UnitNormalization",
        normal(3, 4, 2),
        {"default": {}, "axis1": {"axis": 1}, "axes": {"axis": [1, 2]}},
    )


def _dropout():
    inputs = {
        "Dropout": normal(3, 4),
        "AlphaDropout": normal(3, 4),
        "GaussianDropout": normal(3, 4),
        "GaussianNoise": normal(3, 4),
        "SpatialDropout1D": SEQUENCE,
        "SpatialDropout2D": IMAGE,
        "SpatialDropout3D": VOLUME,
    }
    for name, x in inputs.items():
        rate = "stddev" if name == "GaussianNoise" else "rate"
        yield from _layers(
            name,
            x,
            {
                "infer": ({rate: 0.5}, INFER),
                "no_training_argument": {rate: 0.5, "seed": 7},
                "zero": ({rate: 0.0}, TRAIN),
            },
        )
    yield from _layers(
        "Dropout",
        padded(2, 5, 3),
        {"masked": ({"rate": 0.3, "seed": 3}, {"masking": (0,), **INFER})},
    )
    yield from _layers(
        "Dropout",
        normal(2, 3, 4),
        {"noise_shape": ({"rate": 0.3, "noise_shape": [None, 1, 4]}, INFER)},
    )
    yield from _layers("SpatialDropout2D", IMAGE_FIRST, {"first": ({"rate": 0.3, **FIRST}, INFER)})


def _merging():
    pair = [normal(2, 3, 4), normal(2, 3, 4)]
    triple = [*pair, normal(2, 3, 4)]
    for name in ("Add", "Multiply", "Average", "Maximum", "Minimum"):
        yield from _layers(
            name,
            triple,
            {
                "three": {},
                "two": ({}, {"args": (pair,)}),
                "broadcast": ({}, {"args": ([normal(2, 3, 4), normal(2, 1, 4)],)}),
            },
        )
    yield from _layers(
        "Add",
        pair,
        {
            "ranks": ({}, {"args": ([normal(2, 3, 4), normal(2, 4)],)}),
            "masked": ({}, {"args": ([padded(2, 5, 3), holes(2, 5, 3)],), "masking": (0,)}),
        },
    )
    yield from _layers(
        "Subtract",
        pair,
        {"two": {}, "broadcast": ({}, {"args": ([normal(2, 3, 4), normal(2, 1, 4)],)})},
    )
    yield from _layers(
        "Concatenate",
        triple,
        {
            "default": {},
            "axis1": ({"axis": 1}, {"args": ([normal(2, 3, 4), normal(2, 2, 4)],)}),
            "masked": ({}, {"args": ([padded(2, 5, 3), holes(2, 5, 3)],), "masking": (0,)}),
            "masked_axis1": (
                {"axis": 1},
                {"args": ([padded(2, 4, 3), holes(2, 5, 3)],), "masking": (0,)},
            ),
        },
    )
    yield from _layers(
        "Dot",
        pair,
        {
            "vectors": ({"axes": 1}, {"args": ([normal(3, 4), normal(3, 4)],)}),
            "cosine": ({"axes": 1, "normalize": True}, {"args": ([normal(3, 4), normal(3, 4)],)}),
            "last": {"axes": -1},
            "pair": ({"axes": [2, 1]}, {"args": ([normal(2, 3, 4), normal(2, 4, 5)],)}),
            "rank4": ({"axes": [1, 2]}, {"args": ([normal(2, 4, 3), normal(2, 3, 4)],)}),
        },
    )


# Recurrence and attention
# ----------------------------------------------------------------------


def _recurrence():
    states = {
        "SimpleRNN": [normal(2, 4)],
        "GRU": [normal(2, 4)],
        "LSTM": [normal(2, 4), normal(2, 4)],
    }
    for name, state in states.items():
        yield from _layers(
            name,
            SEQUENCE,
            {
                "default": {"units": 4},
                "sequences": {"units": 4, "return_sequences": True},
                "state": {"units": 4, "return_state": True},
                "sequences_state": {"units": 4, "return_sequences": True, "return_state": True},
                "backwards": {"units": 4, "go_backwards": True},
                "backwards_sequences": {"units": 4, "go_backwards": True, "return_sequences": True},
                "unroll": {"units": 4, "unroll": True, "return_sequences": True},
                "unroll_last": {"units": 4, "unroll": True},
                "no_bias_relu": {"units": 4, "use_bias": False, "activation": "relu"},
                "initial_state": (
                    {"units": 4, "return_state": True},
                    {"call": {"initial_state": state}},
                ),
                "mask": ({"units": 4, "return_sequences": True}, {"call": {"mask": lengths(2, 5)}}),
                "masked": (
                    {"units": 4, "return_sequences": True},
                    {"args": holes(2, 5, 3), "masking": (0,)},
                ),
                "masked_last": (
                    {"units": 4, "return_state": True},
                    {"args": padded(2, 5, 3), "masking": (0,)},
                ),
                "masked_backwards": (
                    {"units": 4, "return_sequences": True, "go_backwards": True},
                    {"args": holes(2, 5, 3), "masking": (0,)},
                ),
                "masked_unroll": (
                    {"units": 4, "return_sequences": True, "unroll": True},
                    {"args": holes(2, 5, 3), "masking": (0,)},
                ),
                "stateful": ({"units": 4, "stateful": True}, {"calls": 2, "grads": False}),
                "dropout_infer": (
                    {"units": 4, "dropout": 0.5, "recurrent_dropout": 0.3, "seed": 1},
                    INFER,
                ),
                "regularized": {
                    "units": 4,
                    "kernel_regularizer": L2,
                    "recurrent_regularizer": L1,
                    "bias_regularizer": L1,
                },
            },
        )
    yield from _layers("SimpleRNN", SEQUENCE, {"linear": {"units": 3, "activation": None}})
    yield from _layers(
        "LSTM",
        SEQUENCE,
        {
            "hard": {"units": 4, "activation": "softsign", "recurrent_activation": "hard_sigmoid"},
            "forget_bias": {"units": 4, "unit_forget_bias": False},
        },
    )
    yield from _layers(
        "GRU",
        SEQUENCE,
        {
            "reset_before": {"units": 4, "reset_after": False, "return_sequences": True},
            "reset_before_no_bias": {"units": 4, "reset_after": False, "use_bias": False},
            "reset_before_backwards": {"units": 4, "reset_after": False, "go_backwards": True},
            "hard": {"units": 4, "activation": "relu", "recurrent_activation": "hard_sigmoid"},
        },
    )
    yield from _layers(
        "LSTMCell",
        (normal(2, 3), [normal(2, 4), normal(2, 4)]),
        {
            "default": {"units": 4},
            "no_bias": {"units": 4, "use_bias": False},
            "relu": {"units": 4, "activation": "relu"},
        },
    )
    yield from _layers(
        "GRUCell",
        (normal(2, 3), normal(2, 4)),
        {
            "default": {"units": 4},
            "reset_before": {"units": 4, "reset_after": False},
            "no_bias": {"units": 4, "use_bias": False},
        },
    )
    yield from _layers(
        "SimpleRNNCell",
        (normal(2, 3), normal(2, 4)),
        {"default": {"units": 4}, "relu": {"units": 4, "activation": "relu"}},
    )
    stack = _object(
        "StackedRNNCells", cells=[_object("LSTMCell", units=3), _object("GRUCell", units=4)]
    )
    yield from _layers(
        "StackedRNNCells",
        (normal(2, 3), [[normal(2, 3), normal(2, 3)], [normal(2, 4)]]),
        {"default": stack["config"]},
    )
    yield from _layers(
        "RNN",
        SEQUENCE,
        {
            "lstm": {"cell": _object("LSTMCell", units=4)},
            "gru_sequences": {"cell": _object("GRUCell", units=4), "return_sequences": True},
            "simple_state": {"cell": _object("SimpleRNNCell", units=4), "return_state": True},
            "stacked": {"cell": stack, "return_sequences": True},
            "stacked_state": {"cell": stack, "return_state": True},
            "list_of_cells": {
                "cell": [_object("SimpleRNNCell", units=3), _object("SimpleRNNCell", units=2)]
            },
            "zero_output": (
                {
                    "cell": _object("LSTMCell", units=4),
                    "return_sequences": True,
                    "zero_output_for_mask": True,
                },
                {"args": holes(2, 5, 3), "masking": (0,)},
            ),
            "stacked_masked": (
                {"cell": stack, "return_sequences": True},
                {"args": holes(2, 5, 3), "masking": (0,)},
            ),
            "backwards": {
                "cell": _object("GRUCell", units=4, reset_after=False),
                "go_backwards": True,
            },
            "stateful": (
                {"cell": _object("GRUCell", units=4), "stateful": True},
                {"calls": 2, "grads": False},
            ),
        },
    )
    lstm = {"layer": _object("LSTM", units=2)}
    sequences = {"layer": _object("LSTM", units=2, return_sequences=True)}
    yield from _layers(
        "Bidirectional",
        SEQUENCE,
        {
            "default": lstm,
            "sequences": sequences,
            "sum": {**sequences, "merge_mode": "sum"},
            "mul": {**sequences, "merge_mode": "mul"},
            "ave": {**lstm, "merge_mode": "ave"},
            "none": {**sequences, "merge_mode": None},
            "none_last": {**lstm, "merge_mode": None},
            "gru": {"layer": _object("GRU", units=2, return_sequences=True)},
            "simple_state": {"layer": _object("SimpleRNN", units=2, return_state=True)},
            "state": {"layer": _object("LSTM", units=2, return_state=True, return_sequences=True)},
            "initial_state": (
                lstm,
                {
                    "call": {
                        "initial_state": [normal(2, 2), normal(2, 2), normal(2, 2), normal(2, 2)]
                    }
                },
            ),
            "masked": (sequences, {"args": holes(2, 5, 3), "masking": (0,)}),
            "masked_last": (lstm, {"args": padded(2, 5, 3), "masking": (0,)}),
            "masked_none": (
                {**sequences, "merge_mode": None},
                {"args": holes(2, 5, 3), "masking": (0,)},
            ),
            "backward_layer": {
                "layer": _object("LSTM", units=2),
                "backward_layer": _object("GRU", units=3, go_backwards=True),
            },
            "rnn": {"layer": _object("RNN", cell=_object("GRUCell", units=2))},
        },
    )
    yield from _layers(
        "TimeDistributed",
        SEQUENCE,
        {
            "dense": {"layer": _object("Dense", units=2, activation="tanh")},
            "conv": (
                {"layer": _object("Conv2D", filters=2, kernel_size=2)},
                {"args": normal(2, 3, 4, 3, 2)},
            ),
            "batch_norm": ({"layer": _object("BatchNormalization")}, TRAIN),
            "flatten": ({"layer": _object("Flatten")}, {"args": normal(2, 3, 2, 2)}),
            "masked": (
                {"layer": _object("Dense", units=2)},
                {"args": holes(2, 5, 3), "masking": (0,)},
            ),
            "lstm": ({"layer": _object("LSTM", units=2)}, {"args": normal(2, 2, 3, 2)}),
        },
    )


def _attention():
    query, value, key = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4)
    both = {"num_heads": 2, "key_dim": 3}
    yield from _layers(
        "MultiHeadAttention",
        (query, value),
        {
            "default": both,
            "key": (both, {"args": (query, value, key)}),
            "no_bias": {**both, "use_bias": False},
            "output_shape": {**both, "output_shape": 5},
            # without scores Keras 3.15.1 on JAX fails for value_dim != key_dim:
            # jax.nn.dot_product_attention requires them to be equal
            "value_dim": ({**both, "value_dim": 2}, {"call": {"return_attention_scores": True}}),
            "output_shape_pair": {**both, "output_shape": [2, 3]},
            "attention_mask": (both, {"call": {"attention_mask": gaps(2, 3, 5)}}),
            "causal": (both, {"args": (query, query), "call": {"use_causal_mask": True}}),
            "causal_and_mask": (
                both,
                {
                    "args": (query, query),
                    "call": {"use_causal_mask": True, "attention_mask": gaps(2, 3, 3)},
                },
            ),
            "scores": (both, {"call": {"return_attention_scores": True}}),
            "scores_mask": (
                both,
                {"call": {"return_attention_scores": True, "attention_mask": gaps(2, 3, 5)}},
            ),
            "dropout_infer": ({**both, "dropout": 0.4, "seed": 2}, INFER),
            "masked": (both, {"args": (padded(2, 3, 4), padded(2, 5, 4)), "masking": (0, 1)}),
            "masked_causal": (
                both,
                {
                    "args": (padded(2, 5, 4), padded(2, 5, 4)),
                    "masking": (0, 1),
                    "call": {"use_causal_mask": True},
                },
            ),
            "masked_value": (both, {"args": (query, padded(2, 5, 4)), "masking": (1,)}),
            "masks_given": (
                both,
                {"call": {"query_mask": lengths(2, 3), "value_mask": lengths(2, 5)}},
            ),
            "widths": (both, {"args": (query, normal(2, 5, 2), normal(2, 5, 6))}),
            "rank4": (
                {**both, "attention_axes": [1]},
                {"args": (normal(2, 3, 2, 4), normal(2, 5, 2, 4))},
            ),
            "rank4_all": (both, {"args": (normal(1, 2, 2, 4), normal(1, 2, 3, 4))}),
            "sliding_window": ({**both, "sliding_window": 2}, {"args": (value, value)}),
            "gate": {**both, "use_gate": True},
            "regularized": {**both, "kernel_regularizer": L2},
        },
    )
    grouped = {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}
    yield from _layers(
        "GroupQueryAttention",
        (query, value),
        {
            "default": grouped,
            "key": (grouped, {"args": (query, value, key)}),
            "no_bias": {**grouped, "use_bias": False},
            "multi_query": {**grouped, "num_key_value_heads": 1},
            "gate": {**grouped, "use_gate": True},
            "attention_mask": (grouped, {"call": {"attention_mask": gaps(2, 3, 5)}}),
            "causal": (grouped, {"args": (query, query), "call": {"use_causal_mask": True}}),
            "scores": (grouped, {"call": {"return_attention_scores": True}}),
            "dropout_infer": ({**grouped, "dropout": 0.4}, INFER),
            "masked": (grouped, {"args": (padded(2, 3, 4), padded(2, 5, 4)), "masking": (0, 1)}),
            "sliding_window": ({**grouped, "sliding_window": 2}, {"args": (value, value)}),
        },
    )
    for name in ("Attention", "AdditiveAttention"):
        yield from _layers(
            name,
            [query, value],
            {
                "default": {},
                "key": ({}, {"args": ([query, value, key],)}),
                "scale": {"use_scale": name == "Attention"},
                "mask": ({}, {"call": {"mask": [lengths(2, 3), lengths(2, 5)]}}),
                "value_mask": ({}, {"call": {"mask": [None, gaps(2, 5)]}}),
                "masked": ({}, {"args": ([padded(2, 3, 4), padded(2, 5, 4)],), "masking": (0,)}),
                "causal": ({}, {"args": ([query, query],), "call": {"use_causal_mask": True}}),
                "causal_mask": (
                    {},
                    {
                        "args": ([value, value],),
                        "call": {"use_causal_mask": True, "mask": [lengths(2, 5), lengths(2, 5)]},
                    },
                ),
                "scores": ({}, {"call": {"return_attention_scores": True}}),
                "dropout_infer": ({"dropout": 0.3, "seed": 5}, INFER),
            },
        )
    yield from _layers(
        "Attention",
        [query, value],
        {
            "concat": {"score_mode": "concat"},
            "concat_scale": {"score_mode": "concat", "use_scale": True},
        },
    )


# Functions
# ----------------------------------------------------------------------


def _activations():
    without_arguments = (
        "celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish "
        "hard_tanh leaky_relu linear "
        "log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax "
        "softplus softsign sparse_plus "
        "sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink"
    )
    for name in without_arguments.split():
        yield from _activation(name)
    yield from _activation("threshold", threshold=0.5, default_value=-1.0)
    yield from _activation("relu", "arguments", negative_slope=0.1, max_value=1.0, threshold=0.2)
    yield from _activation("relu", "threshold", threshold=0.5)
    yield from _activation("relu", "negative_slope", negative_slope=0.3)
    yield from _activation("leaky_relu", "slope", negative_slope=0.05)
    yield from _activation("elu", "alpha", alpha=0.5)
    yield from _activation("celu", "alpha", alpha=0.5)
    yield from _activation("gelu", "tanh", approximate=True)
    yield from _activation("softmax", "axis", axis=0)
    yield from _activation("softmax", "rank3", normal(2, 3, 4), axis=[1, 2])
    yield from _activation("log_softmax", "axis", axis=0)
    yield from _activation("sparsemax", "axis", axis=0)
    yield from _activation("glu", "axis", axis=0)
    yield from _activation("squareplus", "b", b=2)
    yield from _activation("soft_shrink", "threshold", threshold=0.2)
    yield from _activation("hard_shrink", "threshold", threshold=0.2)


INITIALIZER_SHAPES = ((40, 30), (3, 20, 30), (3, 3, 12, 10), (2, 2, 2, 8, 10), (200,))
EXACT_INITIALIZERS = {"Zeros", "Ones", "Constant", "Identity", "STFT"}


def _initializers():
    def initializer(name, label="default", **config):
        return Case(f"initializer/{name}/{label}", "initializer", name, config)

    yield from (
        initializer("Zeros"),
        initializer("Ones"),
        initializer("Constant"),
        initializer("Constant", "value", value=0.25),
        initializer("Identity"),
        initializer("Identity", "gain", gain=2.0),
        initializer("STFT"),
        initializer("STFT", "imag", side="imag", scaling="density"),
        initializer("Orthogonal"),
        initializer("Orthogonal", "gain", gain=1.5),
        initializer("RandomNormal"),
        initializer("RandomNormal", "arguments", mean=0.5, stddev=0.2),
        initializer("RandomUniform"),
        initializer("RandomUniform", "arguments", minval=-1.0, maxval=2.0),
        initializer("TruncatedNormal"),
        initializer("TruncatedNormal", "arguments", mean=0.5, stddev=0.2),
        initializer("VarianceScaling"),
    )
    for mode in ("fan_in", "fan_out", "fan_avg"):
        for distribution in ("truncated_normal", "untruncated_normal", "uniform"):
            yield initializer(
                "VarianceScaling",
                f"{mode}_{distribution}",
                scale=2.0,
                mode=mode,
                distribution=distribution,
            )
    for name in (
        "GlorotNormal",
        "GlorotUniform",
        "HeNormal",
        "HeUniform",
        "LecunNormal",
        "LecunUniform",
    ):
        yield initializer(name)


def _regularizers_and_constraints():
    matrix, kernel = normal(4, 3), normal(2, 2, 3, 2)
    yield from _function("regularizer", "L1", "default", matrix)
    yield from _function("regularizer", "L1", "value", matrix, l1=0.3)
    yield from _function("regularizer", "L2", "default", matrix)
    yield from _function("regularizer", "L2", "value", kernel, l2=0.3)
    yield from _function("regularizer", "L1L2", "default", matrix)
    yield from _function("regularizer", "L1L2", "value", matrix, l1=0.1, l2=0.2)
    yield from _function("regularizer", "OrthogonalRegularizer", "default", matrix)
    yield from _function(
        "regularizer", "OrthogonalRegularizer", "columns", matrix, factor=0.1, mode="columns"
    )
    for label, x in (("matrix", matrix), ("kernel", kernel)):
        axis = 0 if label == "matrix" else [0, 1, 2]
        yield from _function("constraint", "MaxNorm", label, x, max_value=1.0, axis=axis)
        yield from _function("constraint", "UnitNorm", label, x, axis=axis)
        yield from _function(
            "constraint", "MinMaxNorm", label, x, min_value=0.8, max_value=1.2, rate=0.7, axis=axis
        )
        yield from _function("constraint", "NonNeg", label, x)
    yield from _function("constraint", "MaxNorm", "default", matrix)
    yield from _function("constraint", "MinMaxNorm", "default", matrix)
    yield from _function("constraint", "UnitNorm", "default", matrix)


CASES = tuple(
    case
    for group in (
        _core,
        _convolutions,
        _pooling,
        _reshaping,
        _normalization,
        _dropout,
        _merging,
        _recurrence,
        _attention,
        _activations,
        _initializers,
        _regularizers_and_constraints,
    )
    for case in group()
)
