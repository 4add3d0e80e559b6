"""NED to ECEF and LLA for a block of points, against one bare call of pyproj (ECEF to LLA only) and pymap3d.

Claims: the base path needs less time than the bare call, the compiled one at most an eighth of it.
"""

from collections.abc import Callable
from time import thread_time

import numpy as np
import pyproj
from measure import Row, measure, table

from diorama.geo import Origin, locate_block
from diorama.schemas.errors import MissingExtraError

ORIGIN = Origin(29.594656, -95.16384722, -28.3)
SIZES = (1_000, 10_000, 100_000)
PYPROJ, PYMAP3D = "pyproj, one bare call", "pymap3d"
BASE, FAST = "diorama (numpy)", "diorama[fast] (numba)"


def candidates_for(count: int) -> dict[str, Callable[[], object] | None]:
    """By name; None for what is not installed."""
    bare = pyproj.Transformer.from_crs("EPSG:4978", "EPSG:4979", always_xy=True)
    ned = np.random.default_rng(1).uniform(-5e4, 5e4, (count, 3))
    ecef, lla = np.empty_like(ned), np.empty_like(ned)
    locate_block(ned, ORIGIN, ecef, lla, fast=False)
    x, y, z = (np.ascontiguousarray(column) for column in ecef.T)
    candidates: dict[str, Callable[[], object] | None] = {
        PYPROJ: lambda: bare.transform(x, y, z),
        BASE: lambda: locate_block(ned, ORIGIN, ecef, lla, fast=False),
        FAST: lambda: locate_block(ned, ORIGIN, ecef, lla, fast=True),
        PYMAP3D: None,
    }
    try:
        locate_block(ned, ORIGIN, ecef, lla, fast=True)
    except MissingExtraError:
        candidates[FAST] = None
    try:
        import pymap3d
    except ImportError:
        return candidates
    candidates[PYMAP3D] = lambda: (
        pymap3d.ned2ecef(*ned.T, *ORIGIN.lla),
        pymap3d.ned2geodetic(*ned.T, *ORIGIN.lla),
    )
    return candidates


def rows(quick: bool) -> list[Row]:
    """Both paths against pyproj and pymap3d; the limit is a copy of the 72 bytes for each point."""
    found = []
    for count in SIZES:
        candidates = candidates_for(count)
        source, target = np.ones((2, count * 72), np.uint8)
        there = {name: run for name, run in candidates.items() if run is not None}
        there["copy"] = lambda source=source, target=target: np.copyto(target, source)
        timings = measure(there, 1.0 if quick else 3.0, thread_time)
        for ours, name in ((BASE, "numpy"), (FAST, "numba")):
            for peer in (PYPROJ, PYMAP3D):
                pyproj_goal = "at most 1.15" if ours == BASE else "at most 0.125"
                found.append(
                    Row(
                        work=f"NED to ECEF and LLA, {count:,} points ({name})",
                        ours=timings[ours].best if ours in timings else None,
                        peer=peer,
                        peer_s=timings[peer].best if peer in timings else None,
                        limit="copy of the bytes",
                        limit_s=timings["copy"].best,
                        goal=pyproj_goal if peer == PYPROJ else "at most 1",
                        spread=timings[ours].spread if ours in timings else 1.0,
                    )
                )
    return found


def main(seconds: float = 2.0) -> None:
    for count in SIZES:
        candidates = candidates_for(count)
        for name in [name for name, run in candidates.items() if run is None]:
            print(f"{name}: not installed")
        there = {name: run for name, run in candidates.items() if run is not None}
        print(table(f"NED to ECEF and LLA, {count} points", measure(there, seconds), unit=count))


if __name__ == "__main__":
    main()
