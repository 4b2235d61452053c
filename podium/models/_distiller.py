"""Distiller: trains a student by the targets and by the outputs of a frozen teacher.

The losses between the two are in `_distillation_losses.py`; training is that of `Model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from podium import ops
from podium._typing import Config, Tree
from podium.core import Tensor, tree_leaves
from podium.core.internal import check_number
from podium.metrics import Mean
from podium.models._distillation_losses import (
    DistillationLoss,
    FeatureDistillation,
    LogitsDistillation,
    sum_losses,
    to_losses,
)
from podium.models._model import Model
from podium.saving import deserialize_keras_object, serialize_keras_object


class _FeatureExtractor:
    """Computes the outputs of layers of a model beside its own, in one pass.

    It is not a layer, so that files do not hold the weights a second time.
    """

    def __init__(self, model: Model, names: Sequence[str]):
        self._names = tuple(dict.fromkeys(names))
        self._model: Model | None = None
        if self._names:
            layers = [model.get_layer(name).output for name in self._names]
            self._model = Model(model.inputs, [model.output, layers])

    def __call__(self, inputs: Tree, outputs: Tree, training: bool) -> dict[str | None, Tree]:
        """Return the outputs by the names of layers; those of the model by None."""
        if self._model is None:
            return {None: outputs}
        outputs, features = self._model(inputs, training=training)
        return {None: outputs, **dict(zip(self._names, features, strict=True))}


class Distiller(Model):
    """Trains a student on targets and on what a teacher computes.

    The loss is `student_loss_weight` times the loss of the targets, and the rest times the sum of
    the distillation losses. Penalties of regularizers are not included, as in Keras.

    Args:
        teacher: A trained model. It is frozen.
        student: The model to train; use it by itself afterwards.
        distillation_losses: A `DistillationLoss`, or a list of them.
        distillation_loss_weights: Their weights; by default 1.
        student_loss_weight: The weight of the loss of the targets, from 0 to 1.
        name: The name of the distiller.
        **kwargs: Further arguments of `Model`.

    Example:
        >>> def make_model():
        ...     return podium.Sequential([podium.Input((4,)), podium.layers.Dense(3)])
        >>> distiller = podium.models.Distiller(
        ...     make_model(), make_model(), podium.models.LogitsDistillation(temperature=2.0)
        ... )
        >>> loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
        >>> distiller.compile("adam", loss)
        >>> history = distiller.fit(np.ones((8, 4)), np.zeros(8), verbose=0)
        >>> sorted(history.history)
        ['distillation_loss', 'loss', 'student_loss', 'total_loss']
    """

    def __init__(
        self,
        teacher: Model,
        student: Model,
        distillation_losses: DistillationLoss | Sequence[DistillationLoss],
        distillation_loss_weights: Sequence[float] | None = None,
        student_loss_weight: float = 0.5,
        name: str = "distiller",
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        _check_models(teacher, student)
        check_number("student_loss_weight", student_loss_weight, 0, 1, owner="Distiller")
        if distillation_losses is None:
            raise ValueError(
                "Distiller was given distillation_losses=None; a DistillationLoss, or a list of "
                "them, was expected, such as LogitsDistillation()."
            )
        each: list[Any] = (
            list(distillation_losses)
            if isinstance(distillation_losses, (list, tuple))
            else [distillation_losses]
        )
        weights = [1.0] * len(each) if distillation_loss_weights is None else None
        weights = weights or list(distillation_loss_weights or ())
        if len(weights) != len(each):
            raise ValueError(
                f"Distiller was given {len(weights)} distillation_loss_weights for {len(each)} "
                "distillation_losses; the same number was expected."
            )
        for loss in each:
            loss.validate_model_compatibility(teacher, student)
        self.teacher, self.student = teacher, student
        self.distillation_losses, self.distillation_loss_weights = each, weights
        self.student_loss_weight = student_loss_weight
        self._student_loss: Tree = None
        names = [(loss.teacher_layer_name, loss.student_layer_name) for loss in each]
        self._teacher_features = _FeatureExtractor(teacher, [a for a, _ in names if a])
        self._student_features = _FeatureExtractor(student, [b for _, b in names if b])
        self.teacher.trainable = False
        self.loss_tracker = Mean(name="loss")
        self.student_loss_tracker = Mean(name="student_loss")
        self.distillation_loss_tracker = Mean(name="distillation_loss")
        self.total_loss_tracker = Mean(name="total_loss")

    def compile(
        self,
        optimizer: Any = "adam",
        loss: Tree = None,
        metrics: Tree = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Set how the student is trained.

        Args:
            optimizer: The optimizer of the student.
            loss: The loss of the targets.
            metrics: Metrics of the student's outputs.
            *args: Further arguments of `Model.compile`.
            **kwargs: Further arguments of `Model.compile`.
        """
        if loss is None:
            raise ValueError("Distiller.compile was given no `loss`, that of the targets.")
        self._student_loss = to_losses(loss, "Distiller.compile")
        super().compile(optimizer, None, metrics, *args, **kwargs)

    def call(self, inputs: Tree, training: bool | None = None) -> Tree:
        """Return the outputs of the student."""
        return self.student(inputs, training=training)

    def compute_loss(
        self,
        x: Tree = None,
        y: Tree = None,
        y_pred: Tree = None,
        sample_weight: Tree = None,
        training: bool = True,
    ) -> Tensor:
        """Return the total loss of a batch."""
        if y_pred is None:
            y_pred = self(x, training=training)
        student_loss, distillation_loss = ops.zeros(()), ops.zeros(())
        weight = self.student_loss_weight
        if weight > 0 and y is not None:
            student_loss = sum_losses(
                self._student_loss, y, y_pred, lambda loss, a, b: ops.mean(loss(a, b))
            )
        if weight < 1:
            distillation_loss = self._compute_distillation(x, y_pred)
        total: Tensor = weight * student_loss + (1.0 - weight) * distillation_loss
        self.student_loss_tracker.update_state(student_loss)
        self.distillation_loss_tracker.update_state(distillation_loss)
        self.total_loss_tracker.update_state(total)
        self.loss_tracker.update_state(total)
        return total

    def _compute_distillation(self, x: Tree, y_pred: Tree) -> Tensor:
        teacher = self._teacher_features(x, None, training=False)
        if None not in teacher or teacher[None] is None:
            teacher[None] = self.teacher(x, training=False)
        student = {**self._student_features(x, y_pred, training=True), None: y_pred}
        total = ops.zeros(())
        for loss, weight in zip(
            self.distillation_losses, self.distillation_loss_weights, strict=True
        ):
            outputs = teacher[loss.teacher_layer_name], student[loss.student_layer_name]
            loss.validate_outputs(*outputs)
            value = loss.compute_loss(*outputs)
            if tuple(value.shape) != ():
                raise ValueError(
                    f"{type(loss).__name__}.compute_loss returned a value of shape "
                    f"{tuple(value.shape)}; a scalar was expected, such as `ops.mean(values)`."
                )
            total = total + weight * value
        return total

    def get_config(self) -> Config:
        """Return the arguments that recreate the distiller, without weights."""
        return {
            "name": self.name,
            "teacher": serialize_keras_object(self.teacher),
            "student": serialize_keras_object(self.student),
            "distillation_losses": [serialize_keras_object(x) for x in self.distillation_losses],
            "distillation_loss_weights": self.distillation_loss_weights,
            "student_loss_weight": self.student_loss_weight,
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a distiller from the result of `get_config`, with new weights."""
        names = ("teacher", "student", "distillation_losses")
        own = {cls.__name__: cls for cls in (FeatureDistillation, LogitsDistillation)}
        known = own | dict(custom_objects or {})
        parts = {name: deserialize_keras_object(config[name], known) for name in names}
        return cls(**{**config, **parts})


def _check_models(teacher: object, student: object) -> None:
    for role, model in (("teacher", teacher), ("student", student)):
        if not isinstance(model, Model):
            raise ValueError(f"Distiller was given {role}={model!r}; a Model was expected.")
    assert isinstance(teacher, Model) and isinstance(student, Model)
    for kind in ("inputs", "outputs"):
        symbols = [tree_leaves(getattr(model, kind) or []) for model in (teacher, student)]
        for first, second in zip(*symbols, strict=False):
            sizes = zip(first.shape, second.shape, strict=False)
            is_same = len(first.shape) == len(second.shape) and all(
                a is None or b is None or a == b for a, b in sizes
            )
            if not is_same or first.dtype != second.dtype:
                raise ValueError(
                    f"The teacher has {kind} of shape {first.shape} and dtype {first.dtype}, the "
                    f"student of shape {second.shape} and dtype {second.dtype}; the same were "
                    "expected."
                )
