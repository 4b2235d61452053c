"""Losses between the outputs of a teacher and of a student, for `Distiller`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from podium import losses, ops
from podium._typing import Config, Tree
from podium.core import Tensor, map_structure, tree_leaves
from podium.core.internal import PublicRepr, check_number
from podium.layers import Layer
from podium.saving import deserialize_keras_object, serialize_keras_object


def to_losses(loss: Tree, owner: str) -> Tree:
    """Return names as losses, in the same structure; None for an output that is left out.

    Args:
        loss: The losses.
        owner: Who received them, for messages; "" inside of a structure.
    """
    if isinstance(loss, (list, tuple)):
        found: Tree = [to_losses(item, "") for item in loss]
    elif isinstance(loss, dict) and "class_name" not in loss:
        found = {key: to_losses(item, "") for key, item in loss.items()}
    else:
        found = None if loss is None else losses.get(loss)
    if owner and all(leaf is None for leaf in flatten_losses(found)):
        raise ValueError(f"{owner} was given loss={loss!r}; at least one loss was expected.")
    return found


def flatten_losses(loss: Tree) -> list[Any]:
    """List the losses of a structure, with None where there is none."""
    if isinstance(loss, (list, tuple)):
        return [leaf for item in loss for leaf in flatten_losses(item)]
    if isinstance(loss, dict):
        return [leaf for key in sorted(loss) for leaf in flatten_losses(loss[key])]
    return [loss]


class DistillationLoss(PublicRepr):
    """The base of losses between teacher and student: override `compute_loss`.

    Example:
        >>> class Gap(podium.models.DistillationLoss):
        ...     def compute_loss(self, teacher_outputs, student_outputs, **kwargs):
        ...         return ops.mean(ops.abs(teacher_outputs - student_outputs))
        >>> float(Gap().compute_loss(ops.ones((2, 3)), ops.zeros((2, 3))))
        1.0
    """

    teacher_layer_name: str | None = None
    student_layer_name: str | None = None

    def compute_loss(self, teacher_outputs: Tree, student_outputs: Tree, **kwargs: Any) -> Tensor:
        """Return the loss of a batch, a scalar."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `compute_loss`: define "
            "`compute_loss(self, teacher_outputs, student_outputs, **kwargs)`."
        )

    def validate_outputs(self, teacher_outputs: Tree, student_outputs: Tree) -> None:
        """Raise a ValueError if the outputs do not have the same structure."""
        counts = len(tree_leaves(teacher_outputs)), len(tree_leaves(student_outputs))
        if counts[0] != counts[1]:
            raise ValueError(
                f"The teacher has {counts[0]} outputs and the student {counts[1]}; the same "
                "structure was expected."
            )

    def validate_model_compatibility(self, teacher: Layer, student: Layer) -> None:
        """Raise a ValueError if this loss cannot be used with the models."""


def sum_losses(
    loss: Tree, teacher: Tree, student: Tree, compute: Callable[[Any, Any, Any], Any]
) -> Tensor:
    """Return the sum of `compute(loss, teacher, student)` over the outputs that have a loss."""
    functions = flatten_losses(loss)
    outputs = tree_leaves(teacher), tree_leaves(student)
    if len(functions) != len(outputs[0]):
        raise ValueError(
            f"{len(functions)} losses were given for {len(outputs[0])} outputs; the structure of "
            "the outputs was expected, with None for those that are left out."
        )
    values = [
        compute(function, a, b)
        for function, a, b in zip(functions, *outputs, strict=True)
        if function is not None
    ]
    total: Tensor = values[0]
    for value in values[1:]:
        total = total + value
    return total


class FeatureDistillation(DistillationLoss):
    """Compares the outputs of a layer of the teacher with those of a layer of the student.

    Args:
        loss: A loss, its name, or a structure of them for several outputs; None leaves one out.
        teacher_layer_name: The layer of the teacher; by default its outputs.
        student_layer_name: The layer of the student; by default its outputs.

    Example:
        >>> loss = podium.models.FeatureDistillation("mse")
        >>> float(loss.compute_loss(ops.ones((2, 3)), ops.zeros((2, 3))))
        1.0
    """

    def __init__(
        self,
        loss: Tree = "mse",
        teacher_layer_name: str | None = None,
        student_layer_name: str | None = None,
    ):
        self.loss = to_losses(loss, type(self).__name__)
        self.teacher_layer_name = teacher_layer_name
        self.student_layer_name = student_layer_name

    def validate_model_compatibility(self, teacher: Layer, student: Layer) -> None:
        """Raise a ValueError if a layer is not found, or a model has no graph."""
        models: list[tuple[str, Any, str | None]] = [
            ("teacher", teacher, self.teacher_layer_name),
            ("student", student, self.student_layer_name),
        ]
        for role, model, name in models:
            if name is None:
                continue
            if not getattr(model, "inputs", None):
                raise ValueError(
                    f"FeatureDistillation was given {role}_layer_name={name!r}, and the {role} is "
                    "a subclassed model without a graph. Use a functional or Sequential model, or "
                    "distill the outputs."
                )
            try:
                model.get_layer(name)
            except ValueError as error:
                raise ValueError(f"In the {role} model: {error}") from error

    def compute_loss(self, teacher_outputs: Tree, student_outputs: Tree, **kwargs: Any) -> Tensor:
        """Return the sum of the losses of the features."""
        return sum_losses(
            self.loss,
            teacher_outputs,
            student_outputs,
            lambda function, teacher, student: ops.mean(function(teacher, student)),
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this loss."""
        return {
            "loss": serialize_keras_object(self.loss),
            "teacher_layer_name": self.teacher_layer_name,
            "student_layer_name": self.student_layer_name,
        }

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a loss from the result of `get_config`."""
        return cls(**{**config, "loss": deserialize_keras_object(config["loss"])})


class LogitsDistillation(DistillationLoss):
    """Compares the logits of teacher and student, softened by a temperature.

    Args:
        temperature: What logits are divided by.
        loss: A loss of logits, its name, or a structure of them. A `KLDivergence` compares their
            probabilities, and is multiplied by the square of the temperature.

    Example:
        >>> loss = podium.models.LogitsDistillation(temperature=2.0)
        >>> float(loss.compute_loss(ops.ones((2, 3)), ops.ones((2, 3))))
        0.0
    """

    def __init__(self, temperature: float = 3.0, loss: Tree = "kl_divergence"):
        check_number("temperature", temperature, owner=self, type_error=ValueError)
        if temperature <= 0:
            raise ValueError(
                f"LogitsDistillation was given temperature={temperature!r}; a number above zero "
                "was expected."
            )
        self.temperature = temperature
        self.loss = to_losses(loss, type(self).__name__)

    def compute_loss(self, teacher_outputs: Tree, student_outputs: Tree, **kwargs: Any) -> Tensor:
        """Return the sum of the losses of the outputs."""
        teacher, student = map_structure(
            lambda logits: logits / self.temperature, (teacher_outputs, student_outputs)
        )
        return sum_losses(self.loss, teacher, student, self._compare)

    def _compare(self, function: Any, teacher: Tensor, student: Tensor) -> Tensor:
        is_divergence = isinstance(function, losses.KLDivergence)
        if not is_divergence and function is not losses.kl_divergence:
            return ops.mean(function(teacher, student))
        loss = ops.mean(function(ops.softmax(teacher), ops.softmax(student)))
        return loss * self.temperature**2

    def get_config(self) -> Config:
        """Return the arguments that recreate this loss."""
        return {"temperature": self.temperature, "loss": serialize_keras_object(self.loss)}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a loss from the result of `get_config`."""
        return cls(**{**config, "loss": deserialize_keras_object(config["loss"])})
