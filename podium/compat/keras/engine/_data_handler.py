"""DataHandler with Keras 2's arguments, and the iterator of `train_on_batch`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium import data
from podium._typing import Tree
from podium.core import tree_leaves
from podium.data import Iterator, StepsPerExecution
from podium.distribute.coordinator import ClusterCoordinator

_DEFAULTS = {"max_queue_size": 10, "workers": 1, "use_multiprocessing": False}


class DataHandler(data.DataHandler):
    """`podium.data.DataHandler` with the arguments of Keras 2.

    Args:
        x: See `podium.data.DataHandler`, as for the other arguments that are not named here.
        y: Targets.
        sample_weight: Weights of samples.
        batch_size: Samples per batch.
        steps_per_epoch: Batches per epoch.
        initial_epoch: The index of the first epoch.
        epochs: The index of the epoch before which to stop.
        shuffle: Whether to shuffle arrays.
        class_weight: `{class: weight}`.
        max_queue_size: For a PyDataset: how many batches may wait. The default of this and of the
            next two is the PyDataset's own.
        workers: For a PyDataset: the number of workers.
        use_multiprocessing: For a PyDataset: whether the workers are processes.
        model: Not needed: batches are split by the strategy that runs the step.
        steps_per_execution: A StepsPerExecution, or an int.

    Example:
        >>> from podium.compat.keras.engine import data_adapter
        >>> handler = data_adapter.DataHandler(np.ones((70, 2)), workers=1, model=None)
        >>> handler.inferred_steps
        3
    """

    def __init__(
        self,
        x: Tree,
        y: Tree = None,
        sample_weight: Tree = None,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        initial_epoch: int = 0,
        epochs: int = 1,
        shuffle: bool | str = False,
        class_weight: Mapping[Any, Any] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        model: object = None,
        steps_per_execution: StepsPerExecution | int | None = None,
    ):
        given = {
            "max_queue_size": max_queue_size,
            "workers": workers,
            "use_multiprocessing": use_multiprocessing,
        }
        super().__init__(
            x,
            y,
            sample_weight,
            batch_size,
            steps_per_epoch,
            initial_epoch,
            epochs,
            shuffle,
            class_weight,
            steps_per_execution,
            workers={name: value for name, value in given.items() if value != _DEFAULTS[name]},
        )

    def sync(self) -> None:
        """Do nothing: steps of this process wait for each other themselves."""

    def resolve_logs(self, logs: Tree) -> Tree:
        """Return the logs as they are."""
        return logs


class ClusterCoordinatorDataHandler(DataHandler):
    """The DataHandler of a model with a cluster coordinator: this process reads the batches, and
    `schedule` sends them.

    Args:
        coordinator: The coordinator of the model's strategy.
        *args: See `DataHandler`.
        **kwargs: See `DataHandler`.

    Example:
        >>> from podium.compat.keras.engine import data_adapter
        >>> issubclass(data_adapter._ClusterCoordinatorDataHandler, data_adapter.DataHandler)
        True
    """

    def __init__(self, coordinator: ClusterCoordinator, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._coordinator = coordinator

    def sync(self) -> None:
        """Wait until all scheduled steps have ended."""
        self._coordinator.join()

    def resolve_logs(self, logs: Tree) -> Tree:
        """Wait for the results of scheduled steps, and return their values."""
        return self._coordinator.fetch(logs)


def get_data_handler(*args: Any, **kwargs: Any) -> DataHandler:
    """Return the DataHandler for a model: that of a cluster coordinator if the model has one.

    Args:
        *args: See `DataHandler`.
        **kwargs: See `DataHandler`.

    Example:
        >>> from podium.compat.keras.engine import data_adapter
        >>> data_adapter.get_data_handler(np.ones((70, 2))).inferred_steps
        3
    """
    coordinator = getattr(kwargs.get("model"), "_cluster_coordinator", None)
    if coordinator is not None:
        return ClusterCoordinatorDataHandler(coordinator, *args, **kwargs)
    return DataHandler(*args, **kwargs)


def single_batch_iterator(
    strategy: object,
    x: Tree,
    y: Tree = None,
    sample_weight: Tree = None,
    class_weight: Mapping[Any, Any] | None = None,
) -> Iterator:
    """Return an iterator over one batch, as `train_on_batch` reads it: always a tuple, `(x,)`,
    `(x, y)` or `(x, y, sample_weight)`.

    Args:
        strategy: Not needed: the batch is split by the strategy that runs the step.
        x: Arrays.
        y: Targets.
        sample_weight: Weights of samples.
        class_weight: `{class: weight}`.

    Example:
        >>> from podium.compat.keras.engine import data_adapter
        >>> next(data_adapter.single_batch_iterator(None, np.ones((70, 2))))[0].shape
        (70, 2)
    """
    rows = max(len(leaf) for leaf in tree_leaves(x))
    handler = data.DataHandler(x, y, sample_weight, batch_size=rows, class_weight=class_weight)
    _, iterator = next(handler.enumerate_epochs())
    batch = iterator.next_arrays()
    return Iterator([batch if isinstance(batch, tuple) else (batch,)])
