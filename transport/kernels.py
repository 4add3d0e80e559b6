"""The numba kernel that writes numbers with a fixed number of decimals. Importing this module needs numba.

A number is scaled to an integer and written four digits at a time from a table, into a field of a ready text that is
as wide as the largest number it may hold; blanks before the number are as good as nothing in JSON.
"""

from typing import Any

import numpy as np
from numba import njit

BLANK, MINUS = ord(" "), ord("-")


def _packed(texts: list[str]) -> "np.ndarray[Any, np.dtype[np.uint32]]":
    return np.frombuffer("".join(texts).encode(), "<u4").copy()


# Four digits; the same with blanks for leading zeros; the same with nothing but blanks for zero.
_ALL = range(10_000)
DIGITS, LEADING, OPTIONAL = 0, 10_000, 20_000
TABLE = _packed([f"{n:04d}" for n in _ALL] + [f"{n:4d}" for n in _ALL] + [f"{n or '':>4}" for n in _ALL])
WIDTH = np.array([len(str(number)) for number in _ALL], np.int64)
TEN_THOUSAND = np.uint64(10_000)


@njit(cache=True, inline="always")
def _put(page: Any, place: int, entry: Any) -> None:
    packed = TABLE[entry]
    page[place] = packed & 255
    page[place + 1] = (packed >> 8) & 255
    page[place + 2] = (packed >> 16) & 255
    page[place + 3] = (packed >> 24) & 255


@njit(cache=True)
def write_decimals(
    page: Any, places: Any, kinds: Any, numbers: Any, written: Any, scales: Any, limits: Any
) -> int:
    """Write what differs from `written`; returns the first number that does not fit its field or is none, or -1.

    A field is a sign, four or eight digits, a point (which stands there already), and four digits or more; see
    `decimals.py` for the kinds. There are few branches, since nobody can predict them.
    """
    for index in range(len(numbers)):
        number = numbers[index]
        if number == written[index]:
            continue
        kind = kinds[index]
        if not abs(number) < limits[kind]:
            return index
        written[index] = number
        place = places[index]
        rest = np.uint64(abs(number) * scales[kind] + 0.5)
        mark = MINUS if number < 0.0 and rest != 0 else BLANK
        if kind == 0:  # 8 digits, 4 decimals
            left = rest // TEN_THOUSAND
            _put(page, place + 10, rest - left * TEN_THOUSAND)
            high = left // TEN_THOUSAND
            low = left - high * TEN_THOUSAND
            _put(page, place + 5, low + np.uint64(DIGITS if high else LEADING))
            _put(page, place + 1, high + np.uint64(OPTIONAL))
            sign = place + (4 - WIDTH[high] if high else 8 - WIDTH[low])
        else:  # 4 digits, 8 decimals or 12
            at = place + 6
            if kind == 2:
                left = rest // TEN_THOUSAND
                _put(page, at + 8, rest - left * TEN_THOUSAND)
                rest = left
            left = rest // TEN_THOUSAND
            _put(page, at + 4, rest - left * TEN_THOUSAND)
            rest = left
            left = rest // TEN_THOUSAND
            _put(page, at, rest - left * TEN_THOUSAND)
            _put(page, place + 1, left + np.uint64(LEADING))
            sign = place + 4 - WIDTH[left]
        page[place] = BLANK
        page[sign] = mark
    return -1
