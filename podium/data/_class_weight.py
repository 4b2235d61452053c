"""ClassWeight: turns one weight per class into one weight per sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import floatx
from podium.data._packing import unpack_x_y_sample_weight
from podium.data._structure import map_leaves, rebuild_sequence
from podium.data.columns._column import Column, Index


class ClassWeight:
    """Weights of classes, for one output or for several.

    Args:
        class_weight: `{class: weight}`, or `{output name: {class: weight}}` for targets that are a
            dictionary (or a list in the order of `output_names`).
        output_names: The names of the outputs, in order.
    """

    def __init__(self, class_weight: Mapping[Any, Any], output_names: list[str] | None = None):
        if not isinstance(class_weight, Mapping):
            raise TypeError(
                f"class_weight={class_weight!r} was given ({type(class_weight).__name__}); a "
                "dictionary such as {0: 1.0, 1: 5.0} was expected."
            )
        self._output_names = output_names
        self._by_output = all(isinstance(value, Mapping) for value in class_weight.values())
        self._tables: Any = (
            {
                name: _check_weights(value, f"class_weight[{name!r}]")
                for name, value in class_weight.items()
            }
            if self._by_output
            else _check_weights(class_weight, "class_weight")
        )

    def add_to(self, batch: Tree) -> tuple[Tree, Tree, Tree]:
        """Return a batch `(x, y)` as `(x, y, sample_weight)`."""
        x, y, sample_weight = unpack_x_y_sample_weight(batch)
        if sample_weight is not None:
            raise ValueError(
                "class_weight and sample_weight were both given: the batches hold a sample_weight "
                "already. Multiply the class weights into it, and leave out class_weight."
            )
        if y is None:
            raise ValueError(
                "class_weight was given, but the batches hold no targets y. Give tuples `(x, y)`."
            )
        return x, y, self.sample_weight_for(y)

    def sample_weight_for(self, y: Tree) -> Tree:
        """Return the sample weights for targets."""
        if not self._by_output:
            if isinstance(y, (dict, list, tuple)):
                raise ValueError(
                    "class_weight is a dictionary of classes, but y has several parts. Name the "
                    "outputs: `class_weight={'output': {0: 1.0, 1: 5.0}}`."
                )
            return _look_up_weights(y, self._tables, "class_weight", "y")
        if isinstance(y, (list, tuple)):
            if self._output_names is None or len(self._output_names) != len(y):
                raise ValueError(
                    f"class_weight names the outputs {list(self._tables)}, but y is a "
                    f"{type(y).__name__} without names. Give y "
                    "as a dictionary by output name."
                )
            return rebuild_sequence(
                y,
                list(
                    self._weights_by_output(dict(zip(self._output_names, y, strict=True))).values()
                ),
            )
        if not isinstance(y, dict):
            return self._weights_by_output({next(iter(self._tables)): y}).popitem()[1]
        return self._weights_by_output(y)

    def _weights_by_output(self, y: dict[Any, Any]) -> dict[Any, Any]:
        unknown = [name for name in self._tables if name not in y]
        if unknown:
            raise ValueError(
                f"class_weight names the outputs {unknown}, which y does not have; it has "
                f"{list(y)}."
            )
        return {
            name: _look_up_weights(
                part, self._tables[name], f"class_weight[{name!r}]", f"y[{name!r}]"
            )
            if name in self._tables
            else map_leaves(lambda array: np.ones(array.shape[0], floatx()), part)
            for name, part in y.items()
        }


def _check_weights(weights: Mapping[Any, Any], name: str) -> dict[int, float]:
    """Return weights by class as numbers, or raise an error."""
    table = {}
    for key, value in weights.items():
        if not isinstance(key, (int, float, np.integer, np.floating)) or int(key) != key:
            raise ValueError(
                f"{name} has the key {key!r} ({type(key).__name__}); class indices such as 0, of "
                "type int, were expected. Convert the keys: `{int(key): weight for key, weight in "
                f"{name}.items()}}`."
            )
        if (
            not isinstance(value, (int, float, np.integer, np.floating))
            or not np.isfinite(value)
            or value < 0
        ):
            raise ValueError(
                f"{name}[{key!r}]={value!r} was given; a finite weight of at least 0 was expected."
            )
        table[int(key)] = float(value)
    return table


class ClassWeightColumn(Column):
    """The sample weights for targets that are read batch by batch, without reading them in
    advance.
    """

    fresh = True

    def __init__(self, labels: Column, table: dict[int, float], name: str, target: str):
        super().__init__(
            "sample_weight", labels.shape[:-1] if labels.ndim > 1 else labels.shape, floatx()
        )
        self._labels = labels
        self._arguments = table, name, target

    def read(self, index: Index) -> NDArray[Any]:
        """Return the weights of rows."""
        return _weights_of_labels(self._labels.read(index), *self._arguments)


def _look_up_weights(
    y: object, table: dict[int, float], name: str, target: str
) -> NDArray[Any] | Column:
    """Return the weight of every label; labels in a Column are read batch by batch."""
    if isinstance(y, Column):
        return ClassWeightColumn(y, table, name, target)
    return _weights_of_labels(np.asarray(y), table, name, target)


def _weights_of_labels(
    labels: NDArray[Any], table: dict[int, float], name: str, target: str
) -> NDArray[Any]:
    """Return the weight of every label: class indices of shape (n,) or (n, 1), or one-hot rows."""
    if labels.ndim > 1 and labels.shape[-1] != 1:
        if (labels < 0).any() or not np.allclose(labels.sum(axis=-1), 1, atol=1e-3):
            raise ValueError(
                f"{name} needs classes, but `{target}` of shape {labels.shape} holds neither class "
                "numbers nor one-hot rows (rows that sum to 1). Give sample_weight instead."
            )
        classes = labels.argmax(axis=-1)
    else:
        classes = np.round(labels[..., 0] if labels.ndim > 1 else labels).astype(np.int64)
        if not np.array_equal(classes, labels.reshape(classes.shape)):
            raise ValueError(
                f"{name} needs classes, but `{target}` holds numbers that are not integers. Give "
                "sample_weight instead."
            )
    distinct, indices = np.unique(classes, return_inverse=True)
    missing = [number for number in distinct.tolist() if number not in table]
    if missing:
        raise ValueError(
            f"{name} has no weight for the classes {missing[:10]}, which `{target}` holds; it has "
            f"weights for {sorted(table)}. Give every class a weight; 1.0 changes nothing."
        )
    weights = np.array([table[number] for number in distinct.tolist()], floatx())
    return weights[indices.reshape(classes.shape)]
