"""Members of an object whose values differ in their numbers alone, written all at once."""

from collections.abc import Sequence

import numpy as np

from diorama.transport.gaps import (
    LEAD,
    NUMBER,
    WINDOW,
    Floats,
    Gaps,
    Items,
    Leads,
    Places,
    fill,
    laid_out,
    leads_of,
)

SLAB = 2048  # members written at a time


class Members:
    """What is the same in each of them: the n + 1 pieces around the n numbers of a value."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        first, *between, last = pieces
        self._width = len(pieces) - 1
        # A member begins with the end of the one before it. After the last one that of another begins, without a key.
        self._before, self._after = last + b",", b":" + first
        long = b" " * WINDOW  # the piece with the key never travels with a number
        self._leads = leads_of([long, *between])
        self._lengths = np.array([0, *map(len, between)])
        self._alike: list[tuple[Places | slice, Items]] = [
            (slice(index, None, self._width), np.frombuffer(piece, f"V{len(piece)}"))
            for index, piece in enumerate(between, start=1)
            if len(piece) > LEAD
        ]

    def named(self, keys: Sequence[bytes]) -> "Named":
        """The members of these keys, which are JSON."""
        slabs = [self._slab(keys[start : start + SLAB]) for start in range(0, len(keys), SLAB)]
        return Named(slabs, len(self._before), len(b"," + self._after))

    def _slab(self, keys: Sequence[bytes]) -> tuple[Gaps, int]:
        """The gaps of some members, and how long all pieces are together."""
        count, width = len(keys), self._width
        size = count * width + 1
        leads = self._leads
        columns = (leads.source, leads.keep, leads.piece, self._lengths)
        source, keep, piece, lengths = (np.tile(column, count + 1)[:size] for column in columns)
        begins = [self._before + key + self._after for key in (*keys, b"")]
        lengths[::width] = list(map(len, begins))
        alike = [*self._alike]
        for length in set(lengths[::width].tolist()):
            which = np.flatnonzero(lengths[::width] == length)
            text = b"".join([begins[index] for index in which.tolist()])
            alike.append((which * width, np.frombuffer(text, f"V{length}")))
        return laid_out(lengths, Leads(source, keep, piece), alike), int(lengths.sum())


class Named:
    """The members of some keys; `fill` gives them their numbers."""

    def __init__(self, slabs: list[tuple[Gaps, int]], before: int, after: int) -> None:
        """`before` and `after`: how many bytes at the ends of a text belong to members that are not there."""
        self._slabs = slabs
        self._before, self._after = before, after

    def fill(self, numbers: Floats) -> list[memoryview]:
        """All members with commas between them, some thousand a text; a row of numbers for each."""
        flat = numbers.ravel()
        texts = []
        start = 0
        for gaps, room in self._slabs:
            count = len(gaps.target) - 1
            page = np.empty(room + count * NUMBER + WINDOW, np.uint8)
            end = fill(gaps, flat[start : start + count], page)
            texts.append(page.data[self._before : end - self._after])
            start += count
        return texts
