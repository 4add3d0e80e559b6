"""Where entities are on Earth: NED, ECEF, latitude-longitude-altitude, when asked for and only for what moved."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import check
from diorama.ecs.world import World
from diorama.geo import Origin
from diorama.geo.convert import locate_block
from diorama.schemas.errors import GeoError

Floats = NDArray[np.float64]
NO_EARTH = (
    "this scene has no place on Earth; give it an origin: world.origin = Origin(...), or --origin LAT,LON,ALT"
)


@dataclass(frozen=True, slots=True)
class Coordinates:
    """World positions of some rows, each (n, 3): metres north-east-down, ECEF metres, degrees-degrees-metres.

    `cartesian` is ECEF minus the origin's ECEF. Altitude is height above the ellipsoid.
    """

    ned: Floats
    ecef: Floats
    lla: Floats
    cartesian: Floats


def earth_of(world: World) -> Origin:
    """The world's origin; GeoError for a scene without one."""
    if world.origin is None:
        raise GeoError(NO_EARTH)
    return world.origin


def locate(world: World, rows: ArrayLike | None = None) -> Coordinates:
    """Coordinates of the given rows (default: all, parents before children), as of the last `propagate`."""
    origin = earth_of(world)
    ecef, lla = refresh(world)
    chosen = world.forest.order() if rows is None else living_rows(world, rows)
    return Coordinates(
        ned=world.table.pose[chosen, 0:3],
        ecef=ecef[chosen],
        lla=lla[chosen],
        cartesian=ecef[chosen] - origin.ecef,
    )


def living_rows(world: World, rows: ArrayLike) -> NDArray[np.intp]:
    """One row or many as an array; IndexError when one holds no entity."""
    chosen = np.atleast_1d(check.whole("rows", rows)).astype(np.intp)
    held = (chosen >= 0) & (chosen < world.table.high)
    held[held] = world.table.alive[chosen[held]]
    if not held.all():
        raise IndexError(f"row {int(chosen[~held][0])} holds no entity; world.rows(entities) gives good ones")
    return chosen


def refresh(world: World) -> tuple[Floats, Floats]:
    """The ECEF and LLA columns, brought up to date for every row whose world pose changed since last time."""
    origin = earth_of(world)
    table = world.table
    if table.located_for != world.origin_epoch:
        table.located_for = world.origin_epoch
        table.located = -1
    stale = np.flatnonzero((table.posed[: table.high] > table.located) & table.alive[: table.high])
    if len(stale):
        first, last = int(stale[0]), int(stale[-1]) + 1
        if last - first == len(stale):  # a whole block: straight into the columns
            locate_block(table.pose[first:last, 0:3], origin, table.ecef[first:last], table.lla[first:last])
        else:
            ecef, lla = np.empty((len(stale), 3)), np.empty((len(stale), 3))
            locate_block(table.pose[stale, 0:3], origin, ecef, lla)
            table.ecef[stale], table.lla[stale] = ecef, lla
    table.located = world.version
    return table.ecef, table.lla
