"""StepTimer: what it measures and what it excludes."""

import numpy as np

import podium
from podium import callbacks


def test_every_step_after_the_warmup_is_timed():
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=3)
    timer = callbacks.StepTimer(batch_size=4, warmup=1)
    model.fit(
        np.ones((40, 2)), np.ones((40, 1)), batch_size=4, epochs=2, callbacks=timer, verbose=0
    )
    summary = timer.summary()
    assert summary["steps"] == 20 - 3
    # 4 executions per epoch; nothing is measured across epochs.
    assert len(timer.between_seconds) == 6
    assert 0 < summary["median_ms"] <= summary["p95_ms"] <= summary["p99_ms"]
    assert summary["samples_per_second"] == 4 * summary["steps_per_second"]
    assert 0 <= summary["share_between_steps"] < 1


def test_slow_callback_adds_time_between_steps():
    class Slow(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            import time

            time.sleep(0.02)

    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    timer = callbacks.StepTimer()
    model.fit(
        np.ones((40, 2)), np.ones((40, 1)), batch_size=4, callbacks=[timer, Slow()], verbose=0
    )
    assert min(timer.between_seconds) >= 0.02


def test_summary_is_printed_if_verbose(capsys):
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(
        np.ones((40, 2)),
        np.ones((40, 1)),
        batch_size=4,
        callbacks=callbacks.StepTimer(verbose=True),
        verbose=0,
    )
    assert "Steps: steps 8, median_ms" in capsys.readouterr().out
    assert callbacks.StepTimer().summary() == {"steps": 0}
