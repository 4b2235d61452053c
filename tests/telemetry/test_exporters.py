"""Exporters: when they are called, what they write, and that they cannot stop training."""

import json
import os
import urllib.error
import urllib.request

import numpy as np
import pytest

import podium
from podium import callbacks, telemetry


@pytest.fixture
def add_exporter():
    added = []

    def add(exporter, **options):
        telemetry.add_exporter(exporter, **options)
        added.append(exporter)
        return exporter

    yield add
    for exporter in added:
        telemetry.remove_exporter(exporter)


def test_exporters_are_called_at_the_end_of_every_run(model, data, add_exporter):
    seen = []
    add_exporter(lambda values: seen.append((values.kind, values.stop_reason, values.steps)))
    model.fit(*data, validation_data=data, verbose=0)
    model.evaluate(*data, verbose=0)
    model.predict(data[0], verbose=0)
    with pytest.raises(ValueError, match="batch_size"):
        model.predict(data[0], batch_size=-1, verbose=0)
    assert seen == [
        ("fit", "epochs", 2),
        ("evaluate", "completed", 2),
        ("predict", "completed", 2),
        ("predict", "ValueError", 0),
    ]


def test_exporters_are_called_while_a_run_lasts_if_they_ask_for_it(
    clock, model, data, add_exporter
):
    class TakesASecond(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            clock.move(1000)

    seen = []

    def export(values):
        clock.move(10)
        seen.append((values.steps, values.stop_reason))

    add_exporter(export, seconds=3)
    history = model.fit(*data, batch_size=4, callbacks=TakesASecond(), verbose=0)
    assert seen == [(1, None), (4, None), (7, None), (10, None), (10, "epochs")]
    assert history.telemetry.sections["logging"] == pytest.approx(0.04)


def test_an_exporter_that_fails_warns_once_and_training_continues(model, data, add_exporter):
    def export(values):
        raise OSError("the disk is full")

    add_exporter(export, seconds=1e-9)
    with pytest.warns(UserWarning, match=r"exporter .*export.* failed \(OSError: the disk is full"):
        model.fit(*data, verbose=0)
    model.fit(*data, verbose=0)  # without a warning


def test_misuse_is_rejected():
    with pytest.raises(TypeError, match=r"add_exporter was given 'file\.json'; a function of a"):
        telemetry.add_exporter("file.json")
    with pytest.raises(ValueError, match="seconds=0"):
        telemetry.add_exporter(print, seconds=0)
    with pytest.raises(ValueError, match=r"remove_exporter was given .*, which was not added"):
        telemetry.remove_exporter(print)


def test_json_lines_has_a_line_for_each_run(tmp_path, model, data, add_exporter):
    path = tmp_path / "new" / "telemetry.jsonl"
    add_exporter(telemetry.JsonLinesExporter(path))
    model.fit(*data, verbose=0)
    model.predict(data[0], verbose=0)
    values = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(value["kind"], value["samples"]) for value in values] == [("fit", 40), ("predict", 40)]
    assert values[0] == model.history.telemetry.as_dict()


def test_prometheus_text_has_the_latest_run_of_each_kind(tmp_path, model, data, add_exporter):
    exporter = add_exporter(telemetry.PrometheusExporter(tmp_path / "podium.prom"))
    for size in (20, 40):
        model.fit(data[0][:size], data[1][:size], validation_data=data, verbose=0)
    model.predict(data[0], verbose=0)
    lines = (tmp_path / "podium.prom").read_text().splitlines()
    assert os.listdir(tmp_path) == ["podium.prom"]
    assert lines.count("# TYPE podium_samples gauge") == 1
    for line in (
        'podium_samples{kind="fit"} 40',
        'podium_samples{kind="validation"} 40',
        'podium_samples{kind="predict"} 40',
        'podium_running{kind="fit"} 0',
    ):
        assert line in lines
    names = {line.split("{")[0] for line in lines if not line.startswith("#")}
    helps = {line.split()[2] for line in lines if line.startswith("# HELP")}
    assert names == helps
    assert {"podium_section_seconds", "podium_step_latency_seconds"} <= names
    assert repr(exporter) == f"PrometheusExporter({str(tmp_path / 'podium.prom')!r})"


def test_prometheus_text_escapes_names():
    class Odd(callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            pass

    Odd.__name__ = 'a"b\\c\nd'
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(np.ones((4, 2)), np.ones((4, 1)), callbacks=Odd(), verbose=0)
    text = telemetry.prometheus_text({"fit": history.telemetry})
    assert r'podium_callback_seconds{kind="fit",callback="a\"b\\c\nd"}' in text


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path, model, data, add_exporter):
    (tmp_path / "podium.prom").mkdir()
    add_exporter(telemetry.PrometheusExporter(tmp_path / "podium.prom"))
    with pytest.warns(UserWarning, match="telemetry exporter PrometheusExporter"):
        model.predict(data[0], verbose=0)
    assert os.listdir(tmp_path) == ["podium.prom"]


def test_prometheus_is_served_on_this_machine(model, data, add_exporter):
    exporter = add_exporter(telemetry.PrometheusExporter())
    address = exporter.serve()
    try:
        assert address.startswith("127.0.0.1:")
        model.predict(data[0], verbose=0)
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as response:
            assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b'podium_samples{kind="predict"} 40' in response.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://{address}/other", timeout=30)
    finally:
        exporter.close()
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(f"http://{address}/metrics", timeout=30)
