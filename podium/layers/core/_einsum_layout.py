"""EinsumLayout: which axes of inputs, kernel and outputs of an einsum correspond to each other.

Scales of quantized values have the axes of inputs or kernel, with size 1 where these are summed
over. They multiply outputs, so that they need the axes of outputs.
"""

from __future__ import annotations

import math
import string
from typing import NamedTuple

from podium import ops
from podium._typing import Shape, Value
from podium.core import Tensor


class EinsumLayout(NamedTuple):
    """The letters of the axes, one for each axis."""

    inputs: str
    kernel: str
    outputs: str

    @classmethod
    def of_equation(cls, letters: tuple[str, str, str], num_dims: int) -> EinsumLayout:
        """Return the layout of an equation in which "." stands for an ellipsis.

        Args:
            letters: The letters of inputs, kernel and outputs.
            num_dims: The number of dimensions of the inputs.
        """
        used = set("".join(letters))
        free = [letter for letter in string.ascii_letters if letter not in used]
        elided = "".join(free[: num_dims - len(letters[0].replace(".", ""))])
        return cls(*(part.replace(".", elided) for part in letters))

    @property
    def summed_inputs(self) -> tuple[int, ...]:
        """The axes of the inputs that outputs do not have."""
        return self._axes_not_in_outputs(self.inputs)

    @property
    def summed_kernel(self) -> tuple[int, ...]:
        """The axes of the kernel that outputs do not have."""
        return self._axes_not_in_outputs(self.kernel)

    def _axes_not_in_outputs(self, letters: str) -> tuple[int, ...]:
        return tuple(i for i, letter in enumerate(letters) if letter not in self.outputs)

    @property
    def gradient_equation(self) -> str:
        """The equation of the gradient of the inputs, from that of the outputs and the kernel."""
        return f"{self.outputs},{self.kernel}->{self.inputs}"

    def flat_kernel_shape(self, kernel_shape: Shape) -> Shape:
        """Return the sizes of the axes that are summed over, and of the others, multiplied."""
        rows = math.prod(kernel_shape[i] for i in self.summed_kernel)
        return rows, math.prod(kernel_shape) // rows

    def kernel_scale_shape(self, kernel_shape: Shape) -> Shape:
        """Return the shape of the scale of a kernel with the axes of the outputs."""
        sizes = dict(zip(self.kernel, kernel_shape, strict=True))
        return tuple(sizes.get(letter, 1) for letter in self.outputs)

    def to_outputs(self, scale: Tensor, letters: str) -> Tensor:
        """Give a scale the axes of the outputs.

        Args:
            scale: A scale with size 1 where `letters` are summed over.
            letters: Its axes: those of the inputs or of the kernel.
        """
        kept = [letter for letter in self.outputs if letter in letters]
        order = [letters.index(letter) for letter in kept]
        moved = ops.transpose(scale, order + [i for i in range(len(letters)) if i not in order])
        sizes = dict(zip(kept, moved.shape, strict=False))
        return ops.reshape(moved, [sizes.get(letter, 1) for letter in self.outputs])

    def to_kernel(self, scale: Value) -> Tensor:
        """Give a scale with the axes of the outputs those of the kernel."""
        kept = [i for i, letter in enumerate(self.outputs) if letter in self.kernel]
        others = [i for i in range(len(self.outputs)) if i not in kept]
        moved = ops.transpose(scale, kept + others)
        found = [self.outputs[i] for i in kept]
        flat = ops.reshape(moved, moved.shape[: len(kept)])
        order = [found.index(letter) for letter in self.kernel if letter in found]
        sizes = dict(zip(found, flat.shape, strict=True))
        shape = [sizes.get(letter, 1) for letter in self.kernel]
        return ops.reshape(ops.transpose(flat, order), shape)
