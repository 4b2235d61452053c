"""Podium's components satisfy the contracts that `podium.testing` checks.

Layers are checked in `tests/layers`, each next to its tests.
"""

import inspect

import numpy as np
import pytest

import podium
from podium import callbacks, data, distribute, losses, metrics, optimizers, testing

RNG = np.random.default_rng(0)
TARGETS = RNG.uniform(0.1, 0.9, size=(6, 4)).astype("float32")
PREDICTIONS = RNG.uniform(0.1, 0.9, size=(6, 4)).astype("float32")
ONE_HOT = np.eye(4, dtype="float32")[[0, 1, 2, 3, 0, 1]]
CLASSES = np.array([0, 1, 2, 3, 0, 1])
PROBABILITIES = PREDICTIONS / PREDICTIONS.sum(axis=-1, keepdims=True)
BINARY = (TARGETS > 0.5).astype("float32")


def component_classes(package, base, without=()):
    """Return the component classes of a package by name, without the base and aliases."""
    return {
        name: value
        for name, value in sorted(vars(package).items())
        if inspect.isclass(value)
        and issubclass(value, base)
        and value is not base
        and name == value.__name__
        and name not in without
    }


LOSS_EXAMPLES = {
    "CTC": None,  # reduces over time: its targets and predictions have different shapes
    "CategoricalCrossentropy": (ONE_HOT, PROBABILITIES),
    "CategoricalFocalCrossentropy": (ONE_HOT, PROBABILITIES),
    "CategoricalGeneralizedCrossEntropy": (CLASSES, PROBABILITIES),
    "CategoricalHinge": (ONE_HOT, PROBABILITIES),
    "Circle": None,  # a mean over pairs, not over samples
    "Dice": None,  # one value for the whole batch, as in Keras
    "SparseCategoricalCrossentropy": (CLASSES, PROBABILITIES),
    "Tversky": None,  # one value for the whole batch, as in Keras
}
LOSSES = [
    name
    for name in component_classes(losses, losses.Loss, without=("LossFunctionWrapper",))
    if LOSS_EXAMPLES.get(name, ()) is not None
]


@pytest.mark.parametrize("name", LOSSES)
def test_losses_satisfy_the_contract(name):
    y_true, y_pred = LOSS_EXAMPLES.get(name, (BINARY, PREDICTIONS))
    testing.check_loss(getattr(losses, name)(), y_true, y_pred)


METRIC_EXAMPLES = {
    "CategoricalAccuracy": (ONE_HOT, PROBABILITIES),
    "CategoricalCrossentropy": (ONE_HOT, PROBABILITIES),
    "CategoricalHinge": (ONE_HOT, PROBABILITIES),
    "F1Score": (ONE_HOT, PROBABILITIES),
    "FBetaScore": (ONE_HOT, PROBABILITIES),
    "Mean": (PREDICTIONS,),
    "Sum": (PREDICTIONS,),
    "MeanIoU": (CLASSES, CLASSES[::-1].copy()),
    "IoU": (CLASSES, CLASSES[::-1].copy()),
    "BinaryIoU": (BINARY, PREDICTIONS),
    "OneHotIoU": (ONE_HOT, PROBABILITIES),
    "OneHotMeanIoU": (ONE_HOT, PROBABILITIES),
    "SparseCategoricalAccuracy": (CLASSES, PROBABILITIES),
    "SparseCategoricalCrossentropy": (CLASSES, PROBABILITIES),
    "SparseTopKCategoricalAccuracy": (CLASSES, PROBABILITIES),
    "TopKCategoricalAccuracy": (ONE_HOT, PROBABILITIES),
}
METRIC_ARGUMENTS = {
    "IoU": {"num_classes": 4, "target_class_ids": [0, 1]},
    "MeanIoU": {"num_classes": 4},
    "OneHotIoU": {"num_classes": 4, "target_class_ids": [0, 1]},
    "OneHotMeanIoU": {"num_classes": 4},
    "PrecisionAtRecall": {"recall": 0.5},
    "RecallAtPrecision": {"precision": 0.5},
    "SensitivityAtSpecificity": {"specificity": 0.5},
    "SpecificityAtSensitivity": {"sensitivity": 0.5},
    "TopKCategoricalAccuracy": {"k": 2},
    "SparseTopKCategoricalAccuracy": {"k": 2},
    "MeanRelativeError": {"normalizer": (TARGETS + 1.0).tolist()},
}
METRICS = list(
    component_classes(
        metrics, metrics.Metric, without=("MeanMetricWrapper", "SumOverBatchSizeFunction")
    )
)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_satisfy_the_contract(name):
    metric = getattr(metrics, name)(**METRIC_ARGUMENTS.get(name, {}))
    testing.check_metric(metric, *METRIC_EXAMPLES.get(name, (BINARY, PREDICTIONS)))


# Wrappers of other optimizers, which have no rule.
WRAPPERS = ("LossScaleOptimizer", "MultiOptimizer", "OptaxOptimizer")
OPTIMIZERS = list(component_classes(optimizers, optimizers.Optimizer, without=WRAPPERS))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_satisfy_the_contract(name):
    testing.check_optimizer(getattr(optimizers, name)(learning_rate=0.05))


def test_loss_scale_optimizer_satisfies_the_contract():
    testing.check_optimizer(optimizers.LossScaleOptimizer(optimizers.Adam(0.05)))


class BatchCounter(callbacks.Callback):
    """Overrides hooks of batches and of epochs, and counts in them."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def on_train_batch_end(self, batch, logs=None):
        self.calls += len(logs)

    def on_epoch_end(self, epoch, logs=None):
        self.calls += epoch


PASSIVE_CALLBACKS = {
    "History": callbacks.History,
    "LambdaCallback": lambda: callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None),
    "StepTimer": callbacks.StepTimer,
    "TerminateOnNaN": callbacks.TerminateOnNaN,
    "BatchCounter": BatchCounter,
}
ACTIVE_CALLBACKS = {
    "EarlyStopping": lambda: callbacks.EarlyStopping(patience=5, restore_best_weights=True),
    "LearningRateScheduler": lambda: callbacks.LearningRateScheduler(
        lambda epoch: 0.1 / (epoch + 1)
    ),
    "ReduceLROnPlateau": lambda: callbacks.ReduceLROnPlateau(patience=1),
}


@pytest.mark.parametrize("name", PASSIVE_CALLBACKS)
def test_passive_callbacks_satisfy_the_contract(name):
    testing.check_callback(PASSIVE_CALLBACKS[name])


@pytest.mark.parametrize("name", ACTIVE_CALLBACKS)
def test_callbacks_that_change_training_satisfy_the_contract(name):
    testing.check_callback(ACTIVE_CALLBACKS[name], changes_training=True)


def test_callbacks_that_write_files_satisfy_the_contract(tmp_path):
    # The state of a CSVLogger is the length of its file, which only a resumed run keeps.
    log = str(tmp_path / "log.csv")
    testing.check_callback(lambda: callbacks.CSVLogger(log), saves_state=False)
    weights = str(tmp_path / "best.weights.h5")
    testing.check_callback(lambda: callbacks.ModelCheckpoint(weights, save_weights_only=True))
    testing.check_callback(lambda: callbacks.BackupAndRestore(str(tmp_path / "backup")))


STRATEGIES = {
    "default": distribute.get_strategy,
    "OneDeviceStrategy": lambda: distribute.OneDeviceStrategy("cpu:0"),
    "MirroredStrategy": lambda: distribute.MirroredStrategy(),
    "fsdp": lambda: distribute.ShardedStrategy("fsdp"),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategies_satisfy_the_contract(name):
    testing.check_strategy(STRATEGIES[name]())


def test_adapters_satisfy_the_contract():
    dataset = lambda: data.Dataset.from_tensor_slices(np.arange(10.0)).batch(4)
    adapter = type(data.DataHandler(dataset()).adapter)
    testing.check_adapter(adapter, dataset)


class Sequence(podium.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return np.full((2, 1), index, "float32"), np.zeros((2, 1), "float32")


def test_py_dataset_adapter_satisfies_the_contract():
    adapter = type(data.DataHandler(Sequence()).adapter)
    testing.check_adapter(adapter, Sequence)
