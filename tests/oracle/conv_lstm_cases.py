"""The cases of ConvLSTM1D, ConvLSTM2D and ConvLSTM3D, compared with Keras like those of `cases.py`.

Keras's loop on JAX fails for masks and inputs with spatial axes, so cases with masks are unrolled.
"""

from cases import FIRST, INFER, L1, L2, Case, gaps, lengths, normal

ROWS = normal(2, 4, 7, 3)
VIDEO = normal(2, 3, 5, 6, 2)
VOLUMES = normal(1, 3, 3, 4, 3, 2)
OUTPUTS = {"return_sequences": True, "return_state": True}


def _cases(name, args, variants):
    for label, variant in variants.items():
        config, fields = variant if isinstance(variant, tuple) else (variant, {})
        fields = {"args": (args,), **fields}
        yield Case(f"layer/{name}/{label}", "layer", name, config, **fields)


def _all():
    small = {"filters": 2, "kernel_size": 2}
    yield from _cases(
        "ConvLSTM1D",
        ROWS,
        {
            "default": {"filters": 4, "kernel_size": 3},
            "outputs": {**small, **OUTPUTS, "padding": "same", "strides": 2},
            "dilated": {**small, "dilation_rate": 2, "return_sequences": True},
            "first": ({**small, **FIRST, **OUTPUTS}, {"args": (normal(2, 4, 3, 7),)}),
            "masked": (
                {**small, "return_sequences": True, "unroll": True},
                {"call": {"mask": lengths(2, 4)}},
            ),
            "dropout_infer": ({**small, "dropout": 0.3, "recurrent_dropout": 0.2}, INFER),
        },
    )
    yield from _cases(
        "ConvLSTM2D",
        VIDEO,
        {
            "default": {"filters": 4, "kernel_size": 3},
            "outputs": {**small, **OUTPUTS, "padding": "same"},
            "strides": {"filters": 2, "kernel_size": (3, 2), "strides": (1, 2), **OUTPUTS},
            "dilated_same": {**small, "dilation_rate": (1, 2), "padding": "same"},
            "first": ({**small, **FIRST, **OUTPUTS}, {"args": (normal(2, 3, 2, 5, 6),)}),
            "backwards": {**small, "go_backwards": True, "return_sequences": True},
            "masked": ({**small, **OUTPUTS, "unroll": True}, {"call": {"mask": gaps(2, 3)}}),
            "initial_state": (
                {**small, "padding": "same"},
                {"call": {"initial_state": [normal(2, 5, 6, 2), normal(2, 5, 6, 2)]}},
            ),
            "stateful": (
                {**small, "stateful": True, "return_sequences": True},
                {"calls": 2, "grads": False},
            ),
            "no_bias": {**small, "use_bias": False},
            "forget_bias": {**small, "unit_forget_bias": False},
            "activations": {
                **small,
                "activation": "relu",
                "recurrent_activation": "hard_sigmoid",
            },
            "regularized": {
                **small,
                "kernel_regularizer": L2,
                "recurrent_regularizer": L1,
                "bias_regularizer": L1,
                "activity_regularizer": L2,
            },
            "unrolled": {**small, "unroll": True},
            "mixed": ({**small, "dtype": "mixed_bfloat16"}, {"tolerance": 3e-2}),
        },
    )
    yield from _cases(
        "ConvLSTM3D",
        VOLUMES,
        {
            "default": {"filters": 3, "kernel_size": 2},
            "outputs": {**small, **OUTPUTS, "padding": "same", "strides": (1, 2, 1)},
            "first": ({**small, **FIRST, **OUTPUTS}, {"args": (normal(1, 3, 2, 3, 4, 3),)}),
        },
    )
    bidirectional = {
        "module": "layers",
        "class_name": "ConvLSTM2D",
        "config": {**small, "return_sequences": True},
    }
    yield from _cases("Bidirectional", VIDEO, {"conv_lstm": {"layer": bidirectional}})


CASES = list(_all())
