"""`RadialConstraint`: convolution kernels that are equal at equal distances from the center."""

from __future__ import annotations

import numpy as np

from podium import ops
from podium._typing import TensorLike
from podium.constraints import Constraint
from podium.core import Tensor, register_keras_serializable


@register_keras_serializable(package="podium")
class RadialConstraint(Constraint):
    """Constrains kernels of `Conv2D` to rings of equal weights around the center.

    The weights come from the diagonal: those of the ring at distance d in a kernel of size 4 are
    `w[1, 1]` and `w[3, 3]`; in one of size 3, `w[0, 0]` and `w[1, 1]`, as in Keras 2.

    Example:
        >>> from podium.compat import keras
        >>> kernel = np.arange(16.0, dtype="float32").reshape(4, 4, 1, 1)
        >>> keras.constraints.RadialConstraint()(kernel).numpy()[:, :, 0, 0].tolist()[:2]
        [[15.0, 15.0, 15.0, 15.0], [15.0, 5.0, 5.0, 15.0]]
    """

    def __call__(self, w: TensorLike) -> Tensor:
        """Return the constrained weights."""
        shape = ops.shape(w)
        if len(shape) != 4 or shape[0] != shape[1]:
            raise ValueError(
                f"RadialConstraint was given weights of shape {tuple(shape)}; a square kernel "
                "`(size, size, channels, filters)` was expected."
            )
        size = int(shape[0])
        start = size // 2
        positions = np.arange(size)
        distances = np.abs(2 * positions - size + 1) // 2
        rings = np.maximum(distances[:, None], distances)
        sources = start - 1 + np.arange(start + 1)
        if size % 2 == 0:  # the inner ring has four elements; the next source is left out
            sources = np.concatenate([sources[:1], sources[2:] if start > 1 else sources[:0]])
        elif size == 1:
            sources = np.zeros(1, int)
        source = sources[rings]
        diagonal = ops.take(ops.reshape(w, (size * size, *shape[2:])), positions * (size + 1), 0)
        return ops.take(diagonal, source, axis=0)
