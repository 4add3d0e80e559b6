"""A text with gaps laid out for numpy, which moves thousands of numbers into it at a time.

orjson writes all numbers in one go; numpy then moves them, and the pieces between them, to their places. A number is
moved as a window of as many bytes as the longest has, in ascending order: what it drags along is written over by what
comes after it. A short piece stands in the same window, before the number. No Python object is made for a number, which
is what splitting and joining cost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]
Items = NDArray[np.void]
Alike = tuple[tuple[Places | slice, Items], ...]
COMMA = ord(",")
NUMBER = len("-2.2250738585072014e-308")  # no number is longer
LEAD = 8  # so many bytes of a window may be the piece before the number
WINDOW = LEAD + NUMBER
# Written before the first number and after the last, so that their windows are inside the text.
ZEROS = np.zeros(WINDOW // len("0.0,"))
MARGIN = len(ZEROS) * len("0.0,")  # and where the comma before the first number is
# A one in one byte of four, times this, has its number from the left in the highest byte.
WHICH_OF_FOUR = 0x00010203


@dataclass(frozen=True, slots=True)
class Leads:
    """The pieces of at most `LEAD` bytes: they travel in the windows of the numbers behind them."""

    source: Places  # where a window begins in orjson's text, less where the comma before its number is
    keep: NDArray[np.uint64]  # the part of a window's first bytes that is the number's
    piece: NDArray[np.uint64]  # and the piece before it


@dataclass(frozen=True, slots=True)
class Gaps:
    """n + 1 pieces with n gaps between them. Of long pieces all of one length are placed by one assignment."""

    leads: Leads
    target: Places  # where a window begins in the page, less where the comma before its number is in orjson's text
    alike: Alike  # which pieces are long, and what they say


def gaps_of(pieces: Sequence[bytes]) -> Gaps:
    """The gaps between these."""
    lengths = np.array([len(piece) for piece in pieces])
    alike = []
    for length in np.unique(lengths[lengths > LEAD]).tolist():
        which = np.flatnonzero(lengths == length)
        values = np.frombuffer(b"".join([pieces[index] for index in which.tolist()]), f"V{length}")
        alike.append((_regular(which), values[:1].copy() if (values == values[0]).all() else values))
    return laid_out(lengths, leads_of(pieces), alike)


def leads_of(pieces: Sequence[bytes]) -> Leads:
    """Those that are short enough, and nothing for the others."""
    short = [piece if len(piece) <= LEAD else b"" for piece in pieces]
    lengths = np.array([len(piece) for piece in short])
    keep = np.where(np.arange(LEAD) < lengths[:, None], 0, 255).astype(np.uint8).view(np.uint64)[:, 0]
    padded = b"".join([piece.ljust(LEAD, b"\0") for piece in short])
    return Leads(1 - lengths, keep, np.frombuffer(padded, np.uint64))


def laid_out(lengths: Places, leads: Leads, alike: Iterable[tuple[Places | slice, Items]]) -> Gaps:
    """The gaps between pieces of these lengths."""
    # orjson's text has a comma after each number and other numbers before; ours has neither.
    places = np.cumsum(lengths) - np.arange(MARGIN, MARGIN + len(lengths))
    return Gaps(leads, places + leads.source - 1, tuple(alike))


def _regular(which: Places) -> Places | slice:
    """The same as a slice, which numpy takes without reading it, where each is as far from the last."""
    first, last, step = int(which[0]), int(which[-1]), int(which[1] - which[0]) if len(which) > 1 else 1
    regular = last - first == step * (len(which) - 1) and bool((np.diff(which) == step).all())
    return slice(first, last + 1, step) if regular else which


def fill(gaps: Gaps, numbers: Floats, page: Bytes) -> int:
    """Write pieces and numbers, and up to a window of anything after them; returns how many bytes."""
    framed = np.concatenate([ZEROS, numbers, ZEROS])
    text = np.frombuffer(orjson.dumps(framed, option=orjson.OPT_SERIALIZE_NUMPY), np.uint8)
    # One more than there are numbers: where the next would be, the text ends.
    before = _commas(text)[len(ZEROS) - 1 : len(ZEROS) + len(numbers)]
    leads = gaps.leads
    windows = _windows(text, WINDOW)[before + leads.source]
    heads = np.ndarray((len(windows),), np.uint64, windows, strides=(WINDOW,))
    heads &= leads.keep
    heads |= leads.piece
    places = before + gaps.target
    _windows(page, WINDOW)[places] = windows
    for which, values in gaps.alike:
        length = values.itemsize
        _windows(page, length)[places[which] - length] = values
    return int(places[-1]) + 1 - int(leads.source[-1])


def _commas(text: Bytes) -> Places:
    """Where the commas are: at most one in four bytes, since the shortest number is `0.0`."""
    fours = (text[: len(text) // 4 * 4] == COMMA).view("<u4")
    found = np.flatnonzero(fours != 0)
    which = fours.take(found)
    which *= WHICH_OF_FOUR
    which >>= 24
    found *= 4
    found += which
    return found


def _windows(text: Bytes, width: int) -> Items:
    """Every run of `width` bytes of a text, as items that share its memory."""
    return np.ndarray((len(text) - width + 1,), f"V{width}", text, strides=(1,))
