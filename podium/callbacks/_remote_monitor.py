"""RemoteMonitor: sends the logs of every epoch to a server, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium.callbacks._callback import Callback
from podium.callbacks._logs import to_python
from podium.core import warn_user

_TIMEOUT = 10.0  # seconds; training waits for the server


class RemoteMonitor(Callback):
    """Sends the number and the logs of each epoch to a server, as a POST request of HTTP.

    A server that does not answer within ten seconds, or with an error, causes a warning, and
    training continues.

    Args:
        root: The URL of the server.
        path: The path on the server.
        field: The field of the form that has the logs as JSON.
        headers: Further headers of the request.
        send_as_json: Whether the request is JSON instead of a form with one field.

    Raises:
        ValueError: `root` is not a URL of HTTP.

    Example:
        >>> monitor = podium.callbacks.RemoteMonitor("http://localhost:9000", send_as_json=True)
        >>> monitor.root + monitor.path
        'http://localhost:9000/publish/epoch/end/'
    """

    is_logger = True

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Mapping[str, str] | None = None,
        send_as_json: bool = False,
    ):
        super().__init__()
        if urllib.parse.urlsplit(root).scheme not in ("http", "https"):
            raise ValueError(
                f"RemoteMonitor was given root={root!r}; a URL that starts with http:// or "
                "https:// was expected, such as 'http://localhost:9000'."
            )
        self.root = root
        self.path = path
        self.field = field
        self.headers = headers
        self.send_as_json = send_as_json

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Send the logs of the epoch."""
        values = {name: _to_json_value(value) for name, value in (logs or {}).items()}
        text = json.dumps({"epoch": epoch, **values})
        if self.send_as_json:
            kind, body = "application/json", text.encode()
        else:
            kind = "application/x-www-form-urlencoded"
            body = urllib.parse.urlencode({self.field: text}).encode()
        headers = {"Content-Type": kind, **(self.headers or {})}
        try:
            request = urllib.request.Request(self.root + self.path, body, headers, method="POST")
            with urllib.request.urlopen(request, timeout=_TIMEOUT):
                pass
        except (OSError, http.client.HTTPException, ValueError) as error:
            warn_user(
                f"RemoteMonitor could not send the logs of epoch {epoch} to {self.root!r} "
                f"({error}). Training continues."
            )


def _to_json_value(value: object) -> object:
    value = to_python(value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
