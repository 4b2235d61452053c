"""The wire format of protocol buffers: fields of a message as numbers and bytes.

Which fields a message has is known to the modules that use it. Unknown fields are kept and ignored,
as the format asks for; a message that cannot be read raises `InvalidFileError`.
"""

from __future__ import annotations

from podium.core.internal import charge_file_budget
from podium.saving.io._errors import InvalidFileError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}


class Message:
    """The fields of a message that was read, by their numbers.

    Args:
        content: The bytes of the message.
        name: What the message is, for errors.
    """

    def __init__(self, content: bytes | memoryview, name: str):
        self._name = name
        self._fields: dict[int, list[int | bytes]] = {}
        view, position = memoryview(content), 0
        while position < len(view):
            charge_file_budget("fields", 1, f"was rejected: {name} has too many fields.")
            tag, position = self._varint(view, position)
            value, position = self._value(view, position, tag & 7)
            self._fields.setdefault(tag >> 3, []).append(value)

    def get_int(self, number: int, default: int = 0) -> int:
        """Return the last value of a field of non-negative ints, enums or fixed ints."""
        values = self.get_ints(number)
        return values[-1] if values else default

    def get_signed(self, number: int, default: int = 0) -> int:
        """Return the last value of a field of signed ints (`int32`, `int64`)."""
        value = self.get_int(number, default)
        return value - (1 << 64) if value >= 1 << 63 else value

    def get_ints(self, number: int) -> list[int]:
        """Return all values of a field of ints, packed or not."""
        values: list[int] = []
        for value in self._fields.get(number, ()):
            values.extend([value] if isinstance(value, int) else self._unpack(value))
        return values

    def has(self, number: int) -> bool:
        """Return whether a field is present."""
        return number in self._fields

    def get_bytes(self, number: int, default: bytes = b"") -> bytes:
        """Return the last value of a field of bytes."""
        return self.get_all_bytes(number)[-1] if number in self._fields else default

    def get_text(self, number: int) -> str:
        """Return the last value of a field of text."""
        try:
            return self.get_bytes(number).decode()
        except UnicodeDecodeError:
            raise self._error("text that is not UTF-8") from None

    def get_all_bytes(self, number: int) -> list[bytes]:
        """Return all values of a field of bytes, text or messages."""
        values = [value for value in self._fields.get(number, ()) if not isinstance(value, int)]
        if len(values) < len(self._fields.get(number, ())):
            raise self._error(f"an int in field {number}, where bytes were expected")
        return values

    def get_message(self, number: int, name: str) -> Message:
        """Return the message in a field, without fields if it is absent."""
        return Message(b"".join(self.get_all_bytes(number)), name)

    def get_messages(self, number: int, name: str) -> list[Message]:
        """Return all messages in a field."""
        return [Message(content, name) for content in self.get_all_bytes(number)]

    def _value(self, view: memoryview, position: int, kind: int) -> tuple[int | bytes, int]:
        if kind == _VARINT:
            return self._varint(view, position)
        if kind == _BYTES:
            size, position = self._varint(view, position)
        elif kind in _FIXED_SIZES:
            size = _FIXED_SIZES[kind]
        else:
            raise self._error(f"a field of the unknown type {kind}")
        if size > len(view) - position:
            raise self._error("a field that is longer than the message")
        content = bytes(view[position : position + size])
        value = content if kind == _BYTES else int.from_bytes(content, "little")
        return value, position + size

    def _unpack(self, content: bytes) -> list[int]:
        values, position = [], 0
        while position < len(content):
            value, position = self._varint(memoryview(content), position)
            values.append(value)
        return values

    def _varint(self, view: memoryview, position: int) -> tuple[int, int]:
        try:
            return read_varint(view, position)
        except InvalidFileError:
            raise self._error("an int that does not end") from None

    def _error(self, what: str) -> InvalidFileError:
        return InvalidFileError(f"is damaged: {self._name} has {what}.")


def read_varint(content: bytes | memoryview, position: int) -> tuple[int, int]:
    """Return the int at a position, stored in groups of seven bits, and the position after it.

    Raises:
        InvalidFileError: It does not end, or is larger than 64 bits.
    """
    value = 0
    for index, byte in enumerate(content[position : position + 10]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if value >> 64:
                break
            return value, position + index + 1
    raise InvalidFileError("is damaged: an int does not end.")


def encode_varint(value: int) -> bytes:
    """Return an int in groups of seven bits; a negative one as its 64-bit complement."""
    value &= (1 << 64) - 1
    content = bytearray()
    while value >= 0x80:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)


def encode_int(number: int, value: int) -> bytes:
    """Return a field of an int, an enum or a bool; nothing for 0, the default."""
    return encode_varint(number << 3 | _VARINT) + encode_varint(value) if value else b""


def encode_fixed32(number: int, value: int) -> bytes:
    """Return a field of an unsigned int in four bytes."""
    return encode_varint(number << 3 | _FIXED32) + value.to_bytes(4, "little")


def encode_bytes(number: int, content: bytes | str) -> bytes:
    """Return a field of bytes, text or a message, present even if it is empty."""
    content = content.encode() if isinstance(content, str) else content
    return encode_varint(number << 3 | _BYTES) + encode_varint(len(content)) + content
