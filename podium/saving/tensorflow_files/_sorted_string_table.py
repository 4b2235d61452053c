"""Sorted string tables, LevelDB's format of keys and values: the index of a TensorFlow checkpoint.

A table is blocks of entries, an index of the blocks, and a footer. A key is stored as the length of
what it shares with the previous one and the rest; each block ends with a checksum. Tables are
small: they are read and written as bytes in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from podium.core.internal import charge_file_budget
from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files._crc32c import crc32c, mask_crc32c
from podium.saving.tensorflow_files._wire_format import encode_varint, read_varint

TABLE_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")  # the last bytes of a table
_FOOTER_SIZE = 48
_TRAILER_SIZE = 5  # the type of a block, and its checksum
_BLOCK_SIZE = 256 << 10
_RESTART_INTERVAL = 16  # a key is stored completely at these intervals, in entries


def read_table(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a table, in the order of the keys.

    Raises:
        InvalidFileError: It is damaged, or compressed.
    """
    footer = content[-_FOOTER_SIZE:]
    if len(footer) < _FOOTER_SIZE or not footer.endswith(TABLE_MAGIC):
        raise InvalidFileError("is damaged: its index does not end like a sorted string table.")
    _, _, position = _read_handle(footer, 0)
    offset, size, _ = _read_handle(footer, position)
    last_key, end_of_blocks = None, 0
    for _, handle in _read_block(_checked_block(content, offset, size)):
        offset, size, _ = _read_handle(handle, 0)
        if offset < end_of_blocks:
            raise InvalidFileError("is damaged: blocks of its index overlap.")
        end_of_blocks = offset + size + _TRAILER_SIZE
        for key, value in _read_block(_checked_block(content, offset, size)):
            if last_key is not None and key <= last_key:
                raise InvalidFileError("is damaged: the keys of its index are not in order.")
            last_key = key
            yield key, value


def _read_handle(content: bytes, position: int) -> tuple[int, int, int]:
    offset, position = read_varint(content, position)
    size, position = read_varint(content, position)
    return offset, size, position


def _checked_block(content: bytes, offset: int, size: int) -> memoryview:
    """Return the entries of a block, after its checksum was compared."""
    if offset + size + _TRAILER_SIZE > len(content) - _FOOTER_SIZE:
        raise InvalidFileError("is damaged: a block of its index is outside of the file.")
    block = memoryview(content)[offset : offset + size + _TRAILER_SIZE]
    if mask_crc32c(crc32c(block[:-4])) != int.from_bytes(block[-4:], "little"):
        raise InvalidFileError("is damaged: a block of its index does not fit its checksum.")
    if block[size]:
        raise InvalidFileError(
            f"has a compressed index (type {block[size]}); TensorFlow's checkpoints are not "
            "compressed."
        )
    return block[:size]


def _read_block(block: memoryview) -> Iterator[tuple[bytes, bytes]]:
    num_restarts = int.from_bytes(block[-4:], "little") if len(block) >= 4 else 0
    end = len(block) - 4 * (num_restarts + 1)
    if not num_restarts or end < 0:
        raise InvalidFileError("is damaged: a block of its index is too short.")
    position, key = 0, b""
    while position < end:
        shared, position = read_varint(block, position)
        num_key_bytes, position = read_varint(block, position)
        num_value_bytes, position = read_varint(block, position)
        value_start = position + num_key_bytes
        value_end = value_start + num_value_bytes
        if shared > len(key) or value_end > end:
            raise InvalidFileError("is damaged: an entry of its index is outside of its block.")
        key = key[:shared] + bytes(block[position:value_start])
        charge_file_budget(
            "bytes", len(key), "was rejected: the keys of its index are far larger than it is."
        )
        yield key, bytes(block[value_start:value_end])
        position = value_end


def encode_table(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a table of keys and values, given in the order of the keys."""
    content, handles = bytearray(), []
    block = _Block()
    for key, value in items:
        block.add(key, value)
        if block.num_bytes >= _BLOCK_SIZE:
            handles.append((key, _append_block(content, block)))
            block = _Block()
    if block.num_bytes or not handles:
        handles.append((block.last_key, _append_block(content, block)))
    metaindex = _append_block(content, _Block())
    index = _Block(restart_interval=1)
    for key, handle in handles:
        index.add(key, handle)
    footer = metaindex + _append_block(content, index)
    return bytes(content + footer.ljust(_FOOTER_SIZE - len(TABLE_MAGIC), b"\0") + TABLE_MAGIC)


class _Block:
    """Entries of a block that is being written."""

    def __init__(self, restart_interval: int = _RESTART_INTERVAL):
        self.last_key = b""
        self._entries = bytearray()
        self._restarts = [0]
        self._restart_interval, self._num_since_restart = restart_interval, 0

    @property
    def num_bytes(self) -> int:
        """The size of the entries."""
        return len(self._entries)

    def add(self, key: bytes, value: bytes) -> None:
        """Add an entry, whose key is larger than that of the last one."""
        shared = 0
        if self._num_since_restart < self._restart_interval:
            shared = _num_shared(self.last_key, key)
        else:
            self._restarts.append(len(self._entries))
            self._num_since_restart = 0
        for number in (shared, len(key) - shared, len(value)):
            self._entries += encode_varint(number)
        self._entries += key[shared:] + value
        self.last_key = key
        self._num_since_restart += 1

    def encode(self) -> bytes:
        """Return the entries, followed by the positions of those with complete keys."""
        numbers = [*self._restarts, len(self._restarts)]
        return bytes(self._entries) + struct.pack(f"<{len(numbers)}I", *numbers)


def _num_shared(first: bytes, second: bytes) -> int:
    """Return the length of the common beginning of two keys."""
    pairs = zip(first, second, strict=False)
    return next(
        (index for index, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second))
    )


def _append_block(content: bytearray, block: _Block) -> bytes:
    """Append a block that is not compressed, and its checksum; return where it is."""
    encoded = block.encode()
    handle = encode_varint(len(content)) + encode_varint(len(encoded))
    content += encoded + b"\0"
    content += mask_crc32c(crc32c(encoded + b"\0")).to_bytes(4, "little")
    return handle
