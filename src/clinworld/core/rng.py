"""Random numbers addressed by meaning: the same path gives the same series, whatever else is drawn.

`rng.at(case_id, "labs", "hba1c")` names a series; its element i depends on the seed, the path and i alone. Philox words keyed by
the case and placed by the rest of the path; the transforms are our own, so no NumPy release can move a draw.
"""

import hashlib
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Reals = NDArray[np.float64]

T = TypeVar("T")

_OCTAVES, _CELLS = 53, 64
_PLACE_BITS = 46  # of the 52 bits of a mantissa, the first 6 name one of 64 cells
_TAIL_BITS = 54  # a tail is a whole number and a half of these parts of one
_FIRST_CELL = (1021 - (_OCTAVES - 1)) * _CELLS  # 1021: exponent field of a float in [0.25, 0.5)

State = tuple[int, ...]  # words of the generator's state: plain whole numbers are set much faster than an array's

# Constants in the arithmetic of whole arrays are arrays too: NumPy takes as long to make one of a number as to use it.
_LAST_BITS, _TO_SIGN = np.array(11, dtype=np.uint64), np.array(63, dtype=np.uint64)
_HALF, _UNIT = np.array(0.5), np.array(2.0**-53)
_TO_CELL, _PLACE_MASK = np.array(_PLACE_BITS, dtype=np.int64), np.array((1 << _PLACE_BITS) - 1, dtype=np.int64)
_FIRST_SCALED_CELL = np.array(_FIRST_CELL + (_TAIL_BITS - 1) * _CELLS, dtype=np.int64)

_NO_BUFFER = (0, 0, 0, 0)
_FEW = 8  # words up to which one by one is faster than all at once
_AS_FLOAT, _AS_BITS = struct.Struct("<d"), struct.Struct("<q")


def _encode(parts: tuple[str | int, ...]) -> bytes:
    # Length prefixes keep ("ab", "c") and ("a", "bc") apart.
    encoded = b""
    for part in parts:
        raw = str(part).encode()
        encoded += len(raw).to_bytes(4, "big") + raw
    return encoded


def _as_words(raw: bytes) -> State:
    return struct.unpack(f">{len(raw) // 8}Q", raw)


@lru_cache(maxsize=4096)
def _key(seed: str, case_id: str) -> State:
    raw = hashlib.blake2b(_encode((seed, case_id)), digest_size=16).digest()
    return _as_words(raw)


@lru_cache(maxsize=8192)
def _place(path: tuple[str | int, ...]) -> State:
    # The counter of a series' first block: the block number, then the path.
    raw = hashlib.blake2b(_encode(path), digest_size=24).digest()
    return _as_words(bytes(8) + raw)


@lru_cache(maxsize=1)
def _normal_table() -> tuple[Reals, Reals]:
    # (value, slope) of the inverse normal in cells of the upper half, by octave of the tail, finer outwards. Row 0 belongs to the
    # smallest tails, as floats order them; the last is the tail of one half. Built once with exact scalar maths.
    inverse = NormalDist().inv_cdf
    edges = np.zeros((_OCTAVES + 1, _CELLS + 1))
    for octave in range(_OCTAVES):
        low = 2.0 ** -(octave + 2)
        edges[_OCTAVES - 1 - octave] = [-inverse(low + low * k / _CELLS) for k in range(_CELLS + 1)]
    return edges[:, :-1].ravel(), np.diff(edges, axis=1).ravel()


def words_to_uniform(words: Words) -> Reals:
    """Uniform on [0, 1) with 53 bits."""
    uniform: Reals = (words >> _LAST_BITS).astype(np.float64)
    uniform *= _UNIT
    return uniform


@lru_cache(maxsize=1)
def _scaled_table() -> tuple[Reals, Reals]:
    # The same for whole arrays: an octave more, for the one tail smaller than all, and slopes for places that are whole numbers. Scaling
    # by powers of two rounds nothing, so the bits stay.
    value, slope = _normal_table()
    return np.concatenate([np.repeat(value[:1], _CELLS), value]), np.concatenate([np.zeros(_CELLS), slope]) * 2.0**-_PLACE_BITS


@lru_cache(maxsize=1)
def _normal_lists() -> tuple[list[float], list[float]]:
    value, slope = _normal_table()
    return value.tolist(), slope.tolist()


def _word_to_normal(word: int) -> float:
    # The arithmetic of `words_to_normal` on one word, step by step the same: for a few words much faster than arrays.
    value, slope = _normal_lists()
    tail = ((word >> 11) + 0.5) * 2.0**-54
    (bits,) = _AS_BITS.unpack(_AS_FLOAT.pack(tail))
    cell = max((bits >> _PLACE_BITS) - _FIRST_CELL, 0)
    return math.copysign((bits & ((1 << _PLACE_BITS) - 1)) * 2.0**-_PLACE_BITS * slope[cell] + value[cell], -1.0 if word & 1 else 1.0)


def words_to_normal(words: Words) -> Reals:
    """Standard normals by table: one sign bit, an octave of the tail, linear inside a cell (error below 1e-4).

    Only shifts, products and sums, so the bits are the same on every CPU.
    """
    if words.ndim == 1 and words.size <= _FEW:
        return np.array([_word_to_normal(word) for word in words.tolist()], dtype=np.float64)
    value, slope = _scaled_table()
    tail = (words >> _LAST_BITS).astype(np.float64)
    tail += _HALF  # 2**54 times the tail, which lies in (0, 0.5]
    # A float holds octave, cell and place in the cell one after the other: exponent, first bits and last bits of the mantissa.
    bits = tail.view(np.int64)
    cell = bits >> _TO_CELL
    cell -= _FIRST_SCALED_CELL
    bits &= _PLACE_MASK
    normals = bits.astype(np.float64)
    normals *= slope.take(cell)
    normals += value.take(cell)
    return np.copysign(normals, (words << _TO_SIGN).view(np.float64), out=normals)


class _Turn:
    # One generator, turned to an address before it draws. What its state is set from is kept, and only counter and key are changed.
    __slots__ = ("_inner", "_philox", "_state")

    def __init__(self) -> None:
        self._philox = np.random.Philox(key=0)
        self._inner: dict[str, State] = {}
        self._state: Any = {
            "bit_generator": "Philox",
            "state": self._inner,
            "buffer": _NO_BUFFER,
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }

    def to(self, key: State, place: State, block: int) -> np.random.Philox:
        """The generator at a counter step of an address."""
        self._inner["key"] = key
        self._inner["counter"] = (block, *place[1:]) if block else place
        self._philox.state = self._state
        return self._philox

    def first_words(self, key: State, paths: Iterable[tuple[str | int, ...]], n: int | None) -> Iterator[Any]:
        """What the generator draws first at each of some addresses of a case: a word, or `n` of them."""
        philox, state, inner = self._philox, self._state, self._inner
        for path in paths:
            inner["key"], inner["counter"] = key, _place(path)
            philox.state = state
            yield philox.random_raw(n)


class Series:
    """The draws at one address. Element i is the same however many are asked for."""

    __slots__ = ("_key", "_place", "_turn")

    def __init__(self, turn: "_Turn", key: State, place: State) -> None:
        self._turn, self._key, self._place = turn, key, place

    def words(self, n: int, *, start: int = 0) -> Words:
        """`n` raw 64-bit words from element `start` on."""
        block, offset = divmod(start, 4) if start else (0, 0)  # one Philox counter step yields four words
        drawn: Words = self._turn.to(self._key, self._place, block).random_raw(n + offset)
        return drawn[offset:] if offset else drawn

    def uniform(self, n: int, *, start: int = 0) -> Reals:
        """`n` uniforms on [0, 1)."""
        return words_to_uniform(self.words(n, start=start))

    def normal(self, n: int, *, start: int = 0) -> Reals:
        """`n` standard normals."""
        return words_to_normal(self.words(n, start=start))

    def chance(self, index: int = 0) -> float:
        """One uniform on [0, 1)."""
        return (self._word(index) >> 11) * 2.0**-53

    def _word(self, index: int) -> int:
        block, offset = divmod(index, 4) if index else (0, 0)
        philox = self._turn.to(self._key, self._place, block)
        for _ in range(offset):
            philox.random_raw()
        word: int = philox.random_raw()
        return word

    def gauss(self, index: int = 0) -> float:
        """One standard normal."""
        return _word_to_normal(self._word(index))

    def whole(self, low: int, high: int, *, index: int = 0) -> int:
        """One whole number, both ends included."""
        return low + int(self.chance(index) * (high - low + 1))

    def pick(self, options: Sequence[T], *, index: int = 0) -> T:
        """One of the options, all equally likely."""
        return options[int(self.chance(index) * len(options))]

    def order(self, n: int) -> list[int]:
        """A permutation of range(n)."""
        order: list[int] = self.words(n).argsort(kind="stable").tolist()
        return order


class Rng:
    """All randomness of one seed; `at` names a series by case id and a path of words. One instance a thread."""

    __slots__ = ("_case_id", "_key", "_turn", "seed")

    def __init__(self, seed: str | int) -> None:
        self.seed = str(seed)
        self._turn = _Turn()
        self._case_id, self._key = "", _key(self.seed, "")

    def at(self, case_id: str, *path: str | int) -> Series:
        """The series at an address; equal addresses give equal series."""
        return Series(self._turn, self._key_of(case_id), _place(path))

    def first_words(self, case_id: str, paths: Sequence[tuple[str | int, ...]], n: int) -> Words:
        """The first `n` words of several series of a case, [path, word]: those `at` gives one by one, for less."""
        key = self._key_of(case_id)
        if n == 1:
            return np.array(list(self._turn.first_words(key, paths, None)), dtype=np.uint64).reshape(-1, 1)
        words = np.empty((len(paths), n), dtype=np.uint64)
        for place, drawn in enumerate(self._turn.first_words(key, paths, n)):
            words[place] = drawn
        return words

    def _key_of(self, case_id: str) -> State:
        # Mostly one case is asked for many times in a row.
        if case_id != self._case_id:
            self._case_id, self._key = case_id, _key(self.seed, case_id)
        return self._key
