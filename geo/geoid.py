"""Heights above mean sea level, by a geoid: an explicit step, since every altitude in diorama is ellipsoidal.

A geoid is named "egm96" or "egm2008" (PROJ's grids if they are there; for egm96 also the package of that name,
extra `geoid`), or it is a grid file of your own in a format of PROJ (.gtx, GeoTIFF). Without a grid all of this
refuses: PROJ left to itself returns the height unchanged, which is wrong by up to 100 m.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from diorama.geo.arrays import FloatArray, refuse_where
from diorama.geo.convert import as_lla
from diorama.schemas.errors import GeoError, did_you_mean

Height = Callable[[FloatArray, FloatArray], FloatArray]

# Files of PROJ that hold each geoid, the current name first.
GRIDS = {
    "egm96": ("us_nga_egm96_15.tif", "egm96_15.gtx"),
    "egm2008": ("us_nga_egm08_25.tif", "egm08_25.gtx"),
}


def geoid_height(lla: ArrayLike, geoid: str | Path = "egm96") -> FloatArray:
    """Metres (...) of mean sea level above the WGS84 ellipsoid at lla points (..., 3) of any altitude."""
    rows = as_lla(lla)
    height = _height(str(geoid), Path(geoid).absolute())(np.array(rows[..., 0]), np.array(rows[..., 1]))
    refuse_where(
        ~np.isfinite(height), rows, "lla point", f"expected a place covered by the geoid grid {geoid}"
    )
    return height


def lla_from_msl(msl: ArrayLike, geoid: str | Path = "egm96") -> FloatArray:
    """The lla points (..., 3) of latitude, longitude and height above mean sea level in metres."""
    rows = as_lla(msl).copy()
    rows[..., 2] += geoid_height(rows, geoid)
    return rows


def msl_from_lla(lla: ArrayLike, geoid: str | Path = "egm96") -> FloatArray:
    """Latitude, longitude and height above mean sea level in metres (..., 3) of lla points."""
    rows = as_lla(lla).copy()
    rows[..., 2] -= geoid_height(rows, geoid)
    return rows


@lru_cache(maxsize=8)
def _height(geoid: str, file: Path) -> Height:
    """The function of latitude and longitude behind a geoid, or a GeoError that says how to get one.

    PROJ takes a bare name for one of its own grids: a file is given with its folders.
    """
    if geoid not in GRIDS:
        if not file.is_file():
            known = f"expected {', '.join(GRIDS)} or a grid file, got no such file"
            raise GeoError(f"geoid {geoid}: {known}{did_you_mean(geoid, GRIDS)}")
        height = _height_of_grid(str(file))
        if height is None:
            raise GeoError(f"geoid {geoid}: expected a vertical grid that PROJ reads (.gtx, GeoTIFF)")
        return height
    candidates = [_height_of_grid(grid) for grid in GRIDS[geoid]]
    candidates.append(_height_of_package() if geoid == "egm96" else None)
    for height in candidates:
        if height is not None:
            return height
    package = " or pip install 'diorama[geoid]' (Python 3.12 and later)" if geoid == "egm96" else ""
    raise GeoError(
        f"geoid {geoid}: expected a grid, found none; name a grid file, or get PROJ's with"
        f" pyproj sync --file {GRIDS[geoid][0]}{package}"
    )


def _height_of_grid(grid: str) -> Height | None:
    from pyproj import Transformer
    from pyproj.exceptions import ProjError

    # A bare grid shift, not a transformation between coordinate systems: those fall back to doing nothing.
    degrees = "+proj=unitconvert +xy_in=deg +xy_out=rad"
    shift = f'+proj=vgridshift +grids="{grid}" +multiplier=1'
    try:
        transformer = Transformer.from_pipeline(
            f"+proj=pipeline +step {degrees} +step {shift} +step +inv {degrees}"
        )
    except ProjError:
        return None
    return lambda latitude, longitude: np.asarray(
        transformer.transform(longitude, latitude, np.zeros(latitude.shape))[2]
    )


def _height_of_package() -> Height | None:
    try:
        import egm96
    except ImportError:
        return None
    return lambda latitude, longitude: np.asarray(egm96.undulation(latitude, longitude), dtype=np.float64)
