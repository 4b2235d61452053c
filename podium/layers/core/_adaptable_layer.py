"""AdaptableLayer: the base class of layers with one large weight that LoRA can adapt.

It owns the low-rank pair that is added to the weight, and what files hold of such a layer: the
weight with the pair merged into it, as in Keras. What is computed with the weight is decided by the
subclasses.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from podium import initializers, ops
from podium._typing import InitializerLike, Shape, Value
from podium.core import Tensor, Variable
from podium.core.internal import check_int, check_number
from podium.layers._layer import Layer
from podium.layers._weight_changes import report_weight_change


class AdaptableLayer(Layer):
    """A layer with a weight, such as a kernel, that `enable_lora` freezes and adapts.

    Args:
        lora_rank: The rank with which `build` calls `enable_lora`; None for no adaptation.
        lora_alpha: The scale of the adaptation times its rank; by default the rank.
        **kwargs: Arguments of `Layer`.
    """

    _weight_name = "kernel"  # of the weight; the Variable is the attribute `_kernel`

    def __init__(self, *, lora_rank: int | None, lora_alpha: float | None, **kwargs: Any):
        super().__init__(**kwargs)
        if lora_rank is not None:
            lora_rank = check_int("lora_rank", lora_rank, owner=self, type_error=ValueError)
        if lora_alpha is not None:
            check_number("lora_alpha", lora_alpha, owner=self, type_error=ValueError)
        self.lora_rank = lora_rank
        self.lora_alpha = lora_rank if lora_alpha is None else lora_alpha
        self.lora_enabled = False
        setattr(self, f"_{self._weight_name}", None)

    # --- the weight and its adaptation

    @property
    def _weight(self) -> Variable | None:
        """The stored weight, without the adaptation."""
        weight: Variable | None = vars(self).get(f"_{self._weight_name}")
        return weight

    def _lora_matrices(self) -> list[Variable]:
        """List the two matrices of LoRA, or nothing."""
        names = [f"lora_{self._weight_name}_{part}" for part in "ab"]
        return [vars(self)[name] for name in names] if self.lora_enabled else []

    def _adapted_weight(self) -> Value | None:
        """Return the weight that the layer computes with: the Variable, or the sum with LoRA."""
        if self._weight is None or not self.lora_enabled:
            return self._weight
        return ops.cast(ops.add(self._weight, self._lora_delta()), self.compute_dtype)

    def _lora_delta(self) -> Tensor:
        return ops.multiply(self._lora_scale(), ops.matmul(*self._lora_matrices()))

    def _lora_scale(self) -> float:
        return float(self.lora_alpha or 0) / (self.lora_rank or 1)

    def _weight_shape(self) -> Shape:
        """Return the shape of the weight as the layer computes with it."""
        assert self._weight is not None
        return self._weight.shape

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        a_initializer: InitializerLike = "he_uniform",
        b_initializer: InitializerLike = "zeros",
    ) -> None:
        """Freeze the weight and train a product of two small matrices that is added to it.

        A compiled model trains the matrices from the next `fit` on; no `compile` is needed. Files
        in Keras's formats hold the sum, so that they can be loaded without LoRA; training
        checkpoints and `.safetensors` files hold the weight and the matrices apart.

        Args:
            rank: The rank of the product: the inner size of the matrices.
            lora_alpha: The product is multiplied by `lora_alpha / rank`; by default by 1.
            a_initializer: Initializer of the first matrix.
            b_initializer: Initializer of the second matrix. With zeros, the default, the outputs
                do not change until the layer is trained.

        Raises:
            ValueError: The layer is not built, has a constraint, or is adapted already.

        Example:
            >>> layer = podium.layers.Dense(8)
            >>> layer.build((None, 6))
            >>> layer.enable_lora(2)
            >>> [(w.name, w.shape) for w in layer.trainable_weights]
            [('bias', (8,)), ('lora_kernel_a', (6, 2)), ('lora_kernel_b', (2, 8))]
        """
        rank = check_int("rank", rank, owner="enable_lora", type_error=ValueError)
        if lora_alpha is not None:
            check_number("lora_alpha", lora_alpha, owner="enable_lora", type_error=ValueError)
        self._check_can_adapt()
        weight, shape = self._weight, self._weight_shape()
        assert weight is not None
        regularizer = getattr(self, f"{self._weight_name}_regularizer")
        # float32 in every policy: small updates of small matrices would be lost otherwise.
        for part, part_shape, initializer in (
            ("a", (*shape[:-1], rank), a_initializer),
            ("b", (rank, shape[-1]), b_initializer),
        ):
            variable = self.add_weight(
                name=f"lora_{self._weight_name}_{part}",
                shape=part_shape,
                initializer=initializers.get(initializer),
                dtype="float32",
                regularizer=regularizer,
            )
            setattr(self, variable.name, variable)
        self._freeze_weight()
        self.lora_enabled = True
        self.lora_rank = rank
        self.lora_alpha = rank if lora_alpha is None else lora_alpha
        report_weight_change(self)

    def _check_can_adapt(self) -> None:
        label = f"Layer {self.name!r} ({type(self).__name__})"
        if getattr(self, f"{self._weight_name}_constraint") is not None:
            raise ValueError(
                f"{label} has a `{self._weight_name}_constraint`, which LoRA cannot keep: it never "
                "updates the weight itself. Create the layer without the constraint."
            )
        if not self.built or self._weight is None:
            raise ValueError(
                f"{label} is not built, so LoRA has no weight to adapt. Call it on data first, or "
                "`build(input_shape)`; or pass `lora_rank` to the constructor."
            )
        if self.lora_enabled:
            raise ValueError(
                f"{label} has LoRA of rank {self.lora_rank} already. It can be enabled once."
            )

    def _build_lora(self) -> None:
        """Enable LoRA in `build` if the constructor was asked to."""
        if self.lora_rank is not None:
            self.built = True
            self.enable_lora(self.lora_rank, lora_alpha=self.lora_alpha)

    def _freeze_weight(self) -> None:
        """Exclude the weight from training. Its position among the weights stays the same."""
        weight = self._weight
        if weight is not None and (weight.trainable or weight.frozen):
            weight.trainable, weight.frozen = False, True

    def _set_own_trainable(self, value: bool) -> None:
        super()._set_own_trainable(value)
        if self.lora_enabled:
            self._freeze_weight()

    # --- files

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """The names of the variables in files, in order, by quantization mode; None for none.

        Example:
            >>> podium.layers.Dense(2).variable_serialization_spec[None]
            ['kernel', 'bias']
        """
        return {None: [self._weight_name]}

    def _has_own_store(self, by_name: bool = False) -> bool:
        overridden = (
            type(self).save_own_variables is not AdaptableLayer.save_own_variables
            or type(self).load_own_variables is not AdaptableLayer.load_own_variables
        )
        return overridden or (self._stores_by_mode() and not by_name)

    def _stores_by_mode(self) -> bool:
        """Return whether files have other variables than the layer, or in another order."""
        return self.lora_enabled

    def _variable(self, name: str) -> Variable:
        """Return the variable of a name of `variable_serialization_spec`."""
        variable = self._weight if name == self._weight_name else getattr(self, name)
        assert isinstance(variable, Variable)
        return variable

    def _stored_variables(self) -> dict[str, Variable]:
        """Return the variables that files hold, by name and in order, without those of LoRA."""
        names = self.variable_serialization_spec[self.quantization_mode]
        found = {
            name: self._weight if name == self._weight_name else getattr(self, name, None)
            for name in names
        }
        variables = {name: v for name, v in found.items() if isinstance(v, Variable)}
        known = {id(variable) for variable in (*variables.values(), *self._lora_matrices())}
        others = [variable for variable in self._own_weights() if id(variable) not in known]
        return variables | {f"{variable.name}_{i}": variable for i, variable in enumerate(others)}

    def _merged_values(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the values that files hold instead of those of the variables, by name."""
        if self._weight is None or not self.lora_enabled:
            return {}
        merged = ops.cast(ops.add(self._weight, self._lora_delta()), self._weight.dtype)
        return {self._weight_name: np.asarray(merged)}

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Write the weights of this layer into a dictionary, with LoRA merged into the weight."""
        if not self._stores_by_mode():
            super().save_own_variables(store)
            return
        merged = self._merged_values()
        for index, (name, variable) in enumerate(self._stored_variables().items()):
            store[str(index)] = merged[name] if name in merged else variable.numpy()

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Read the weights of this layer from a dictionary, and reset LoRA to zeros."""
        if not self._stores_by_mode():
            super().load_own_variables(store)
            return
        variables = self._stored_variables()
        if set(store) != {str(index) for index in range(len(variables))}:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) loads {len(variables)} weights "
                f"({', '.join(variables)}); the file has {len(store)} for it: {sorted(store)}. "
                "Build the layer as it was when it was saved."
            )
        for index, (name, variable) in enumerate(variables.items()):
            value = store[str(index)]
            _check_stored_dtype(self, name, variable, value)
            variable.assign(value)
        for matrix in self._lora_matrices():
            matrix.assign(np.zeros(matrix.shape, "float32"))


def _check_stored_dtype(layer: Layer, name: str, variable: Variable, value: Any) -> None:
    """Raise if a value is float and its variable is not, or the other way around."""
    stored = np.asarray(value).dtype
    if jnp.issubdtype(stored, jnp.floating) != jnp.issubdtype(variable.dtype, jnp.floating):
        raise ValueError(
            f"Layer {layer.name!r} ({type(layer).__name__}) has {name!r} of dtype "
            f"{variable.dtype}, and the file has {stored}. Load weights into a model of the "
            "quantization that they were saved with, and quantize it afterwards."
        )
