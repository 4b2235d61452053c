"""Which string means which loss: functions by their own names and short ones, classes by theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podium.losses._binary import (
    BinaryCrossentropy,
    BinaryFocalCrossentropy,
    binary_crossentropy,
    binary_focal_crossentropy,
)
from podium.losses._categorical import (
    CategoricalCrossentropy,
    CategoricalFocalCrossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
)
from podium.losses._circle import Circle, circle
from podium.losses._ctc import CTC, ctc
from podium.losses._divergence import KLDivergence, Poisson, kl_divergence, poisson
from podium.losses._function_wrapper import LossFunctionWrapper, registry, resolve_loss
from podium.losses._hinge import (
    CategoricalHinge,
    Hinge,
    SquaredHinge,
    categorical_hinge,
    hinge,
    squared_hinge,
)
from podium.losses._loss import Loss
from podium.losses._mean_errors import (
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
)
from podium.losses._overlap import Dice, Tversky, dice, tversky
from podium.losses._robust import (
    CosineSimilarity,
    Huber,
    LogCosh,
    cosine_similarity,
    huber,
    log_cosh,
)
from podium.losses._sparse import (
    CategoricalGeneralizedCrossEntropy,
    SparseCategoricalCrossentropy,
    categorical_generalized_cross_entropy,
    sparse_categorical_crossentropy,
)

# The function, its class, and the short names.
_MEMBERS: tuple[tuple[Callable[..., Any], type[Loss], tuple[str, ...]], ...] = (
    (mean_squared_error, MeanSquaredError, ("mse", "MSE")),
    (mean_absolute_error, MeanAbsoluteError, ("mae", "MAE")),
    (mean_absolute_percentage_error, MeanAbsolutePercentageError, ("mape", "MAPE")),
    (mean_squared_logarithmic_error, MeanSquaredLogarithmicError, ("msle", "MSLE")),
    (huber, Huber, ("huber_loss",)),
    (log_cosh, LogCosh, ("logcosh",)),
    (cosine_similarity, CosineSimilarity, ()),
    (hinge, Hinge, ()),
    (squared_hinge, SquaredHinge, ()),
    (categorical_hinge, CategoricalHinge, ()),
    (kl_divergence, KLDivergence, ("kld", "KLD", "kullback_leibler_divergence")),
    (poisson, Poisson, ()),
    (binary_crossentropy, BinaryCrossentropy, ("bce", "BCE")),
    (binary_focal_crossentropy, BinaryFocalCrossentropy, ()),
    (categorical_crossentropy, CategoricalCrossentropy, ()),
    (categorical_focal_crossentropy, CategoricalFocalCrossentropy, ()),
    (sparse_categorical_crossentropy, SparseCategoricalCrossentropy, ()),
    (categorical_generalized_cross_entropy, CategoricalGeneralizedCrossEntropy, ()),
    (dice, Dice, ()),
    (tversky, Tversky, ()),
    (circle, Circle, ()),
    (ctc, CTC, ()),
)
for _function, _class, _aliases in _MEMBERS:
    registry.add(_class.__name__, _class)
    for _name in (_function.__name__, *_aliases):
        registry.add(_name, _function)


def get(identifier: Any) -> Any:
    """Return the loss that an argument such as `loss` of `compile` means.

    Args:
        identifier: A name (`"mse"` for the function, `"MeanSquaredError"` for an instance of the
            class), a config, a class, an instance, a function of targets and predictions, or None.

    Returns:
        A function or a `Loss`, or None for None.

    Example:
        >>> podium.losses.get("mse") is podium.losses.mean_squared_error
        True
        >>> podium.losses.get(podium.losses.Huber).delta
        1.0
        >>> podium.losses.get("mean_square_error")
        Traceback (most recent call last):
        ValueError: Unknown loss 'mean_square_error'. Did you mean 'mean_squared_error'? Choices:
            ...
    """
    return (
        resolve_loss(identifier)
        if isinstance(identifier, (str, Mapping))
        else registry.get(identifier)
    )


def serialize(loss: Any) -> Any:
    """Return a loss in the form that `deserialize` reads: a name for a function, a config for an
    object.

    Example:
        >>> podium.losses.serialize(podium.losses.Huber(delta=2.0))["config"]
        {'name': 'huber_loss', 'reduction': 'sum_over_batch_size', 'delta': 2.0}
    """
    return registry.serialize(loss)


def deserialize(name: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Make a loss from `serialize`'s result, or from what Keras wrote.

    Args:
        name: The config, or a name.
        custom_objects: Your own classes and functions by name.

    Example:
        >>> podium.losses.deserialize({"class_name": "Huber", "config": {"delta": 0.5}}).delta
        0.5
    """
    return None if name is None else resolve_loss(name, custom_objects)


registry.add("LossFunctionWrapper", LossFunctionWrapper)
