"""`Config`: named values, read and set as attributes or items, that can be frozen."""

from __future__ import annotations

import json
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any

from podium._typing import Config as ConfigDict
from podium.core import closest_match


class Config:
    """A dictionary of settings whose entries are attributes too.

    Args:
        **kwargs: The first entries.

    Example:
        >>> config = podium.utils.Config(learning_rate=0.1)
        >>> config.momentum = 0.9
        >>> config["momentum"], config.to_json()
        (0.9, '{"learning_rate": 0.1, "momentum": 0.9}')
        >>> config.freeze()
        >>> config.momentum = 0.5
        Traceback (most recent call last):
        ValueError: 'momentum' was set on a Config that is frozen. ...
    """

    _entries: dict[str, Any]
    _frozen: bool

    def __init__(self, **kwargs: Any):
        object.__setattr__(self, "_entries", kwargs)
        object.__setattr__(self, "_frozen", False)

    @property
    def frozen(self) -> bool:
        """Whether entries can no longer be changed."""
        return self._frozen

    def freeze(self) -> None:
        """Forbid changes of the entries."""
        object.__setattr__(self, "_frozen", True)

    def unfreeze(self) -> None:
        """Allow changes of the entries again."""
        object.__setattr__(self, "_frozen", False)

    def _check_not_frozen(self, name: object) -> None:
        if self._frozen:
            raise ValueError(
                f"{name!r} was set on a Config that is frozen. Call `unfreeze()` first, or change "
                "a copy: `Config(**config.as_dict())`."
            )

    def as_dict(self) -> ConfigDict:
        """Return a copy of the entries as a dictionary."""
        return dict(self._entries)

    def to_json(self) -> str:
        """Return the entries as JSON."""
        return json.dumps(self._entries)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._entries.keys()

    def values(self) -> ValuesView[Any]:
        """Return the values."""
        return self._entries.values()

    def items(self) -> ItemsView[str, Any]:
        """Return pairs of name and value."""
        return self._entries.items()

    def pop(self, *args: Any) -> Any:
        """Remove an entry and return its value, or the default that was passed."""
        self._check_not_frozen(args[0] if args else "pop")
        return self._entries.pop(*args)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several entries, as `dict.update` does."""
        self._check_not_frozen("update")
        self._entries.update(*args, **kwargs)

    def get(self, keyname: str, value: Any = None) -> Any:
        """Return an entry, or `value` if there is none of that name."""
        return self._entries.get(keyname, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            raise AttributeError(
                f"config.{name} was set, which is a method of Config; use config[{name!r}] = ..., "
                "or another name."
            )
        self[name] = value

    def __getattr__(self, name: str) -> Any:
        entries = vars(self).get("_entries", {})
        if name in entries:
            return entries[name]
        close = closest_match(name, tuple(entries))
        hint = f" Did you mean {close!r}?" if close else ""
        raise AttributeError(f"The Config has no entry {name!r}.{hint}")

    def __setitem__(self, name: str, value: Any) -> None:
        self._check_not_frozen(name)
        self._entries[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._entries[name]

    def __delitem__(self, name: str) -> None:
        self._check_not_frozen(name)
        del self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Config {self._entries}>"
