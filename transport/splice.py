"""Numbers into the gaps of a ready text: every time all of them, most of which may have moved.

Numbers that stay (scales, say) become part of the pieces, and the text of a chunk in which nothing changed is copied.
"""

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import orjson
from numpy.typing import NDArray

from diorama.transport.gaps import NUMBER, WINDOW, Bytes, Floats, fill, gaps_of

Flags = NDArray[np.bool_]
# Numbers worked on at a time: many enough that a call of numpy costs little, few enough for the cache.
CHUNK = 2048 * 22
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
        self._end = kept[-1]
        self._room = sum(map(len, kept)) + gaps * NUMBER + WINDOW

    def fill(self, numbers: Floats, head: bytes = b"") -> memoryview:
        """The text with its numbers, which are finite, after a head of any kind: byte by byte what orjson writes.

        Nobody writes to it any more, so it may travel without being copied.
        """
        page = np.empty(len(head) + self._room, np.uint8)
        text = page.data
        start, place = 0, len(head)
        text[:place] = head
        for chunk in self._chunks:
            place = chunk.fill(numbers[start : start + chunk.count], page, place)
            start += chunk.count
        whole = place + len(self._end)
        text[place:whole] = self._end
        return text[:whole].toreadonly()


class _Chunk:
    """Some of the pieces, a number after each of them, and what they were filled with last time."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.count = len(pieces)
        self._pieces = pieces
        self._text: Bytes | None = None  # of last time
        self._numbers = np.full(self.count, np.nan)
        self._free = np.ones(self.count, np.bool_)  # numbers that are not part of the pieces
        self._chosen = np.arange(self.count)
        self._ever_moved = np.zeros(self.count, np.bool_)
        self._cuts = 0
        self._gaps = gaps_of([*pieces, b""])

    def fill(self, numbers: Floats, page: Bytes, begin: int) -> int:
        """Write the text of this chunk there; returns where it ends."""
        moved = numbers.view(np.int64) != self._numbers.view(np.int64)
        if self._text is None or moved.any():
            if self._text is not None:
                self._ever_moved |= moved
                self._cut_anew(numbers, moved)
            self._numbers[:] = numbers
            end = begin + fill(self._gaps, numbers.take(self._chosen), page[begin:])
        else:
            end = begin + len(self._text)
            page[begin:end] = self._text
        self._text = page[begin:end]
        return end

    def _cut_anew(self, numbers: Floats, moved: Flags) -> None:
        """Take numbers that stay into the pieces, and out again when they move after all."""
        wrong = bool((moved & ~self._free).any())
        if not wrong and (self._cuts or self._too_many(self._ever_moved)):
            return
        self._cuts += 1
        free = self._ever_moved.copy() if self._cuts < CUTS else np.ones(self.count, np.bool_)
        if self._too_many(free):
            free[:] = True
        self._free, self._chosen = free, np.flatnonzero(free)
        self._gaps = gaps_of(_folded(self._pieces, numbers, free))

    def _too_many(self, free: Flags) -> bool:
        """Whether too few numbers stay."""
        return int(np.count_nonzero(free)) > (1 - WORTH_FOLDING) * self.count


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
