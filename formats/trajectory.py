"""AeroSim's trajectory files: a JSON array of `{"time", "lat", "lon", "alt"}`, seconds, degrees and metres."""

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

from orjson import dumps

from diorama.ecs.motion import Trajectory
from diorama.formats.files import read_file
from diorama.formats.jsonc import Document, parse
from diorama.schemas.errors import Problem, SceneError

LIMITS: Mapping[str, tuple[float, float]] = {
    "time": (-inf, inf),
    "lat": (-90.0, 90.0),
    "lon": (-180.0, 180.0),
    "alt": (-inf, inf),
}


def read_trajectory(path: str | Path, *, smooth: bool = True, loop: bool = False) -> Trajectory:
    """The waypoints of a file, to be set on an entity; raises SceneError with everything wrong in it."""
    document = parse(read_file(path), str(path))
    problems: list[Problem] = []
    points = document.value
    if not isinstance(points, list) or not points:
        raise SceneError(document.problem((), "expected an array of waypoints with time, lat, lon and alt"))
    rows = [_waypoint(document, index, point, problems) for index, point in enumerate(points)]
    for index in range(1, len(rows)):
        if rows[index][0] <= rows[index - 1][0]:
            message = f"expected a time after {rows[index - 1][0]:g}, got {rows[index][0]:g}"
            problems.append(document.problem((index, "time"), message))
    if problems:
        raise SceneError(problems)
    return Trajectory(
        times=tuple(row[0] for row in rows),
        positions=tuple((row[1], row[2], row[3]) for row in rows),
        frame="lla",
        smooth=smooth,
        loop=loop,
        name=Path(path).stem,
    )


def _waypoint(document: Document, index: int, point: Any, problems: list[Problem]) -> list[float]:
    row = []
    for key, (low, high) in LIMITS.items():
        value = point.get(key) if isinstance(point, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            expected = "a number" if low == -inf else f"a number from {low:g} to {high:g}"
            got = "nothing" if value is None else dumps(value).decode()
            problems.append(document.problem((index, key), f"expected {expected}, got {got}"))
            value = float(index)  # ascending, so that one wrong time is one problem
        row.append(float(value))
    return row
