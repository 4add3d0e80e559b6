"""Numbers into the gaps of a ready text, thousands at a time.

orjson writes all numbers of a chunk in one go; numpy then moves them, and the pieces between them, to their places.
A number is moved as a window of as many bytes as the longest has, in ascending order: what it drags along is written
over by what comes after it. A short piece stands in the same window, before the number. No Python object is made for a
number, which is what splitting and joining cost.

Numbers that stay (scales, say) become part of the pieces, and the text of a chunk in which nothing changed is copied.
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
Indices = NDArray[np.intp] | slice
# Numbers worked on at a time: many enough that a call of numpy costs little, few enough for the cache.
CHUNK = 2048 * 22
COMMA = ord(",")
NUMBER = len("-2.2250738585072014e-308")  # no number is longer
LEAD = 8  # so many bytes of a window may be the piece before the number
WINDOW = LEAD + NUMBER
# Written before the first number and after the last, so that their windows are inside the text.
ZEROS = np.zeros(WINDOW // len("0.0,"))
MARGIN = len(ZEROS) * len("0.0,")  # and where the comma before the first number is
# A one in one byte of four, times this, has its number from the left in the highest byte.
WHICH_OF_FOUR = 0x00010203
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
        self._gaps = _gaps([*pieces, b""])

    def fill(self, numbers: Floats, page: Bytes, begin: int) -> int:
        """Write the text of this chunk there; returns where it ends."""
        moved = numbers.view(np.int64) != self._numbers.view(np.int64)
        if self._text is None or moved.any():
            if self._text is not None:
                self._ever_moved |= moved
                self._cut_anew(numbers, moved)
            self._numbers[:] = numbers
            end = begin + _fill(self._gaps, numbers.take(self._chosen), page[begin:])
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
        self._gaps = _gaps(_folded(self._pieces, numbers, free))

    def _too_many(self, free: Flags) -> bool:
        """Whether too few numbers stay."""
        return int(np.count_nonzero(free)) > (1 - WORTH_FOLDING) * self.count


@dataclass(frozen=True, slots=True)
class _Gaps:
    """n + 1 pieces with n gaps between them, ready for numpy.

    A piece of at most `LEAD` bytes travels in the window of the number behind it. Of longer ones all of one length are
    placed by one assignment.
    """

    # Where a window begins, in orjson's text and in the page, less where the comma before its number is.
    source: NDArray[np.intp]
    target: NDArray[np.intp]
    keep: NDArray[np.uint64]  # the part of a window's first bytes that is the number's
    lead: NDArray[np.uint64]  # and the piece before it
    end: int  # where the text ends, less where the last window begins
    alike: tuple[tuple[Indices, NDArray[np.void]], ...]  # which pieces are longer, and what they say


def _gaps(pieces: Sequence[bytes]) -> _Gaps:
    lengths = np.array([len(piece) for piece in pieces])
    alike = []
    for length in np.unique(lengths[lengths > LEAD]).tolist():
        which = np.flatnonzero(lengths == length)
        values = np.frombuffer(b"".join([pieces[index] for index in which.tolist()]), f"V{length}")
        alike.append((_regular(which), values[:1].copy() if (values == values[0]).all() else values))
    short = [piece if len(piece) <= LEAD else b"" for piece in pieces]
    leads = np.where(lengths <= LEAD, lengths, 0)
    mask = np.where(np.arange(LEAD) < leads[:, None], 0, 255).astype(np.uint8)
    return _Gaps(
        source=1 - leads,
        # orjson's text has a comma after each number and other numbers before; ours has neither.
        target=np.cumsum(lengths) - np.arange(len(pieces)) - MARGIN - leads,
        keep=mask.view(np.uint64)[:, 0],
        lead=np.frombuffer(b"".join([piece.ljust(LEAD, b"\0") for piece in short]), np.uint64),
        end=int(leads[-1]),
        alike=tuple(alike),
    )


def _regular(which: NDArray[np.intp]) -> Indices:
    """The same as a slice, which numpy takes without reading it, where each is as far from the last."""
    first, last, step = int(which[0]), int(which[-1]), int(which[1] - which[0]) if len(which) > 1 else 1
    regular = last - first == step * (len(which) - 1) and bool((np.diff(which) == step).all())
    return slice(first, last + 1, step) if regular else which


def _fill(gaps: _Gaps, numbers: Floats, page: Bytes) -> int:
    """Write pieces and numbers, and up to a window of anything after them; returns how many bytes."""
    framed = np.concatenate([ZEROS, numbers, ZEROS])
    text = np.frombuffer(orjson.dumps(framed, option=orjson.OPT_SERIALIZE_NUMPY), np.uint8)
    # One more than there are numbers: where the last window comes to stand, the text ends.
    before = _commas(text)[len(ZEROS) - 1 : len(ZEROS) + len(numbers)]
    windows = _windows(text, WINDOW)[before + gaps.source]
    heads = np.ndarray((len(windows),), np.uint64, windows, strides=(WINDOW,))
    heads &= gaps.keep
    heads |= gaps.lead
    places = before + gaps.target
    _windows(page, WINDOW)[places] = windows
    for which, values in gaps.alike:
        length = values.itemsize
        _windows(page, length)[places[which] - length] = values
    return int(places[-1]) + gaps.end


def _commas(text: Bytes) -> NDArray[np.intp]:
    """Where the commas are: at most one in four bytes, since the shortest number is `0.0`."""
    fours = (text[: len(text) // 4 * 4] == COMMA).view("<u4")
    found = np.flatnonzero(fours != 0)
    which = fours.take(found)
    which *= WHICH_OF_FOUR
    which >>= 24
    found *= 4
    found += which
    return found


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
