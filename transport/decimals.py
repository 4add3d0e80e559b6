"""Numbers with a fixed number of decimals, written in place into a ready text: JSON quickly rather than exactly.

Metres have four decimals, so they are right to 0.05 mm; degrees have twelve (well below a micrometre on the ground);
parts of quaternions, scales and velocities have eight. A text whose numbers do not fit its fields is not written.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.schemas.errors import missing_extra

Floats = NDArray[np.float64]
METRES, PARTS, DEGREES = 0, 1, 2
# By kind: groups of four digits before and after the point.
BEFORE = np.array([2, 1, 1])
AFTER = np.array([1, 2, 3])
SCALE = 10_000.0**AFTER
WIDTH = 2 + 4 * (BEFORE + AFTER)
# From here on a number does not fit; half a last digit less than the first that is too wide.
LIMIT = 10_000.0**BEFORE - 0.5 / SCALE
TOLERANCE = 0.5 / SCALE  # how far a written number may be from the true one, besides the rounding of a float


class DecimalText:
    """A text with a field for each number between n + 1 pieces; `fill` writes what changed."""

    def __init__(self, pieces: Sequence[bytes], kinds: NDArray[np.int8]) -> None:
        """`kinds` says METRES, PARTS or DEGREES for each number."""
        self._kernel = require_decimals()
        lengths = np.array([len(piece) for piece in pieces[:-1]], np.int64)
        self._kinds = kinds
        self._places = np.cumsum(lengths + WIDTH[kinds]) - WIDTH[kinds]
        fields = [b" " * (1 + 4 * before) + b"." + b" " * 4 * after for before, after in _shapes()]
        woven = [b""] * (2 * len(kinds) + 1)
        woven[0::2] = pieces
        woven[1::2] = [fields[kind] for kind in kinds.tolist()]
        self._page = np.frombuffer(b"".join(woven), np.uint8).copy()
        self._written = np.full(len(kinds), np.nan)

    def fill(self, numbers: Floats) -> memoryview | None:
        """The text, good until the next fill; None when a number is not finite or too large for its field."""
        bad = self._kernel.write_decimals(
            self._page, self._places, self._kinds, numbers, self._written, SCALE, LIMIT
        )
        return None if bad >= 0 else self._page.data


def _shapes() -> list[tuple[int, int]]:
    return list(zip(BEFORE.tolist(), AFTER.tolist(), strict=True))


def require_decimals() -> Any:
    """The compiled writer; MissingExtraError without numba."""
    try:
        from diorama.transport import kernels
    except ImportError:
        missing_extra("fast", "JSON with fixed decimals")
    return kernels
