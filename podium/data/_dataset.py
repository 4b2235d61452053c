"""Dataset: a description of how to make elements, with the methods of tf.data. It runs on the host,
when it is iterated.

This file owns the public methods; the implementation is in `pipelines`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Iterator as BaseIterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from podium._typing import DTypeLike, Tree
from podium.core.internal import PublicRepr, check_int
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
    ConcatenatePipeline,
    RepeatPipeline,
    ShardPipeline,
    SkipPipeline,
    TakePipeline,
    range_pipeline,
    zip_pipelines,
)

AUTOTUNE = -1
_DEFAULT_CYCLE_LENGTH = 4  # of `interleave`; the same on every machine


class Cardinality(int):
    """A number of elements: an int that also has `.numpy()`, for scripts written for tf.data."""

    def numpy(self) -> np.int64:
        """Return the number as an `np.int64`."""
        return np.int64(self)


class Options(PublicRepr):
    """Options of a Dataset, kept for scripts that set them. They do not change what is computed.

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
    """Elements that are read one after the other, and can be iterated repeatedly.

    Every method returns a new Dataset. Elements are arrays, or tuples and dictionaries of them.
    Functions passed to `map`, `filter` and similar methods receive Tensors (text as Python
    strings); the parts of a tuple become separate arguments. Float64 becomes float32, int64 becomes
    int32.

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
    def from_tensors(tensors: Tree, name: str | None = None) -> Dataset:
        """Return a Dataset of one element: the structure `tensors`."""
        return Dataset(SingleElementPipeline(freeze_element(tensors, "tensors")))

    @staticmethod
    def from_tensor_slices(tensors: Tree, name: str | None = None) -> Dataset:
        """Return a Dataset of the rows of arrays, which must all have the same length. The arrays
        are copied.
        """
        return Dataset(SlicesPipeline(as_table(tensors)))

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]],
        output_types: Tree = None,
        output_shapes: Tree = None,
        args: tuple[Any, ...] | None = None,
        output_signature: Tree = None,
        name: str | None = None,
    ) -> Dataset:
        """Return a Dataset of what a generator function yields.

        The function is called again for each iteration.

        Args:
            generator: A function that returns an iterator; not the iterator itself.
            output_types: A structure of dtypes that elements are converted to.
            output_shapes: A structure of shapes to compare elements with; None for any length.
            args: Arguments for `generator`, passed to it as NumPy values.
            output_signature: A structure of `TensorSpec`s, instead of types and shapes. By default
                elements are not checked.
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
    def range(*args: int, output_type: DTypeLike | None = None, name: str | None = None) -> Dataset:
        """Return a Dataset of integers: `range(stop)`, `range(start, stop)` or `range(start,
        stop, step)`.
        """
        numbers = range(*(int(value) for value in args))
        dataset = Dataset(range_pipeline(numbers.start, numbers.stop, numbers.step))
        return (
            dataset
            if output_type is None
            else dataset.map(lambda n: np.asarray(n).astype(np.dtype(output_type)))
        )

    @staticmethod
    def zip(*args: Tree, datasets: Tree = None, name: str | None = None) -> Dataset:
        """Combine the elements of several Datasets: `zip((a, b))`, `zip(a, b)`, `zip({"x": a, "y":
        b})`. Ends with the shortest.
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
        return Dataset(zip_pipelines(map_leaves(lambda dataset: dataset.pipeline, structure)))

    # --- functions on elements

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the results of a function for every element, in order.

        Args:
            map_func: Receives an element's Tensors; returns Tensors, arrays, numbers, or tuples and
                dictionaries of them.
            num_parallel_calls: Accepted for tf.data's signature; calls are made one after the
                other.
            deterministic: Accepted for tf.data's signature; the order is always kept.
            name: Accepted for tf.data's signature.
        """
        return self._with_pipeline(
            MapPipeline(self.pipeline, _check_function("map_func", map_func))
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements for which `predicate` returns True."""
        return self._with_pipeline(
            FilterPipeline(self.pipeline, _check_function("predicate", predicate))
        )

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Make a Dataset of each element, and return their elements one Dataset after the other."""
        return self._with_pipeline(
            InterleavePipeline(self.pipeline, _check_function("map_func", map_func))
        )

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a Dataset of each element and interleave them.

        Args:
            map_func: Receives an element's Tensors; returns a Dataset.
            cycle_length: How many Datasets are open at once, 4 by default.
            block_length: How many elements each returns in turn, 1 by default.
            num_parallel_calls: Accepted for tf.data's signature.
            deterministic: Accepted for tf.data's signature; the order is always kept.
            name: Accepted for tf.data's signature.
        """
        cycle = (
            _DEFAULT_CYCLE_LENGTH
            if cycle_length in (None, AUTOTUNE)
            else check_int("cycle_length", cycle_length, integral_floats=True)
        )
        block = (
            1
            if block_length is None
            else check_int("block_length", block_length, integral_floats=True)
        )
        return self._with_pipeline(
            InterleavePipeline(self.pipeline, _check_function("map_func", map_func), cycle, block)
        )

    def reduce(
        self, initial_state: Tree, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Tree:
        """Combine all elements: `state = reduce_func(state, element)`, starting with
        `initial_state`. Returns Tensors.
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
        """Shuffle the elements: each is drawn at random from a buffer of the next `buffer_size`.

        Args:
            buffer_size: As large as the data for a perfect shuffle.
            seed: An int for the same orders in every run. By default
                `podium.utils.set_random_seed` determines them.
            reshuffle_each_iteration: Whether each iteration has a new order.
            name: Accepted for tf.data's signature.
        """
        size = check_int("buffer_size", buffer_size, integral_floats=True)
        seed = None if seed is None else int(seed)
        return self._with_pipeline(
            ShufflePipeline(self.pipeline, size, seed, reshuffle_each_iteration is not False)
        )

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """Repeat the elements `count` times; infinitely often if it is None or -1."""
        return self._with_pipeline(
            RepeatPipeline(
                self.pipeline,
                -1 if count is None else check_int("count", count, -1, integral_floats=True),
            )
        )

    def take(self, count: int, name: str | None = None) -> Dataset:
        """Keep the first `count` elements; all of them for -1."""
        return self._with_pipeline(
            TakePipeline(self.pipeline, check_int("count", count, -1, integral_floats=True))
        )

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """Skip the first `count` elements; all of them for -1."""
        return self._with_pipeline(
            SkipPipeline(self.pipeline, check_int("count", count, -1, integral_floats=True))
        )

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Keep every `num_shards`-th element, starting with the one at `index`."""
        count, index = (
            check_int("num_shards", num_shards, integral_floats=True),
            check_int("index", index, 0, integral_floats=True),
        )
        if index >= count:
            raise ValueError(f"index={index} was given; it must be less than num_shards={count}.")
        return self._with_pipeline(ShardPipeline(self.pipeline, count, index))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Return the elements of this Dataset, then those of another."""
        return self._with_pipeline(ConcatenatePipeline(self.pipeline, dataset.pipeline))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Number the elements: `(start, element)`, `(start + 1, element)`, ..."""
        size = self.pipeline.size()
        numbers = range_pipeline(int(start), int(start) + size if size >= 0 else None)
        return self._with_pipeline(zip_pipelines((numbers, self.pipeline)))

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
        return self._with_pipeline(
            BatchPipeline(
                self.pipeline,
                check_int("batch_size", batch_size, integral_floats=True),
                bool(drop_remainder),
            )
        )

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Tree = None,
        padding_values: Tree = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Stack elements of unequal shapes, padded with `padding_values` (0).

        Args:
            batch_size: The number of elements in a batch.
            padded_shapes: A shape for each part of an element; None or -1 for the longest in the
                batch, the default.
            padding_values: The value to pad with: one value, or one for each part.
            drop_remainder: Whether to leave out a last, shorter batch.
            name: Accepted for tf.data's signature.
        """
        size = check_int("batch_size", batch_size, integral_floats=True)
        return self._with_pipeline(
            PaddedBatchPipeline(
                self.pipeline, size, padded_shapes, padding_values, bool(drop_remainder)
            )
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """Return the rows of the batches one by one."""
        return self._with_pipeline(UnbatchPipeline(self.pipeline))

    # --- running it

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Cache the elements of the first complete iteration for all later ones; in memory, also if
        `filename` is given.
        """
        return self._with_pipeline(CachePipeline(self.pipeline))

    def prefetch(self, buffer_size: int, name: str | None = None) -> Dataset:
        """Return the same elements. Accepted for tf.data's signature."""
        return self._with_pipeline(self.pipeline)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Return `transformation_func(self)`, so that your functions fit into a chain of calls."""
        return transformation_func(self)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Return the Dataset with options."""
        return Dataset(self.pipeline, options)

    def options(self) -> Options:
        """Return the options."""
        return self._options or Options()

    def cardinality(self) -> Cardinality:
        """Return the number of elements, `INFINITE_CARDINALITY` (-1) or `UNKNOWN_CARDINALITY`
        (-2).
        """
        return Cardinality(self.pipeline.size())

    @property
    def element_spec(self) -> Tree:
        """The structure of `TensorSpec`s of the elements. After `map` it is determined by calling
        the function with a sample.
        """
        return self.pipeline.spec()

    def as_numpy_iterator(self) -> BaseIterator[Tree]:
        """Iterate over the elements as NumPy arrays, which are copies."""
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

    def _with_pipeline(self, pipeline: Pipeline) -> Dataset:
        return Dataset(pipeline, self._options)


def _check_function(argument: str, value: Callable[..., Any]) -> Callable[..., Any]:
    if not callable(value):
        raise TypeError(f"{argument}={value!r} was given; a function of an element was expected.")
    return value
