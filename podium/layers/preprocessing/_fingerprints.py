"""Hash functions of byte strings, equal on every platform: FarmHash's Fingerprint64 and SipHash.

Both take byte strings of one length, as rows of a matrix, and return one uint64 for each. They are
written for NumPy and JAX alike; JAX needs `jax.enable_x64(True)` around a call. Text and numbers
become bytes in `_hash_values.py`.
"""

from __future__ import annotations

from typing import TypeAlias

import jax.numpy as jnp
import numpy as np

from podium._typing import Array

Pair: TypeAlias = tuple[Array, Array]

_MASK = 2**64 - 1
_K0 = np.uint64(0xC3A5C85C97CB3127)
_K1 = np.uint64(0xB492B66FBE98F273)
_K2 = np.uint64(0x9AE16A3B2F90404F)
_CONCATENATION_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_LONG_SEED = 81
_BLOCK = 64


def fingerprint64(rows: Array) -> Array:
    """Return FarmHash's Fingerprint64 of each row: the hash of TensorFlow's hash buckets.

    Args:
        rows: Bytes, of shape (number of strings, length).
    """
    length = rows.shape[1]
    if length <= 16:
        return _hash_up_to_16(rows, length)
    if length <= 32:
        return _hash_up_to_32(rows, length)
    return _hash_up_to_64(rows, length) if length <= _BLOCK else _hash_long(rows, length)


def concatenate_fingerprints(first: Array, second: Array) -> Array:
    """Return the fingerprint of pairs of fingerprints, as TensorFlow's crosses of features do."""
    multiplier = _CONCATENATION_MULTIPLIER
    result = first ^ multiplier ^ (_shift_mix(second * multiplier) * multiplier)
    return _shift_mix(_shift_mix(result * multiplier) * multiplier)


def siphash(rows: Array, key: tuple[int, int]) -> Array:
    """Return the SipHash-2-4 of each row under a key of two unsigned 64-bit ints.

    Args:
        rows: Bytes, of shape (number of strings, length).
        key: The key.
    """
    length = rows.shape[1]
    low, high = (number & _MASK for number in key)
    zeros = _zero_hashes(rows)
    state = [
        zeros ^ np.uint64(low ^ 0x736F6D6570736575),
        zeros ^ np.uint64(high ^ 0x646F72616E646F6D),
        zeros ^ np.uint64(low ^ 0x6C7967656E657261),
        zeros ^ np.uint64(high ^ 0x7465646279746573),
    ]
    for start in range(0, length // 8 * 8, 8):
        state = _absorb(state, _read_number(rows, start, 8))
    rest = _read_number(rows, length // 8 * 8, length % 8)
    state = _absorb(state, rest | np.uint64((length & 0xFF) << 56))
    state[2] = state[2] ^ np.uint64(0xFF)
    for _ in range(4):
        state = _sip_round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _absorb(state: list[Array], word: Array) -> list[Array]:
    state = [*state[:3], state[3] ^ word]
    state = _sip_round(_sip_round(state))
    return [state[0] ^ word, *state[1:]]


def _sip_round(state: list[Array]) -> list[Array]:
    a, b, c, d = state
    a = a + b
    b = _rotate_left(b, 13) ^ a
    a = _rotate_left(a, 32)
    c = c + d
    d = _rotate_left(d, 16) ^ c
    a = a + d
    d = _rotate_left(d, 21) ^ a
    c = c + b
    b = _rotate_left(b, 17) ^ c
    return [a, b, _rotate_left(c, 32), d]


def _hash_up_to_16(rows: Array, length: int) -> Array:
    if length >= 8:
        multiplier = _length_multiplier(length)
        a, b = _read_number(rows, 0, 8) + _K2, _read_number(rows, length - 8, 8)
        c = _rotate_right(b, 37) * multiplier + a
        d = (_rotate_right(a, 25) + b) * multiplier
        return _mix(c, d, multiplier)
    if length >= 4:
        a = _read_number(rows, 0, 4)
        first = (a << np.uint64(3)) + np.uint64(length)
        return _mix(first, _read_number(rows, length - 4, 4), _length_multiplier(length))
    if length > 0:
        a, b, c = (_read_number(rows, index, 1) for index in (0, length // 2, length - 1))
        y = a + (b << np.uint64(8))
        z = (c << np.uint64(2)) + np.uint64(length)
        return _shift_mix(y * _K2 ^ z * _K0) * _K2
    return _zero_hashes(rows) + _K2


def _hash_up_to_32(rows: Array, length: int) -> Array:
    multiplier = _length_multiplier(length)
    a, b = _read_number(rows, 0, 8) * _K1, _read_number(rows, 8, 8)
    c, d = _read_number(rows, length - 8, 8) * multiplier, _read_number(rows, length - 16, 8) * _K2
    first = _rotate_right(a + b, 43) + _rotate_right(c, 30) + d
    return _mix(first, a + _rotate_right(b + _K2, 18) + c, multiplier)


def _hash_up_to_64(rows: Array, length: int) -> Array:
    multiplier = _length_multiplier(length)
    a, b = _read_number(rows, 0, 8) * _K2, _read_number(rows, 8, 8)
    c, d = _read_number(rows, length - 8, 8) * multiplier, _read_number(rows, length - 16, 8) * _K2
    y = _rotate_right(a + b, 43) + _rotate_right(c, 30) + d
    z = _mix(y, a + _rotate_right(b + _K2, 18) + c, multiplier)
    e, f = _read_number(rows, 16, 8) * multiplier, _read_number(rows, 24, 8)
    g = (y + _read_number(rows, length - 32, 8)) * multiplier
    h = (z + _read_number(rows, length - 24, 8)) * multiplier
    first = _rotate_right(e + f, 43) + _rotate_right(g, 30) + h
    return _mix(first, e + _rotate_right(f + a, 18) + g, multiplier)


def _hash_long(rows: Array, length: int) -> Array:
    start_y = (_LONG_SEED * int(_K1) + 113) & _MASK
    start_z = (start_y * int(_K2) + 113) & _MASK
    zeros = _zero_hashes(rows)
    x = _read_number(rows, 0, 8) + np.uint64((_LONG_SEED * int(_K2)) & _MASK)
    y, z = zeros + np.uint64(start_y), _shift_mix(zeros + np.uint64(start_z)) * _K2
    v: Pair = (zeros, zeros)
    w: Pair = (zeros, zeros)
    end = (length - 1) // _BLOCK * _BLOCK
    for start in range(0, end, _BLOCK):
        x, y, z, v, w = _hash_block(rows, start, (x, y, z), v, w, None)
    multiplier = ((z & np.uint64(0xFF)) << np.uint64(1)) + _K1
    w_first = w[0] + np.uint64((length - 1) & 63)
    v = (v[0] + w_first, v[1])
    w = (w_first + v[0], w[1])
    x, y, z, v, w = _hash_block(rows, length - _BLOCK, (x, y, z), v, w, multiplier)
    first = _mix(v[0], w[0], multiplier) + _shift_mix(y) * _K0 + z
    return _mix(first, _mix(v[1], w[1], multiplier) + x, multiplier)


def _hash_block(
    rows: Array,
    start: int,
    state: tuple[Array, Array, Array],
    v: Pair,
    w: Pair,
    last_multiplier: Array | None,
) -> tuple[Array, Array, Array, Pair, Pair]:
    """Include 64 bytes in the state; the last block of a string has a multiplier of its own."""
    x, y, z = state
    is_last = last_multiplier is not None
    multiplier = last_multiplier if last_multiplier is not None else _K1
    factor = np.uint64(9 if is_last else 1)
    x = _rotate_right(x + y + v[0] + _read_number(rows, start + 8, 8), 37) * multiplier
    y = _rotate_right(y + v[1] + _read_number(rows, start + 48, 8), 42) * multiplier
    x = x ^ (w[1] * factor)
    y = y + v[0] * factor + _read_number(rows, start + 40, 8)
    z = _rotate_right(z + w[0], 33) * multiplier
    v = _hash_32_with_seeds(rows, start, v[1] * multiplier, x + w[0])
    w = _hash_32_with_seeds(rows, start + 32, z + w[1], y + _read_number(rows, start + 16, 8))
    return z, y, x, v, w


def _hash_32_with_seeds(rows: Array, start: int, a: Array, b: Array) -> Pair:
    first, second, third, fourth = (_read_number(rows, start + 8 * index, 8) for index in range(4))
    a = a + first
    b = _rotate_right(b + a + fourth, 21)
    total = a + second + third
    return total + fourth, b + _rotate_right(total, 44) + a


def _length_multiplier(length: int) -> np.uint64:
    return np.uint64((int(_K2) + 2 * length) & _MASK)


def _mix(u: Array, v: Array, multiplier: np.uint64 | Array) -> Array:
    a = _shift_mix((u ^ v) * multiplier)
    return _shift_mix((v ^ a) * multiplier) * multiplier


def _shift_mix(value: Array) -> Array:
    return value ^ (value >> np.uint64(47))


def _rotate_right(value: Array, bits: int) -> Array:
    return (value >> np.uint64(bits)) | (value << np.uint64(64 - bits))


def _rotate_left(value: Array, bits: int) -> Array:
    return _rotate_right(value, 64 - bits)


def _read_number(rows: Array, start: int, size: int) -> Array:
    """Return `size` bytes of each row as one little-endian number."""
    value = _zero_hashes(rows)
    for index in range(size):
        value = value | (rows[:, start + index].astype("uint64") << np.uint64(8 * index))
    return value


def _zero_hashes(rows: Array) -> Array:
    """Return one uint64 zero for each row, of NumPy or JAX as the rows are."""
    if isinstance(rows, np.ndarray):
        return np.zeros(rows.shape[0], "uint64")
    return jnp.zeros(rows.shape[0], "uint64")
