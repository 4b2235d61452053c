"""TensorFlowAdapter: batches of a `tf.data.Dataset`.

TensorFlow is never imported here: if a source is one of its objects, the user has imported it.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium._typing import Tree
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._structure import PART_NAMES, named_leaves
from podium.data.adapters._adapter import DataAdapter, Position
from podium.data.columns._foreign_types import ForeignObject, is_instance_of
from podium.data.pipelines._pipeline import INFINITE_CARDINALITY

_MAKE_DENSE = {
    "RaggedTensorSpec": "Make rows of one length: `.map(lambda x, y: (x.to_tensor(), y))`, or "
    "batch with `.padded_batch(32)`.",
    "SparseTensorSpec": "Make them dense: `.map(lambda x, y: (tf.sparse.to_dense(x), y))`.",
    "IndexedSlicesSpec": "Make them dense: `.map(lambda x, y: (tf.convert_to_tensor(x), y))`.",
    "DatasetSpec": "Its elements are datasets, such as `.window` makes: flatten them with "
    "`.flat_map`.",
}
_DISTRIBUTED = ("DistributedDataset", "DistributedDatasetsFromFunction")


class TensorFlowAdapter(DataAdapter):
    """Batches of a `tf.data.Dataset`. Its tensors are immutable, so they become NumPy arrays that
    share their memory.

    It shuffles by itself, and cannot start in the middle of an epoch.
    """

    kind = "tf.data.Dataset"

    def __init__(
        self,
        source: ForeignObject,
        *,
        steps: int | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, steps=steps, names=names)
        if is_instance_of(source, "tensorflow", *_DISTRIBUTED):
            raise TypeError(
                f"`{names.x}` is a {type(source).__name__}, which TensorFlow distributes over its "
                "own devices. Give the `tf.data.Dataset` that it was made from: Podium distributes "
                "the batches itself."
            )
        _check_components(source.element_spec, names)
        self._cardinality = int(source.cardinality().numpy())
        if steps is None and self._cardinality == INFINITE_CARDINALITY:
            self.steps = names.steps_for_infinite(
                f"`{names.x}` is an infinite tf.data.Dataset; {names.steps} was not given. Say how "
                f"many batches make an epoch: `{names.steps}=100`, or leave out `repeat()`."
            )

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is TensorFlow's."""
        return is_instance_of(x, "tensorflow", "DatasetV2", *_DISTRIBUTED)

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Start a new iteration."""
        return iter(self.source)

    def get_size(self) -> int | None:
        """Return the number of batches, or None if it is unknown or infinite."""
        return self._cardinality if self._cardinality >= 0 else None


def _check_components(spec: Tree, names: ArgumentNames) -> None:
    """Raise an error for components that are not dense tensors of numbers, before one is read."""
    parts = (
        dict(zip(PART_NAMES, spec, strict=False))
        if isinstance(spec, tuple) and len(spec) <= 3
        else {"x": spec}
    )
    for part, structure in parts.items():
        for name, leaf in named_leaves(structure, part):
            kind = type(leaf).__name__
            component = f"The component `{name}` of the tf.data.Dataset `{names.x}`"
            if getattr(getattr(leaf, "dtype", None), "name", "") == "string":
                raise TypeError(
                    f"{component} holds strings ({kind}); numbers or booleans were expected. "
                    "Convert them to numbers in a `.map`, for example with "
                    "`tf.strings.to_hash_bucket_fast`, or leave the component out."
                )
            if kind in _MAKE_DENSE:
                raise TypeError(
                    f"{component} is of {kind}; dense tensors were expected. {_MAKE_DENSE[kind]}"
                )
