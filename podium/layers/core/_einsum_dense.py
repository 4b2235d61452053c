"""EinsumDense: a dense layer whose product is written as an einsum equation."""

from __future__ import annotations

import re
from typing import Any

import jax.numpy as jnp

from podium import activations, initializers
from podium.core import dispatch
from podium.layers._argument_checks import set_weight_options, weight_options, weight_options_config
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class EinsumDense(Layer):
    """Computes `activation(einsum(equation, inputs, kernel) + bias)`.

    Args:
        equation: An einsum equation of inputs and kernel, such as "abc,cd->abd" or "...x,xy->...y".
        output_shape: The shape of the outputs without the batch dimension (and without what "..."
            stands for); None for lengths that come from the inputs.
        activation: A name or function; None for none.
        bias_axes: The letters of the output that the bias has, such as "d"; None for no bias.
        kernel_initializer: How the kernel starts.
        bias_initializer: How the bias starts.
        kernel_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        kernel_constraint: Applied to the kernel after updates.
        bias_constraint: Applied to the bias after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.EinsumDense("abc,cde->abde", output_shape=(None, 2, 8), bias_axes="de")
        >>> layer(np.ones((4, 5, 3), "float32")).shape, layer.kernel.shape, layer.bias.shape
        ((4, 5, 2, 8), (3, 2, 8), (2, 8))
    """

    def __init__(
        self,
        equation: str,
        output_shape: Any,
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.equation = equation
        self._letters = _split_equation(equation)
        self.partial_output_shape = (
            (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        )
        self.bias_axes = bias_axes
        self.activation = activations.get(activation)
        set_weight_options(
            self,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
        for letter in bias_axes or "":
            if letter not in self._letters[2]:
                raise ValueError(
                    f"EinsumDense was given bias_axes={bias_axes!r} for the equation "
                    f"{equation!r}, whose output has the letters "
                    f"{self._letters[2].replace('.', '')!r}. Name letters of the output."
                )
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the kernel and the bias."""
        lengths = self._lengths(input_shape)
        inputs, kernel, _ = self._letters
        options = weight_options(self, "kernel")
        options["initializer"] = self._oriented(options["initializer"])
        self.kernel = self.add_weight(
            name="kernel", shape=[lengths[letter] for letter in kernel], **options
        )
        if self.bias_axes is not None:
            self.bias = self.add_weight(
                name="bias",
                shape=self._bias_shape(lengths, input_shape),
                **weight_options(self, "bias"),
            )
        from_end = inputs.startswith(".")
        letters = inputs.replace(".", "")
        axes = {
            i - len(letters) if from_end else i: lengths[letter]
            for i, letter in enumerate(letters)
            if letter in kernel
        }
        self.input_spec = InputSpec(ndim=len(input_shape), axes=axes)

    def _oriented(self, initializer: Any) -> Any:
        """Tell an initializer that scales by fan-in and fan-out which axes of the kernel are
        which.
        """
        if not isinstance(initializer, initializers.VarianceScaling):
            return initializer
        if initializer.input_axes is not None and initializer.output_axes is not None:
            return initializer
        _, kernel, outputs = self._letters
        config = initializer.get_config() | {"seed": initializer.seed}
        config["input_axes"] = [i for i, letter in enumerate(kernel) if letter not in outputs]
        config["output_axes"] = [i for i, letter in enumerate(kernel) if letter in outputs]
        return type(initializer).from_config(config)

    def _full_output_shape(self, input_shape: Any) -> tuple:
        """Put the batch dimension and what "..." stands for around the shape that was given."""
        inputs, _, outputs = self._letters
        elided = len(input_shape) - len(inputs.replace(".", ""))
        if elided < 0 or ("." not in inputs and elided):
            raise ValueError(
                f"Layer {self.name!r} (EinsumDense) has the equation {self.equation!r} and was "
                f"given inputs of shape {tuple(input_shape)}, with {len(input_shape)} dimensions. "
                "One letter per dimension was expected."
            )
        given = self.partial_output_shape
        if outputs.startswith("."):
            return (*input_shape[: max(elided, 1)], *given)
        return (
            input_shape[0],
            *given,
            *(input_shape[len(input_shape) - elided :] if elided else ()),
        )

    def _lengths(self, input_shape: Any) -> dict[str, Any]:
        """Return the length of each letter, from the inputs and the given output shape."""
        inputs, _, outputs = self._letters
        out_shape = self._full_output_shape(input_shape)
        lengths: dict[str, Any] = {}
        for letters, shape in ((inputs, tuple(input_shape)), (outputs, out_shape)):
            names = letters.replace(".", "")
            part = (
                shape[len(shape) - len(names) :] if letters.startswith(".") else shape[: len(names)]
            )
            if len(part) != len(names):
                raise ValueError(
                    f"Layer {self.name!r} (EinsumDense) has the equation {self.equation!r} and "
                    f"output_shape={self.partial_output_shape}, which do not fit inputs of shape "
                    f"{tuple(input_shape)}. Give `output_shape` one length per letter of the "
                    "output, without the batch dimension."
                )
            for letter, length in zip(names, part, strict=True):
                known = lengths.get(letter)
                if known is not None and length is not None and known != length:
                    raise ValueError(
                        f"Layer {self.name!r} (EinsumDense) has the equation {self.equation!r}: "
                        f"letter {letter!r} has length {known} in the inputs of shape "
                        f"{tuple(input_shape)} and {length} in output_shape={self.partial_output_shape}. "
                        "Make them equal, or write None in `output_shape`."
                    )
                lengths[letter] = length if known is None else known
        return lengths

    def _bias_shape(self, lengths: dict[str, Any], input_shape: Any) -> list:
        outputs = self._letters[2]
        letters = outputs.replace(".", "")
        first = min(letters.index(letter) for letter in self.bias_axes or "")
        shape = [
            lengths[letter] if letter in (self.bias_axes or "") else 1 for letter in letters[first:]
        ]
        trailing = (
            len(input_shape) - len(self._letters[0].replace(".", ""))
            if outputs.endswith(".")
            else 0
        )
        return shape + [1] * trailing

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Compute the outputs."""
        outputs = dispatch(_einsum_and_add, self.equation, inputs, self.kernel, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        lengths = self._lengths(input_shape)
        outputs, full = self._letters[2], self._full_output_shape(input_shape)
        names = outputs.replace(".", "")
        start = len(full) - len(names) if outputs.startswith(".") else 0
        return tuple(
            lengths[names[i - start]] if start <= i < start + len(names) else d
            for i, d in enumerate(full)
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        own = {
            "equation": self.equation,
            "output_shape": self.partial_output_shape,
            "activation": activations.serialize(self.activation),
            "bias_axes": self.bias_axes,
        }
        return (
            {"activity_regularizer": None}
            | super().get_config()
            | own
            | weight_options_config(self, "kernel", "bias")
        )


def _einsum_and_add(equation: str, x: Any, kernel: Any, bias: Any) -> Any:
    outputs = jnp.einsum(equation, x, kernel)
    return outputs if bias is None else outputs + bias


def _split_equation(equation: str) -> tuple[str, str, str]:
    """Return the letters of inputs, kernel and outputs; "." stands for an ellipsis at one end."""
    short = equation.replace(" ", "").replace("...", ".") if isinstance(equation, str) else ""
    match = re.fullmatch(r"(\.?)([a-zA-Z]+)(\.?),([a-zA-Z]+)->(\1)([a-zA-Z]+)(\3)", short)
    if match is None or (match[1] and match[3]):
        raise ValueError(
            f"EinsumDense was given equation={equation!r}; one of the forms 'ab,bc->ac', "
            "'...b,bc->...c' or 'ab...,bc->ac...' was expected, with the inputs first and the "
            "kernel second."
        )
    inputs, kernel, outputs = match[2], match[4], match[6]
    for letter in outputs + kernel:
        if letter not in inputs and not (letter in kernel and letter in outputs):
            raise ValueError(
                f"EinsumDense was given equation={equation!r}, in which {letter!r} has no length: "
                "every letter of the output must be in the inputs or the kernel, and every letter "
                "of the kernel in the inputs or the output."
            )
    return match[1] + inputs + match[3], kernel, match[1] + outputs + match[3]
