"""A client of Pyright's language server, which is what VS Code and other editors complete with.

It knows two requests of the protocol: open a file, and complete at its end.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any


class LanguageServer:
    """Pyright's server in a subprocess, for the files of one folder; a context manager."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._next_id = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pyright.langserver", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )

    def __enter__(self) -> LanguageServer:
        folder = {"uri": self._folder.as_uri(), "name": "folder"}
        parameters = {"processId": None, "capabilities": {}, "workspaceFolders": [folder]}
        self._request("initialize", {"rootUri": folder["uri"], **parameters})
        self._send({"method": "initialized", "params": {}})
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def complete(self, code: str) -> set[str]:
        """Return the names that are offered at the end of `code`."""
        path = self._folder / "script.py"
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": code}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        lines = code.split("\n")
        position = {"line": len(lines) - 1, "character": len(lines[-1])}
        identifier = {"uri": path.as_uri()}
        request = {"textDocument": identifier, "position": position}
        result = self._request("textDocument/completion", request)
        self._send({"method": "textDocument/didClose", "params": {"textDocument": identifier}})
        return {item["label"] for item in result["items"]}

    def _request(self, method: str, parameters: dict[str, Any]) -> Any:
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": parameters})
        while True:
            message = self._receive()
            if message.get("id") == self._next_id and "method" not in message:
                return message["result"]
            if "id" in message:  # the server asks for its configuration: it has the defaults
                items = message.get("params", {}).get("items", [])
                self._send({"id": message["id"], "result": [None] * len(items)})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message
