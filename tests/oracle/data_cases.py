"""Pipelines written once and run by tf.data and by Podium, and cases of tf_keras's DataHandler.

`record_data.py` records the results.
"""

import numpy as np

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2])

# name -> function of the Dataset class, which has been given `ones`, a function that makes a vector
# of a length
PIPELINES = {
    "slices": lambda D: D.from_tensor_slices((X, {"label": Y})),
    "tensors": lambda D: D.from_tensors((X, Y)),
    "range": lambda D: D.range(2, 9, 3),
    "range_backwards": lambda D: D.range(5, 0, -2),
    "batch": lambda D: D.from_tensor_slices((X, Y)).batch(4),
    "batch_drop": lambda D: D.from_tensor_slices((X, Y)).batch(4, drop_remainder=True),
    "batch_of_batches": lambda D: D.range(8).batch(2).batch(2),
    "repeat_then_batch": lambda D: D.range(3).repeat(2).batch(4),
    "batch_then_repeat": lambda D: D.range(3).batch(2).repeat(2),
    "repeat_zero": lambda D: D.range(3).repeat(0),
    "take_and_skip": lambda D: D.range(10).skip(2).take(5),
    "take_all": lambda D: D.range(4).take(-1),
    "skip_all": lambda D: D.range(4).skip(-1),
    "take_more_than_there_is": lambda D: D.range(3).take(9),
    "endless_then_take": lambda D: D.range(3).repeat().take(7),
    "endless": lambda D: D.range(3).repeat(),
    "endless_of_nothing": lambda D: D.range(0).repeat(),
    "shard": lambda D: D.range(10).shard(3, 1),
    "shard_after_repeat": lambda D: D.range(4).repeat(3).shard(3, 2),
    "zip_tuple": lambda D: D.zip((D.range(3), D.range(5, 9))),
    "zip_nested": lambda D: D.zip({"a": D.range(3), "b": (D.range(4), D.from_tensor_slices(X))}),
    "zip_with_endless": lambda D: D.zip((D.range(3), D.range(2).repeat())),
    "zip_batched": lambda D: D.zip((D.from_tensor_slices(X), D.from_tensor_slices(Y))).batch(4),
    "map": lambda D: D.from_tensor_slices((X, Y)).map(lambda x, y: (x * 2.0, y + 1)),
    "map_to_dict": lambda D: D.range(3).map(lambda n: {"n": n, "twice": n * 2}),
    "map_batches": lambda D: (
        D.from_tensor_slices({"x": X, "y": Y}).batch(4).map(lambda e: (e["x"], e["y"]))
    ),
    "filter": lambda D: D.range(10).filter(lambda n: n % 3 == 0),
    "filter_then_batch": lambda D: D.range(10).filter(lambda n: n % 3 == 0).batch(3),
    "concatenate": lambda D: D.range(3).concatenate(D.range(5, 7)),
    "enumerate": lambda D: D.from_tensor_slices(Y).enumerate(start=5),
    "enumerate_batches": lambda D: D.range(5).batch(2).enumerate(),
    "flat_map": lambda D: D.range(1, 4).flat_map(lambda n: D.range(3).map(lambda m: m * n)),
    "interleave": lambda D: D.range(1, 6).interleave(
        lambda n: D.from_tensors(n).repeat(6), cycle_length=2, block_length=4
    ),
    "interleave_even": lambda D: D.range(1, 6).interleave(
        lambda n: D.from_tensors(n).repeat(4), cycle_length=3, block_length=2
    ),
    "interleave_single": lambda D: D.range(1, 6).interleave(lambda n: D.range(n), cycle_length=2),
    "unbatch": lambda D: D.from_tensor_slices((X, Y)).batch(4).unbatch(),
    "unbatch_tensors": lambda D: D.from_tensors((X, Y)).unbatch(),
    "padded_batch": lambda D: D.range(1, 6).map(D.ones).padded_batch(2),
    "padded_batch_to_shape": lambda D: (
        D.range(1, 4).map(D.ones).padded_batch(2, padded_shapes=(5,), padding_values=9.0)
    ),
    "cache": lambda D: D.range(4).cache().repeat(2),
    "prefetch": lambda D: D.range(4).batch(3).prefetch(2),
}

# Samples, batch size, steps per execution, epochs and steps per epoch of tf_keras's DataHandler.
HANDLER_CASES = [
    (samples, batch_size, k, epochs, steps)
    for samples in (1, 7, 12)
    for batch_size in (1, 5)
    for k in (1, 3)
    for epochs in (1, 2)
    for steps in (None, 1, 2)
    if steps is None
    or steps <= -(-samples // batch_size)  # with more, tf_keras continues the same epoch
]


def read_handler(handler, read_elements):
    """Iterate over a DataHandler like `fit`.

    Returns:
        Epochs of `(first step, last step, first elements of the batches)`.
    """
    epochs = []
    for epoch, iterator in handler.enumerate_epochs():
        executions = []
        with handler.catch_stop_iteration():
            for step in handler.steps():
                executions.append(
                    [step, step + handler.step_increment, read_elements(handler, iterator)]
                )
        epochs.append([epoch, executions])
    return epochs
