"""Dataset: a recipe for elements, in the words of tf.data. It runs on the host and nothing happens
until it is walked.

This file owns the public words; what is behind them is in `pipelines`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from podium.core.internal import check_int
from podium.data._iterator import Iterator
from podium.data._structure import leaves, map_leaves
from podium.data.pipelines._batching import BatchPipeline, PaddedBatchPipeline, UnbatchPipeline
from podium.data.pipelines._mapping import (
    FilterPipeline,
    InterleavePipeline,
    MapPipeline,
    as_tensors,
)
from podium.data.pipelines._pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Pipeline
from podium.data.pipelines._shuffling import ShufflePipeline
from podium.data.pipelines._sources import (
    GeneratorPipeline,
    SingleElementPipeline,
    SlicesPipeline,
    as_signature,
    as_table,
    freeze_element,
)
from podium.data.pipelines._transforms import (
    CachePipeline,
    Chained,
    RepeatPipeline,
    ShardPipeline,
    SkipPipeline,
    TakePipeline,
    counted,
    zipped,
)

AUTOTUNE = -1
_OPEN_AT_ONCE = (
    4  # datasets that `interleave` opens together when nobody says; the same on every machine
)


class Cardinality(int):
    """A number of elements: an int that also answers `.numpy()`, as scripts written for tf.data
    ask.
    """

    def numpy(self) -> np.int64:
        """Return the number as NumPy's int64."""
        return np.int64(self)


class Options:
    """Settings of a Dataset, kept for scripts that set them. They do not change what is computed.

    Example:
        >>> options = podium.data.Options()
        >>> options.deterministic = True
        >>> podium.data.Dataset.range(3).with_options(options).options().deterministic
        True
    """

    def __init__(self) -> None:
        self.deterministic: bool | None = None
        self.autotune = SimpleNamespace()
        self.threading = SimpleNamespace()
        self.experimental_distribute = SimpleNamespace()
        self.experimental_optimization = SimpleNamespace()
        self.experimental_threading = SimpleNamespace()


class Dataset:
    """Elements that are read one after the other, as often as one likes.

    Every method returns a new Dataset. Elements are arrays, or tuples and dictionaries of them.
    Functions given to `map`, `filter` and the like receive Tensors (text as Python strings); a
    tuple's parts become arguments of their own. Float64 becomes float32, int64 becomes int32.

    Example:
        >>> x, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
        >>> dataset = podium.data.Dataset.from_tensor_slices((x, y)).batch(2)
        >>> for features, labels in dataset:
        ...     print(features.shape, labels.numpy())
        (2, 2) [0 1]
        (1, 2) [0]
        >>> dataset.element_spec
        (TensorSpec(shape=(None, 2), dtype=float32), TensorSpec(shape=(None,), dtype=int32))
    """

    def __init__(self, pipeline: Pipeline, options: Options | None = None):
        if not isinstance(pipeline, Pipeline):
            raise TypeError(
                "Make a Dataset with `Dataset.from_tensor_slices`, `from_tensors`, "
                "`from_generator` or `range`."
            )
        self.pipeline = pipeline
        self._options = options

    # --- sources

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Return a Dataset of one element: the given structure."""
        return Dataset(SingleElementPipeline(freeze_element(tensors, "tensors")))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Return a Dataset of the rows of arrays, which must all have the same length. The arrays
        are copied.
        """
        return Dataset(SlicesPipeline(as_table(tensors)))

    @staticmethod
    def from_generator(
        generator: Callable,
        output_types: Any = None,
        output_shapes: Any = None,
        args: tuple | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Return a Dataset of what a generator function yields; it is called anew for each pass.

        Args:
            generator: A function that returns an iterator; not the iterator itself.
            output_types: A structure of dtypes that elements are converted to.
            output_shapes: A structure of shapes to compare elements with; None for any length.
            args: Arguments for `generator`, given to it as NumPy values.
            output_signature: A structure of `TensorSpec`s, instead of the two before. By default
                elements are taken as they come.
            name: Accepted for tf.data's signature.
        """
        if not callable(generator):
            raise TypeError(
                f"generator is a {type(generator).__name__}; a function that makes one was "
                "expected, so that the data can be read again: "
                "`Dataset.from_generator(make_batches)` instead of "
                "`Dataset.from_generator(make_batches())`."
            )
        values = tuple(freeze_element(value, "args") for value in args or ())
        signature = as_signature(output_types, output_shapes, output_signature)
        return Dataset(GeneratorPipeline(lambda: generator(*values), signature))

    @staticmethod
    def range(*args: int, output_type: Any = None, name: str | None = None) -> Dataset:
        """Return a Dataset of whole numbers: `range(stop)`, `range(start, stop)` or `range(start,
        stop, step)`.
        """
        numbers = range(*(int(value) for value in args))
        dataset = Dataset(counted(numbers.start, numbers.stop, numbers.step))
        return (
            dataset
            if output_type is None
            else dataset.map(lambda n: np.asarray(n).astype(np.dtype(output_type)))
        )

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Put Datasets side by side: `zip((a, b))`, `zip(a, b)`, `zip({"x": a, "y": b})`. Ends with
        the shortest.
        """
        structure = datasets if not args else args[0] if len(args) == 1 else args
        for part in leaves(structure):
            if not isinstance(part, Dataset):
                raise TypeError(
                    f"zip was given {type(part).__name__}; Datasets, or tuples and dictionaries "
                    "of them, were expected."
                )
        if not leaves(structure):
            raise ValueError("zip was given no Dataset.")
        return Dataset(zipped(map_leaves(lambda dataset: dataset.pipeline, structure)))

    # --- functions on elements

    def map(
        self,
        map_func: Callable,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the results of a function for every element, in order.

        Args:
            map_func: Gets an element's Tensors; returns Tensors, arrays, numbers, or tuples and
                dictionaries of them.
            num_parallel_calls: Accepted for tf.data's signature; calls are made one after the
                other.
            deterministic: Accepted for tf.data's signature; the order is always kept.
            name: Accepted for tf.data's signature.
        """
        return self._then(MapPipeline(self.pipeline, _checked_function("map_func", map_func)))

    def filter(self, predicate: Callable, name: str | None = None) -> Dataset:
        """Keep the elements for which `predicate` returns True."""
        return self._then(FilterPipeline(self.pipeline, _checked_function("predicate", predicate)))

    def flat_map(self, map_func: Callable, name: str | None = None) -> Dataset:
        """Make a Dataset of each element, and give their elements one Dataset after the other."""
        return self._then(
            InterleavePipeline(self.pipeline, _checked_function("map_func", map_func))
        )

    def interleave(
        self,
        map_func: Callable,
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a Dataset of each element and mix them: `cycle_length` (4) are open and give
        `block_length` (1) in turn.
        """
        cycle = (
            _OPEN_AT_ONCE
            if cycle_length in (None, AUTOTUNE)
            else check_int("cycle_length", cycle_length, integral_floats=True)
        )
        block = (
            1
            if block_length is None
            else check_int("block_length", block_length, integral_floats=True)
        )
        return self._then(
            InterleavePipeline(self.pipeline, _checked_function("map_func", map_func), cycle, block)
        )

    def reduce(self, initial_state: Any, reduce_func: Callable, name: str | None = None) -> Any:
        """Combine all elements: `state = reduce_func(state, element)`, from `initial_state` on.
        Returns Tensors.
        """
        state = as_tensors(freeze_element(initial_state, "initial_state"))
        for element in self.pipeline.elements():
            state = as_tensors(freeze_element(reduce_func(state, as_tensors(element)), "state"))
        return state

    # --- order and number

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Mix the elements: each is drawn at random from a buffer of the next `buffer_size`.

        Args:
            buffer_size: As large as the data for a perfect shuffle.
            seed: A whole number for the same orders in every run. By default
                `podium.utils.set_random_seed` decides.
            reshuffle_each_iteration: Whether each pass has an order of its own.
            name: Accepted for tf.data's signature.
        """
        size = check_int("buffer_size", buffer_size, integral_floats=True)
        seed = None if seed is None else int(seed)
        return self._then(
            ShufflePipeline(self.pipeline, size, seed, reshuffle_each_iteration is not False)
        )

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """Give the elements `count` times; for ever if it is None or -1."""
        return self._then(
            RepeatPipeline(
                self.pipeline,
                -1 if count is None else check_int("count", count, -1, integral_floats=True),
            )
        )

    def take(self, count: int, name: str | None = None) -> Dataset:
        """Keep the first `count` elements; all of them for -1."""
        return self._then(
            TakePipeline(self.pipeline, check_int("count", count, -1, integral_floats=True))
        )

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """Leave out the first `count` elements; all of them for -1."""
        return self._then(
            SkipPipeline(self.pipeline, check_int("count", count, -1, integral_floats=True))
        )

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Keep every `num_shards`-th element, from number `index` on."""
        count, index = (
            check_int("num_shards", num_shards, integral_floats=True),
            check_int("index", index, 0, integral_floats=True),
        )
        if index >= count:
            raise ValueError(f"index={index} was given; it must be less than num_shards={count}.")
        return self._then(ShardPipeline(self.pipeline, count, index))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Give the elements of this Dataset, then those of another."""
        return self._then(Chained(self.pipeline, dataset.pipeline))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Number the elements: `(start, element)`, `(start + 1, element)`, ..."""
        size = self.pipeline.size()
        numbers = counted(int(start), int(start) + size if size >= 0 else None)
        return self._then(zipped((numbers, self.pipeline)))

    # --- batches

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements in groups of `batch_size`. A last, shorter group is kept unless
        `drop_remainder` is True.
        """
        return self._then(
            BatchPipeline(
                self.pipeline,
                check_int("batch_size", batch_size, integral_floats=True),
                bool(drop_remainder),
            )
        )

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements of unequal shapes, filled up with `padding_values` (0).

        Args:
            batch_size: How many elements make a batch.
            padded_shapes: A shape for each part of an element; None or -1 for the longest in the
                batch, the default.
            padding_values: What to fill with: one value, or one for each part.
            drop_remainder: Whether to leave out a last, shorter batch.
            name: Accepted for tf.data's signature.
        """
        size = check_int("batch_size", batch_size, integral_floats=True)
        return self._then(
            PaddedBatchPipeline(
                self.pipeline, size, padded_shapes, padding_values, bool(drop_remainder)
            )
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """Take batches apart: give their rows one by one."""
        return self._then(UnbatchPipeline(self.pipeline))

    # --- running it

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Keep the elements of the first complete pass in memory (also if a file is named) for all
        later passes.
        """
        return self._then(CachePipeline(self.pipeline))

    def prefetch(self, buffer_size: int, name: str | None = None) -> Dataset:
        """Accepted for tf.data's sake: returns the same elements."""
        return self._then(self.pipeline)

    def apply(self, transformation_func: Callable) -> Dataset:
        """Return `transformation_func(self)`, so that own functions fit into a chain of calls."""
        return transformation_func(self)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Attach settings."""
        return Dataset(self.pipeline, options)

    def options(self) -> Options:
        """Return the settings that were attached."""
        return self._options or Options()

    def cardinality(self) -> Cardinality:
        """Return the number of elements, `INFINITE_CARDINALITY` (-1) or `UNKNOWN_CARDINALITY`
        (-2).
        """
        return Cardinality(self.pipeline.size())

    @property
    def element_spec(self) -> Any:
        """The structure of `TensorSpec`s of the elements. After `map` it is found by running the
        function on a sample.
        """
        return self.pipeline.spec()

    def as_numpy_iterator(self) -> Any:
        """Walk the elements as NumPy arrays, which are copies."""
        for element in self.pipeline.elements():
            yield map_leaves(
                lambda leaf: np.array(leaf) if isinstance(leaf, np.ndarray) else leaf, element
            )

    def __iter__(self) -> Iterator:
        return Iterator(self)

    def __len__(self) -> int:
        size = self.pipeline.size()
        if size == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite: it has no length. `take(n)` makes it finite.")
        if size == UNKNOWN_CARDINALITY:
            raise TypeError(
                "The length of the dataset is not known before it has been read: `sum(1 for _ "
                "in dataset)` counts."
            )
        return size

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        size = self.pipeline.size()
        count = {
            INFINITE_CARDINALITY: "infinitely many",
            UNKNOWN_CARDINALITY: "an unknown number of",
        }.get(size, size)
        return f"<podium.data.Dataset of {count} elements>"

    def _then(self, pipeline: Pipeline) -> Dataset:
        return Dataset(pipeline, self._options)


def _checked_function(argument: str, given: Any) -> Callable:
    if not callable(given):
        raise TypeError(f"{argument}={given!r} was given; a function of an element was expected.")
    return given
