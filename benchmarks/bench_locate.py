"""NED to ECEF and LLA for a block of points, against one bare call of pyproj (ECEF to LLA only) and pymap3d.

Claims: the base path needs less time than the bare call, the compiled one at most an eighth of it.
"""

import numpy as np
import pyproj
from measure import measure, table

from diorama.geo import Origin, locate_block
from diorama.schemas.errors import MissingExtraError

ORIGIN = Origin(29.594656, -95.16384722, -28.3)
SIZES = (1_000, 10_000, 100_000)


def main(seconds: float = 2.0) -> None:
    bare = pyproj.Transformer.from_crs("EPSG:4978", "EPSG:4979", always_xy=True)
    for count in SIZES:
        ned = np.random.default_rng(1).uniform(-5e4, 5e4, (count, 3))
        ecef, lla = np.empty_like(ned), np.empty_like(ned)
        locate_block(ned, ORIGIN, ecef, lla, fast=False)
        x, y, z = (np.ascontiguousarray(column) for column in ecef.T)
        candidates = {
            "pyproj, one bare call": lambda x=x, y=y, z=z: bare.transform(x, y, z),
            "diorama (numpy)": lambda ned=ned, ecef=ecef, lla=lla: locate_block(
                ned, ORIGIN, ecef, lla, fast=False
            ),
        }
        try:
            locate_block(ned, ORIGIN, ecef, lla, fast=True)
            candidates["diorama[fast] (numba)"] = lambda ned=ned, ecef=ecef, lla=lla: locate_block(
                ned, ORIGIN, ecef, lla, fast=True
            )
        except MissingExtraError:
            print("numba: not installed")
        try:
            import pymap3d

            candidates["pymap3d"] = lambda ned=ned: (
                pymap3d.ned2ecef(*ned.T, *ORIGIN.lla),
                pymap3d.ned2geodetic(*ned.T, *ORIGIN.lla),
            )
        except ImportError:
            print("pymap3d: not installed")
        print(table(f"NED to ECEF and LLA, {count} points", measure(candidates, seconds), unit=count))


if __name__ == "__main__":
    main()
