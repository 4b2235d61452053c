"""Prometheus: the telemetry of the latest run of each kind, in Prometheus's text format.

The file is for the textfile collector of `node_exporter`; the server is for Prometheus itself, and
answers on this machine only unless another address is passed.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from podium._typing import PathLike
from podium.telemetry._records import Latency
from podium.telemetry._telemetry import Telemetry

if TYPE_CHECKING:
    import http.server

_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "podium_"
_HELP = {
    "wall_seconds": "Time of the latest run.",
    "steps": "Steps of the latest run.",
    "executions": "Executions of the latest run.",
    "samples": "Samples of the latest run.",
    "samples_per_second": "Samples per second of the latest run.",
    "goodput": "Share of the time in steps that count.",
    "busy_seconds": "Time in which the device computed executions.",
    "running": "Whether the run has not ended.",
    "section_seconds": "Time of the loop by section.",
    "step_latency_seconds": "Quantiles of the time that a step takes.",
    "execution_latency_seconds": "Quantiles of the time that an execution takes.",
    "callback_seconds": "Time in each callback.",
    "compilations": "Programs that were compiled.",
    "saved_bytes": "Bytes that were saved.",
    "predict_peak_growth_bytes": "Growth of resident memory during predict.",
}


def prometheus_text(runs: Mapping[str, Telemetry]) -> str:
    """Return the telemetry of several runs in Prometheus's text format.

    Args:
        runs: The latest run of each kind.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> outputs = model.predict(np.ones((64, 2)), verbose=0)
        >>> text = podium.telemetry.prometheus_text({"predict": model.telemetry})
        >>> 'podium_samples{kind="predict"} 64' in text.splitlines()
        True
    """
    lines: dict[str, list[str]] = {}
    for telemetry in runs.values():
        for name, labels, value in _iterate_values(telemetry):
            pairs = {"kind": telemetry.kind, **labels}
            text = ",".join(f'{label}="{_escape_label(pairs[label])}"' for label in pairs)
            lines.setdefault(name, []).append(f"{_PREFIX}{name}{{{text}}} {value!r}")
    blocks = [
        f"# HELP {_PREFIX}{name} {_HELP[name]}\n# TYPE {_PREFIX}{name} gauge\n" + "\n".join(rows)
        for name, rows in lines.items()
    ]
    return "\n".join(blocks) + "\n"


class PrometheusExporter:
    """Writes the latest run of each kind to a file in Prometheus's text format, atomically.

    Args:
        path: The file, such as `/var/lib/node_exporter/podium.prom`; None to keep the text only
            for `serve`.

    Example:
        >>> import pathlib, tempfile, urllib.request
        >>> path = pathlib.Path(tempfile.mkdtemp(), "podium.prom")
        >>> exporter = podium.telemetry.PrometheusExporter(path)
        >>> podium.telemetry.add_exporter(exporter)
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> outputs = model.predict(np.ones((64, 2)), verbose=0)
        >>> podium.telemetry.remove_exporter(exporter)
        >>> 'podium_samples{kind="predict"} 64' in path.read_text()
        True
        >>> address = exporter.serve()
        >>> with urllib.request.urlopen(f"http://{address}/metrics") as response:
        ...     response.read().decode() == path.read_text()
        True
        >>> exporter.close()
    """

    def __init__(self, path: PathLike | None = None):
        self.path = None if path is None else os.fspath(path)
        self._runs: dict[str, Telemetry] = {}
        self._server: http.server.ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __call__(self, telemetry: Telemetry) -> None:
        """Replace the values of this kind of run."""
        self._runs = {**self._runs, telemetry.kind: telemetry}
        if telemetry.validation is not None:
            self._runs["validation"] = telemetry.validation
        if self.path is None:
            return
        temporary = f"{self.path}.{secrets.token_hex(4)}.tmp"
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(prometheus_text(self._runs))
            os.replace(temporary, self.path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    def serve(self, port: int = 0, host: str = "127.0.0.1") -> str:
        """Serve the text at `/metrics`, on a thread, until `close`.

        Args:
            port: The port; 0 for any that is free.
            host: The address to serve at: this machine only by default. There is no password.

        Returns:
            The address, `host:port`.
        """
        import http.server  # imported here: it takes ten milliseconds

        self.close()
        exporter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Answers requests of Prometheus."""

            def do_GET(self) -> None:
                """Send the text."""
                if self.path.partition("?")[0] != "/metrics":
                    self.send_error(404)
                    return
                body = prometheus_text(exporter._runs).encode()
                self.send_response(200)
                self.send_header("Content-Type", _CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        server = http.server.ThreadingHTTPServer((host, port), Handler)
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, name="podium-prometheus", daemon=True
        )
        self._thread.start()
        return f"{host}:{server.server_address[1]}"

    def close(self) -> None:
        """End the server, if there is one."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.shutdown()
            thread.join()
            server.server_close()

    def __repr__(self) -> str:
        return f"PrometheusExporter({self.path!r})"


def _iterate_values(telemetry: Telemetry) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield name, labels and value of everything that is known."""
    yield "running", {}, int(telemetry.stop_reason is None)
    for name in ("wall_seconds", "steps", "executions", "goodput", "busy_seconds"):
        yield name, {}, getattr(telemetry, name)
    for name in ("samples", "samples_per_second"):
        if getattr(telemetry, name) is not None:
            yield name, {}, getattr(telemetry, name)
    for section, seconds in telemetry.sections.items():
        yield "section_seconds", {"section": section}, seconds
    yield from _quantiles("step_latency_seconds", telemetry.step_latency)
    yield from _quantiles("execution_latency_seconds", telemetry.execution_latency)
    for times in telemetry.callbacks:
        yield "callback_seconds", {"callback": times.name}, times.seconds
    yield "compilations", {}, telemetry.num_compilations
    yield "saved_bytes", {}, telemetry.saved_bytes
    if telemetry.memory is not None and telemetry.memory.peak_growth_bytes is not None:
        yield "predict_peak_growth_bytes", {}, telemetry.memory.peak_growth_bytes


def _quantiles(name: str, latency: Latency | None) -> Iterator[tuple[str, dict[str, str], float]]:
    if latency is not None:
        for quantile, value in (("0.5", latency.p50), ("0.95", latency.p95), ("0.99", latency.p99)):
            yield name, {"quantile": quantile}, value


def _escape_label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
