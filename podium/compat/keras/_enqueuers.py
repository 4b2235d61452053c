"""Enqueuers: batches that threads make ahead of time, for loops that are written by hand."""

from __future__ import annotations

import collections
import queue
import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from podium._typing import Tree
from podium.core import warn_user
from podium.core.internal import PublicRepr


class SequenceEnqueuer(PublicRepr):
    """Base class of the enqueuers; use `OrderedEnqueuer` or `GeneratorEnqueuer`.

    Args:
        sequence: Where batches come from.
        use_multiprocessing: Accepted, with a warning: the workers are threads. `fit` has worker
            processes.

    Example:
        >>> from podium.compat import keras
        >>> issubclass(keras.utils.OrderedEnqueuer, keras.utils.SequenceEnqueuer)
        True
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False):
        if use_multiprocessing:
            warn_user(
                f"{type(self).__name__} was given use_multiprocessing=True: its workers are "
                "threads. For processes, pass a PyDataset with use_multiprocessing=True to `fit`."
            )
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self.workers = 0
        self.queue: queue.Queue[Future[Tree]] = queue.Queue()
        self.stop_signal = threading.Event()
        self.run_thread: threading.Thread | None = None

    def is_running(self) -> bool:
        """Return whether batches are being made."""
        return self.run_thread is not None and not self.stop_signal.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Begin to make batches.

        Args:
            workers: The number of threads.
            max_queue_size: The largest number of batches that are made ahead of time.
        """
        if self.is_running():
            raise RuntimeError(f"This {type(self).__name__} is running. Call `stop` first.")
        self.workers = max(workers, 1)
        self.queue = queue.Queue(max_queue_size)
        self.stop_signal = threading.Event()
        self.run_thread = threading.Thread(target=self._run, daemon=True)
        self.run_thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Stop the threads, and drop the batches that were made ahead of time.

        Args:
            timeout: For how many seconds to wait; None for as long as it takes.
        """
        self.stop_signal.set()
        thread, self.run_thread = self.run_thread, None
        if thread is not None:
            thread.join(timeout)

    def get(self) -> Iterator[Tree]:
        """Return an iterator of batches; those that are None are left out."""
        while self.is_running():
            try:
                batch = self.queue.get(timeout=0.1).result()
            except queue.Empty:
                continue
            except StopIteration:
                self.stop()
                return
            except BaseException:
                self.stop()
                raise
            if batch is not None:
                yield batch

    def _run(self) -> None:
        """Put a Future of each batch into the queue until `stop_signal` is set."""
        raise NotImplementedError(
            "SequenceEnqueuer makes no batches: use OrderedEnqueuer or GeneratorEnqueuer."
        )

    def _put(self, future: Future[Tree]) -> bool:
        """Put a Future into the queue; return False if the enqueuer was stopped."""
        while not self.stop_signal.is_set():
            try:
                self.queue.put(future, timeout=0.1)
                return True
            except queue.Full:
                continue
        future.cancel()
        return False


class OrderedEnqueuer(SequenceEnqueuer):
    """Makes the batches of a PyDataset ahead of time, epoch after epoch, in order.

    Args:
        sequence: The PyDataset.
        use_multiprocessing: Accepted, with a warning: the workers are threads.
        shuffle: Whether to shuffle the batches in each epoch.

    Example:
        >>> from podium.compat import keras
        >>> series = np.arange(5)
        >>> batches = keras.preprocessing.sequence.TimeseriesGenerator(
        ...     series, series, length=2, batch_size=1
        ... )
        >>> enqueuer = keras.utils.OrderedEnqueuer(batches)
        >>> enqueuer.start(workers=2)
        >>> iterator = enqueuer.get()
        >>> [int(next(iterator)[1][0]) for _ in range(4)]
        [2, 3, 4, 2]
        >>> enqueuer.stop()
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False):
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _run(self) -> None:
        order = list(range(len(self.sequence)))
        with ThreadPoolExecutor(self.workers) as executor:
            while not self.stop_signal.is_set():
                if self.shuffle:
                    random.shuffle(order)
                # A batch that was taken is complete, so only those in the queue may not be.
                size = self.queue.maxsize
                futures = collections.deque[Future[Tree]]((), maxlen=size + 2 if size else None)
                for index in order:
                    future = executor.submit(self.sequence.__getitem__, index)
                    futures.append(future)
                    if not self._put(future):
                        return
                for future in futures:  # `on_epoch_end` may change the data
                    future.exception()
                if hasattr(self.sequence, "on_epoch_end"):
                    self.sequence.on_epoch_end()


class GeneratorEnqueuer(SequenceEnqueuer):
    """Takes batches from a generator ahead of time; one thread at a time runs the generator.

    Args:
        generator: The generator.
        use_multiprocessing: Accepted, with a warning: the workers are threads.
        random_seed: Accepted for Keras 2's signature: the seed of worker processes.

    Example:
        >>> from podium.compat import keras
        >>> enqueuer = keras.utils.GeneratorEnqueuer(iter([1, 2, 3]))
        >>> enqueuer.start()
        >>> list(enqueuer.get())
        [1, 2, 3]
    """

    def __init__(
        self, generator: Any, use_multiprocessing: bool = False, random_seed: int | None = None
    ):
        super().__init__(generator, use_multiprocessing)
        self.random_seed = random_seed

    def _run(self) -> None:
        while not self.stop_signal.is_set():
            future: Future[Tree] = Future()
            try:
                future.set_result(next(self.sequence))
            except BaseException as error:  # raised by `get`, in the caller's thread
                future.set_exception(error)
                self._put(future)
                return
            if not self._put(future):
                return
