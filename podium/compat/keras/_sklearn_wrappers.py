"""Models as estimators of scikit-learn: for its pipelines, searches and cross-validation.

It owns the conversion of targets and scikit-learn's protocol; `Model.fit` and `predict` do the
work. Needs scikit-learn, which is imported with this file.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np

from podium.callbacks import History
from podium.models import Model, clone_model

try:
    import sklearn
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
    from sklearn.utils.metadata_routing import MetadataRequest
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "keras.wrappers needs scikit-learn 1.6 or later: `pip install 'scikit-learn>=1.6'`."
    ) from error

_NumPyArray: TypeAlias = np.ndarray[Any, Any]


class _ModelEstimator(BaseEstimator):
    """What the wrappers share: making the model, fitting and predicting."""

    _several_targets = True

    def __init__(
        self,
        model: Model | Callable[..., Model],
        warm_start: bool = False,
        model_kwargs: dict[str, Any] | None = None,
        fit_kwargs: dict[str, Any] | None = None,
    ):
        self.model = model
        self.warm_start = warm_start
        self.model_kwargs = model_kwargs
        self.fit_kwargs = fit_kwargs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.target_tags.multi_output = self._several_targets
        return tags

    def __sklearn_clone__(self) -> Self:
        is_function = callable(self.model) and not isinstance(self.model, Model)
        model = self.model if is_function else copy.deepcopy(self.model)
        return type(self)(model, self.warm_start, self.model_kwargs, self.fit_kwargs)

    @property
    def epoch_(self) -> list[int]:
        """The epochs of the last fit."""
        history = getattr(self, "history_", None)
        return [] if history is None else list(history.epoch)

    def set_fit_request(self, **kwargs: bool | str | None) -> Self:
        """Request metadata, such as sample_weight, for `fit` in a pipeline."""
        if not sklearn.get_config().get("enable_metadata_routing", False):
            raise RuntimeError(
                "set_fit_request was called while metadata routing is disabled. Call "
                "`sklearn.set_config(enable_metadata_routing=True)` before."
            )
        self._metadata_request = MetadataRequest(owner=type(self).__name__)
        for parameter, alias in kwargs.items():
            self._metadata_request.fit.add_request(param=parameter, alias=alias)
        return self

    def fit(self, X: Any, y: Any, **kwargs: Any) -> Self:
        """Train the model, or a copy of it.

        Args:
            X: Samples, `(samples, features)`.
            y: Targets, one or several per sample.
            **kwargs: Arguments of `Model.fit`, which precede those in `fit_kwargs`.
        """
        X, y = validate_data(self, X, y, multi_output=self._several_targets)
        targets = self._encode_targets(y)
        model = self._make_model(X, targets)
        if not model.compiled or not model.loss or not model.optimizer:
            raise RuntimeError(
                f"{type(self).__name__} was given a model that is not compiled with a loss and an "
                "optimizer. Compile it: `model.compile(optimizer='adam', loss='mse')`."
            )
        self.history_: History = model.fit(X, targets, **{**(self.fit_kwargs or {}), **kwargs})
        self.model_ = model
        return self

    def _make_model(self, X: _NumPyArray, y: _NumPyArray) -> Model:
        if not isinstance(self.model, Model):
            return self.model(X=X, y=y, **(self.model_kwargs or {}))
        if self.warm_start:
            return self.model
        model = clone_model(self.model)
        config = self.model.get_compile_config() if self.model.compiled else None
        if config is not None:
            model.compile_from_config(config)
        return model

    def _encode_targets(self, y: _NumPyArray) -> _NumPyArray:
        """Return targets with a column for each output."""
        if type_of_target(y) == "unknown":
            raise ValueError(f"Unknown label type: {y!r}")
        self._is_flat = y.ndim == 1
        return y.reshape(-1, 1) if self._is_flat else y

    def _raw_outputs(self, X: Any) -> _NumPyArray:
        check_is_fitted(self)
        verbose = (self.fit_kwargs or {}).get("verbose", "auto")
        outputs: _NumPyArray = self.model_.predict(
            validate_data(self, X, reset=False), verbose=verbose
        )
        return outputs

    def predict(self, X: Any) -> _NumPyArray:
        """Return the predictions for samples."""
        outputs = self._raw_outputs(X)
        return outputs[:, 0] if self._is_flat and outputs.shape[1:] == (1,) else outputs


class SKLearnClassifier(ClassifierMixin, _ModelEstimator):
    """A model as a classifier of scikit-learn.

    Targets are one-hot encoded: the model has an output for each class.

    Args:
        model: A compiled model, which is copied for each fit; or a function of `X`, `y` and
            `model_kwargs` that returns one.
        warm_start: Whether to train `model` itself, further with each fit.
        model_kwargs: Arguments of the function.
        fit_kwargs: Arguments of `Model.fit`.

    Attributes:
        model_: The trained model.
        history_: What `Model.fit` returned.
        classes_: The labels of the classes.

    Example:
        >>> from podium.compat import keras
        >>> def make_model(X, y):
        ...     dense = keras.layers.Dense(y.shape[1], activation="softmax")
        ...     model = keras.Sequential([keras.Input(X.shape[1:]), dense])
        ...     model.compile(keras.optimizers.Adam(0.5), "categorical_crossentropy")
        ...     return model
        >>> fit_kwargs = {"epochs": 20, "verbose": 0}
        >>> classifier = keras.wrappers.SKLearnClassifier(make_model, fit_kwargs=fit_kwargs)
        >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array(["a", "a", "b", "b"])
        >>> classifier.fit(X, y).predict([[0.0], [5.0]]).tolist()
        ['a', 'b']
    """

    _several_targets = False

    def _encode_targets(self, y: _NumPyArray) -> _NumPyArray:
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                f"Only binary and multiclass targets are supported; y is of the kind {kind}. "
                f"Unknown label type: {kind}."
            )
        self.classes_, indices = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError(
                "Classifier can't train when only one class is present: y has the label "
                f"{self.classes_[0]!r} alone."
            )
        encoded: _NumPyArray = np.eye(len(self.classes_), dtype="float32")[indices]
        return encoded

    def predict(self, X: Any) -> _NumPyArray:
        """Return the label of the largest output for each sample."""
        outputs = self._raw_outputs(X)
        labels: _NumPyArray = self.classes_[np.argmax(outputs, axis=1)]
        return labels

    def decision_function(self, X: Any) -> _NumPyArray:
        """Return the outputs of the model."""
        return self._raw_outputs(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class SKLearnRegressor(RegressorMixin, _ModelEstimator):
    """A model as a regressor of scikit-learn. See `SKLearnClassifier` for the arguments.

    Args:
        model: A compiled model, or a function that returns one.
        warm_start: Whether to train `model` itself.
        model_kwargs: Arguments of the function.
        fit_kwargs: Arguments of `Model.fit`.

    Example:
        >>> from podium.compat import keras
        >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        >>> model.compile(keras.optimizers.SGD(0.1), "mse")
        >>> regressor = keras.wrappers.SKLearnRegressor(model, fit_kwargs={"verbose": 0})
        >>> regressor.fit([[0.0], [1.0]], [0.0, 1.0], epochs=300).predict([[2.0]]).round(2)
        array([2.], dtype=float32)
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class SKLearnTransformer(TransformerMixin, _ModelEstimator):
    """A model as a transformer of scikit-learn: a step of a pipeline that computes features. See
    `SKLearnClassifier` for the arguments.

    Args:
        model: A compiled model, or a function that returns one.
        warm_start: Whether to train `model` itself.
        model_kwargs: Arguments of the function.
        fit_kwargs: Arguments of `Model.fit`.

    Example:
        >>> from podium.compat import keras
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
        >>> model.compile("sgd", "mse")
        >>> transformer = keras.wrappers.SKLearnTransformer(model, fit_kwargs={"verbose": 0})
        >>> transformer.fit(np.ones((4, 2)), np.ones((4, 3))).transform(np.ones((5, 2))).shape
        (5, 3)
    """

    def transform(self, X: Any) -> _NumPyArray:
        """Return the outputs of the model for samples."""
        return self._raw_outputs(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
