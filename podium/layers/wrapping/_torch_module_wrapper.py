"""TorchModuleWrapper: refused, since a program of XLA cannot run modules of torch."""

from __future__ import annotations

from typing import Any

from podium._typing import ShapeLike
from podium.layers._layer import Layer


class TorchModuleWrapper(Layer):
    """Raises an error: Keras has this layer for its torch backend alone.

    A module of torch computes outside of XLA, so that no compiled step could contain or train it.
    Rewrite it with Podium's layers and copy its weights: `set_weights([weight.T, bias])` for a
    `Dense` layer from `torch.nn.Linear`, and for convolutions the weight with its first two axes
    moved to the end, in the reverse order. `FlaxLayer` and `EquinoxLayer` wrap modules of JAX.

    Args:
        module: The `torch.nn.Module`.
        name: The name of the layer.
        output_shape: The shape of the outputs.
        **kwargs: `dtype`, `trainable`.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> podium.layers.TorchModuleWrapper(None)
        Traceback (most recent call last):
        NotImplementedError: TorchModuleWrapper is not supported: a module of torch ...
    """

    def __init__(
        self,
        module: object,
        name: str | None = None,
        output_shape: ShapeLike | None = None,
        **kwargs: Any,
    ):
        raise NotImplementedError(
            "TorchModuleWrapper is not supported: a module of torch runs outside of XLA, so that "
            "steps with it could be neither compiled nor trained. Write it with Podium's layers "
            "and copy its weights (`layer.set_weights([weight.T, bias])` for a torch.nn.Linear), "
            "or wrap a module of JAX with FlaxLayer, EquinoxLayer or JaxLayer."
        )
