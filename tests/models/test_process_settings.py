"""`keras.config`: limits of runs, output in the log, tracebacks, and what is refused."""

import logging

import numpy as np
import pytest

import podium
from podium.compat import keras


@pytest.fixture(autouse=True)
def restore_settings():
    yield
    keras.config.set_max_epochs(None)
    keras.config.set_max_steps_per_epoch(None)
    keras.config.enable_interactive_logging()
    keras.config.enable_traceback_filtering()
    keras.config.enable_flash_attention()


def make_model():
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=1)
    return model


class Steps(podium.callbacks.Callback):
    """Records the steps of a run."""

    def __init__(self):
        super().__init__()
        self.steps = []

    def on_epoch_begin(self, epoch, logs=None):
        self.steps.append(f"epoch {epoch}")

    def on_train_batch_end(self, batch, logs=None):
        self.steps.append(batch)


X, Y = np.ones((8, 1), "float32"), np.zeros((8, 1), "float32")


def test_fit_is_limited_to_max_epochs():
    keras.config.set_max_epochs(2)
    with pytest.warns(UserWarning, match="`epochs` is limited to 2 by `set_max_epochs`"):
        history = make_model().fit(X, Y, epochs=5, verbose=0)
    assert len(history.history["loss"]) == 2
    assert len(make_model().fit(X, Y, epochs=1, verbose=0).history["loss"]) == 1


def test_epochs_are_limited_to_max_steps():
    keras.config.set_max_steps_per_epoch(3)
    model, steps = make_model(), Steps()
    with pytest.warns(UserWarning, match="`steps_per_epoch` is limited to 3 by"):
        model.fit(X, Y, batch_size=2, epochs=2, callbacks=[steps], verbose=0)
    assert steps.steps == ["epoch 0", 0, 1, 2, "epoch 1", 0, 1, 2]
    with pytest.warns(UserWarning, match="`steps` is limited to 3"):
        assert model.predict(X, batch_size=2, verbose=0).shape == (6, 1)


def test_shorter_epochs_are_not_limited():
    keras.config.set_max_steps_per_epoch(4)
    model, steps = make_model(), Steps()
    model.fit(X, Y, batch_size=2, callbacks=[steps], verbose=0)
    assert steps.steps == ["epoch 0", 0, 1, 2, 3]
    assert model.predict(X, batch_size=2, verbose=0).shape == (8, 1)


def test_endless_data_need_no_steps_under_a_limit():
    keras.config.set_max_steps_per_epoch(2)
    steps = Steps()
    endless = podium.data.Dataset.from_tensor_slices((X, Y)).batch(4).repeat()
    with pytest.warns(UserWarning, match="is limited to 2"):
        make_model().fit(endless, epochs=2, callbacks=[steps], verbose=0)
    assert steps.steps == ["epoch 0", 0, 1, "epoch 1", 0, 1]


def test_limits_are_validated():
    with pytest.raises(ValueError, match="max_epochs=0 was given; an int of at least 1"):
        keras.config.set_max_epochs(0)
    with pytest.raises(TypeError, match="max_steps_per_epoch='3' was given"):
        keras.config.set_max_steps_per_epoch("3")


def test_progress_goes_to_the_log_without_interactive_logging(caplog, capsys):
    keras.utils.disable_interactive_logging()
    assert not keras.utils.is_interactive_logging_enabled()
    model = make_model()
    with caplog.at_level(logging.INFO, "podium"):
        model.fit(X, Y, verbose=2)
        model.summary()
    assert capsys.readouterr().out == ""
    assert any("loss:" in message for message in caplog.messages)
    assert any("Trainable params" in message for message in caplog.messages)


def test_traceback_filtering_is_jaxs_switch():
    assert keras.config.is_traceback_filtering_enabled()
    keras.config.disable_traceback_filtering()
    model = podium.Sequential([podium.layers.Lambda(lambda x: x / undefined)])  # noqa: F821
    model.compile("sgd", "mse")
    with pytest.raises(NameError) as everything:
        model.predict(X, verbose=0)
    keras.config.enable_traceback_filtering()
    with pytest.raises(NameError) as filtered:
        model.predict(X, verbose=0)
    assert len(filtered.traceback) < len(everything.traceback)


def test_flash_attention_flag_has_keras_values():
    assert keras.config.is_flash_attention_enabled() is None
    keras.config.disable_flash_attention()
    assert keras.config.is_flash_attention_enabled() is False


def test_other_backends_and_code_in_files_are_refused():
    with pytest.raises(ValueError, match=r"Unknown backend 'tensorflow'\. Choices: 'jax'"):
        keras.config.set_backend("tensorflow")
    with pytest.raises(ValueError, match="Podium never runs code from a file"):
        keras.config.enable_unsafe_deserialization()
