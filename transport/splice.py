"""Numbers into the gaps of a ready text, thousands at a time.

orjson writes all numbers of a chunk in one go; numpy then moves them, and the pieces between them, to their places.
A number is moved as a window of 24 bytes, more than the longest has, in ascending order: what it drags along is
written over by what comes after it. No Python object is made for a number, which is what splitting and joining cost.

Numbers that stay (scales, say) become part of the pieces, and a chunk in which nothing changed keeps its text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import orjson
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
# Numbers worked on at a time: many enough that a call of numpy costs little, few enough for the cache.
CHUNK = 2048 * 22
COMMA = ord(",")
WINDOW = 24  # bytes of -2.2250738585072014e-308
# Zeros written after the last number, so that its window ends inside the text.
SPARE = WINDOW // len("0.0,")
# Cutting a chunk anew costs a few fills: worth it for as many numbers as this, and only so often.
WORTH_FOLDING = 0.1
CUTS = 4


class Splice:
    """A text with gaps, made of n + 1 pieces; `fill` puts n numbers between them."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        gaps = len(pieces) - 1
        same: dict[bytes, bytes] = {}
        kept = [same.setdefault(piece, piece) for piece in pieces]
        self._chunks = [_Chunk(kept[start : min(start + CHUNK, gaps)]) for start in range(0, gaps, CHUNK)]
        self._end = np.frombuffer(kept[-1], np.uint8)
        self._page = np.empty(sum(map(len, kept)) + (gaps + 3) * WINDOW, np.uint8)

    def fill(self, numbers: Floats) -> memoryview:
        """The text with its numbers, which are finite: byte by byte what orjson writes. Good until the next fill."""
        start = place = 0
        for chunk in self._chunks:
            place = chunk.fill(numbers[start : start + chunk.count], self._page, place)
            start += chunk.count
        whole = place + len(self._end)
        self._page[place:whole] = self._end
        return self._page[:whole].data


class _Chunk:
    """Some of the pieces, a number after each of them, and what they were filled with last time."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.count = len(pieces)
        self._pieces = pieces
        self._span = (-1, -1)  # where in the page its text is
        self._head = np.empty(0, np.uint8)  # how it begins
        self._numbers = np.full(self.count, np.nan)
        self._free = np.ones(self.count, np.bool_)  # numbers that are not part of the pieces
        self._chosen = np.arange(self.count)
        self._ever_moved = np.zeros(self.count, np.bool_)
        self._cuts = 0
        self._gaps = _gaps([*pieces, b""])

    def fill(self, numbers: Floats, page: Bytes, begin: int) -> int:
        """Write the text of this chunk there; returns where it ends."""
        first = self._span[0] < 0
        moved = numbers.view(np.int64) != self._numbers.view(np.int64)
        if self._span[0] == begin and not moved.any():
            page[begin : begin + len(self._head)] = self._head  # the chunk before wrote a little too far
            return self._span[1]
        if not first:
            self._ever_moved |= moved
            self._cut_anew(numbers, moved)
        self._numbers[:] = numbers
        end = begin + _fill(self._gaps, numbers.take(self._chosen), page[begin:])
        self._span = begin, end
        self._head = page[begin : min(begin + WINDOW, end)].copy()
        return end

    def _cut_anew(self, numbers: Floats, moved: Flags) -> None:
        """Take numbers that stay into the pieces, and out again when they move after all."""
        wrong = bool((moved & ~self._free).any())
        if not wrong and (self._cuts or 1 - self._ever_moved.mean() < WORTH_FOLDING):
            return
        self._cuts += 1
        free = self._ever_moved.copy() if self._cuts < CUTS else np.ones(self.count, np.bool_)
        if free.mean() > 1 - WORTH_FOLDING:
            free[:] = True
        self._free, self._chosen = free, np.flatnonzero(free)
        self._gaps = _gaps(_folded(self._pieces, numbers, free))


@dataclass(frozen=True, slots=True)
class _Gaps:
    """n + 1 pieces with n gaps between them, ready for numpy: all of one length are placed by one assignment."""

    shift: NDArray[np.intp]  # where a number comes to stand, less where it begins in orjson's text
    alike: tuple[tuple[NDArray[np.intp], NDArray[np.void]], ...]  # which pieces, and what they say


def _gaps(pieces: Sequence[bytes]) -> _Gaps:
    lengths = np.array([len(piece) for piece in pieces])
    alike = []
    for length in np.unique(lengths[lengths > 0]).tolist():
        which = np.flatnonzero(lengths == length)
        values = np.frombuffer(b"".join([pieces[index] for index in which.tolist()]), f"V{length}")
        alike.append((which, values[:1].copy() if (values == values[0]).all() else values))
    # orjson's text begins with a bracket and has a comma after each number; ours has neither.
    return _Gaps(np.cumsum(lengths) - 1 - np.arange(len(pieces)), tuple(alike))


def _fill(gaps: _Gaps, numbers: Floats, page: Bytes) -> int:
    """Write pieces and numbers, and up to a window of anything after them; returns how many bytes."""
    spared = np.concatenate([numbers, np.zeros(SPARE)])
    text = np.frombuffer(orjson.dumps(spared, option=orjson.OPT_SERIALIZE_NUMPY), np.uint8)
    begins = np.empty(len(numbers) + 1, np.intp)
    begins[0] = 1
    np.add(np.flatnonzero(text == COMMA)[: len(numbers)], 1, out=begins[1:])
    places = begins + gaps.shift  # the last one, of a number that is not there, is where the text ends
    _windows(page, WINDOW)[places] = _windows(text, WINDOW)[begins]
    for which, values in gaps.alike:
        length = values.itemsize
        _windows(page, length)[places[which] - length] = values
    return int(places[-1])


def _windows(text: Bytes, width: int) -> NDArray[np.void]:
    """Every run of `width` bytes of a text, as items that share its memory."""
    return np.ndarray((len(text) - width + 1,), f"V{width}", text, strides=(1,))


def _folded(pieces: Sequence[bytes], numbers: Floats, free: Flags) -> list[bytes]:
    """The pieces with all numbers in them that are not free."""
    texts = orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    merged = [b""]
    start = 0
    for index in np.flatnonzero(free).tolist():
        merged[-1] = _woven(pieces[start : index + 1], texts[start:index])
        merged.append(b"")
        start = index + 1
    merged[-1] = _woven(pieces[start:], texts[start:])
    return merged


def _woven(pieces: Sequence[bytes], texts: Sequence[bytes]) -> bytes:
    """Pieces and texts in turn."""
    return b"".join([part for pair in zip_longest(pieces, texts, fillvalue=b"") for part in pair])
