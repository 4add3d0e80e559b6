"""Questions about where things are. Nothing here changes the world.

Points are three numbers in a *frame*: `lla` (degrees, degrees, metres), `ecef`, `cartesian`, `ned`, or the axes of a
renderer (`enu`, `nwu`, `unreal`, `gltf`). Distances are metres, straight lines unless said otherwise.
"""

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from diorama import geo
from diorama.ecs import locate
from diorama.ecs.locate import earth_of
from diorama.geo import AXES, FRAMES, Origin, rotation
from diorama.schemas.errors import GeoError, did_you_mean
from diorama.transport import methods
from diorama.transport.methods import Call, Floats, Name, Nothing, PlaceError, RequestError, Vector
from diorama.transport.polygon import inside

Frame = Annotated[str, Meta(description=f"one of {', '.join(FRAMES)}")]
Axes = Annotated[str, Meta(description=f"one of {', '.join(AXES)}")]
Length = Annotated[float, Meta(ge=0.0)]
Corner = tuple[float, float]


class Place(msgspec.Struct, forbid_unknown_fields=True):
    """A place on Earth: degrees, degrees, metres above the ellipsoid."""

    latitude_deg: float
    longitude_deg: float
    altitude: float = 0.0


class Convert(msgspec.Struct, forbid_unknown_fields=True):
    """`points` may be left out when a body holds them: little-endian float64, three to a point."""

    source: Frame
    target: Frame
    points: list[Vector] | None = None
    origin: Place | None = None


@methods.query
def convert(call: Call, params: Convert) -> dict[str, Any]:
    """Points from one frame to another, about the scene's origin or one of your own. With a body in, a body out."""
    points: Any = call.rows(3)
    if points is not None and params.points is not None:
        raise RequestError("bad_params", "expected points here or in a body, got both", "params.points")
    if points is None and params.points is None:
        raise RequestError("bad_params", "expected points here or in a body, got neither", "params.points")
    origin = call.world.origin
    if params.origin is not None:
        origin = Origin(params.origin.latitude_deg, params.origin.longitude_deg, params.origin.altitude)
    if points is None:
        call.limit(len(params.points or ()), "params.points")
        found = geo.convert(params.points or [], params.source, params.target, origin)
        return {"count": len(found), "points": found.tolist()}
    found = geo.convert(points, params.source, params.target, origin)
    call.body_out = np.ascontiguousarray(found, "<f8").tobytes()
    return {"count": len(found)}


class Where(msgspec.Struct, forbid_unknown_fields=True):
    """`axes` chooses those of position, orientation and scale."""

    name: Name
    axes: Axes = "ned"


@methods.query
def where(call: Call, params: Where) -> dict[str, Any]:
    """Where an entity is: its world pose in the axes asked for, and all its coordinates (null without an Earth)."""
    entity = call.entity(params.name)
    axes = AXES.get(params.axes)
    if axes is None:
        hint = did_you_mean(params.axes, AXES)
        raise RequestError(
            "bad_params", f"expected one of {', '.join(AXES)}, got {params.axes!r}{hint}", "params.axes"
        )
    world = call.world
    row = world.row(entity)
    parent = world.parent(entity)
    orientation = world.poses.orientation[row]
    on_earth = {}
    if world.origin is not None:
        found = locate(world, [row])
        on_earth = {what: getattr(found, what)[0].tolist() for what in ("lla", "ecef", "cartesian")}
    return {
        "name": params.name,
        "key": world.key(entity),
        "parent": None if parent is None else world.name(parent),
        "position": axes.points(world.poses.position[row]).tolist(),
        "orientation": axes.rotations(orientation).tolist(),
        "scale": axes.scales(world.poses.scale[row]).tolist(),
        "rpy": rotation.rpy_from_quaternion(orientation).tolist(),
        "ned": world.poses.position[row].tolist(),
        "lla": None,
        "ecef": None,
        "cartesian": None,
        **on_earth,
    }


class Nearest(msgspec.Struct, forbid_unknown_fields=True):
    """Near a point, or near an entity (which is then left out)."""

    point: Vector | None = None
    name: Name | None = None
    frame: Frame = "ned"
    k: Annotated[int, Meta(ge=1)] = 1


@methods.query
def nearest(call: Call, params: Nearest) -> list[dict[str, Any]]:
    """The k entities nearest to a point or to an entity, nearest first, with their distances."""
    centre = _centre(call, params.point, params.name, params.frame)
    rows, distances = _distances(call, centre, params.name)
    call.limit(params.k, "params.k")
    k = min(params.k, len(rows))
    chosen = np.argpartition(distances, k - 1)[:k] if k else np.empty(0, np.intp)
    return _named(call, rows[chosen], distances[chosen])


class WithinRadius(msgspec.Struct, forbid_unknown_fields=True):
    """Around a point, or around an entity (which is then left out)."""

    radius: Length
    point: Vector | None = None
    name: Name | None = None
    frame: Frame = "ned"


@methods.query
def within_radius(call: Call, params: WithinRadius) -> list[dict[str, Any]]:
    """Every entity not farther than `radius` metres from a point or an entity, nearest first."""
    centre = _centre(call, params.point, params.name, params.frame)
    rows, distances = _distances(call, centre, params.name)
    near = distances <= params.radius
    return _named(call, rows[near], distances[near])


class WithinBox(msgspec.Struct, forbid_unknown_fields=True):
    """Opposite corners in a frame; in `lla`, a west edge greater than the east edge crosses the antimeridian."""

    minimum: Vector
    maximum: Vector
    frame: Frame = "ned"


@methods.query
def within_box(call: Call, params: WithinBox) -> list[str]:
    """The names of all entities in a box between two corners, edges included."""
    rows = _rows(call)
    points = _positions(call, rows, params.frame)
    low, high = np.array(params.minimum), np.array(params.maximum)
    good = (points >= low) & (points <= high)
    if params.frame == "lla":
        west, east = low[1], high[1]
        turned = (points[:, 1] - west) % 360.0  # degrees east of the west edge
        width = 360.0 if east - west >= 360.0 else (east - west) % 360.0
        good[:, 1] = turned <= width
    return _names(call, rows[good.all(axis=1)])


class WithinPolygon(msgspec.Struct, forbid_unknown_fields=True):
    """Corners as [latitude, longitude] in degrees, in order, the last joined to the first; altitudes in metres."""

    corners: list[Corner]
    lowest: float | None = None
    highest: float | None = None


@methods.query
def within_polygon(call: Call, params: WithinPolygon) -> list[str]:
    """The names of all entities over a polygon of latitudes and longitudes, optionally between two altitudes.

    Edges are straight in latitude and longitude. A polygon may cross the antimeridian but not go around a pole.
    """
    if len(params.corners) > call.limits.polygon_corners:
        raise RequestError(
            "too_many",
            f"expected at most {call.limits.polygon_corners} corners, got {len(params.corners)}",
            "params.corners",
        )
    rows = _rows(call)
    lla = _positions(call, rows, "lla")
    try:
        good = inside(lla[:, :2], np.array(params.corners, np.float64).reshape(-1, 2))
    except GeoError as error:
        raise PlaceError("bad_place", str(error), "params.corners") from None
    if params.lowest is not None:
        good &= lla[:, 2] >= params.lowest
    if params.highest is not None:
        good &= lla[:, 2] <= params.highest
    return _names(call, rows[good])


class Between(msgspec.Struct, forbid_unknown_fields=True):
    """Two entities."""

    start: Name
    end: Name


@methods.query
def distance(call: Call, params: Between) -> dict[str, Any]:
    """How far and in which direction `end` is from `start`: straight, along the ground, and the bearing in degrees.

    With an Earth, ground distance and bearing follow the ellipsoid; without one, the plane. `climb` is how much
    higher `end` is.
    """
    world = call.world
    rows = [
        world.row(call.entity(params.start, "params.start")),
        world.row(call.entity(params.end, "params.end")),
    ]
    ned = world.poses.position[rows]
    north, east, down = ned[1] - ned[0]
    straight = float(np.linalg.norm(ned[1] - ned[0]))
    if world.origin is None:
        ground, bearing, climb = np.hypot(north, east), np.degrees(np.arctan2(east, north)) % 360.0, -down
    else:
        start, end = locate(world, rows).lla
        ground = geo.distance(start, end, world.origin.ellipsoid)
        bearing = geo.bearing_deg(start, end, world.origin.ellipsoid)
        climb = end[2] - start[2]
    return {
        "distance": straight,
        "ground_distance": float(ground),
        "bearing_deg": float(bearing),
        "climb": float(climb),
    }


class Relative(msgspec.Struct, forbid_unknown_fields=True):
    """The pose of `name` as `seen_from` has it."""

    name: Name
    seen_from: Name


@methods.query
def relative_pose(call: Call, params: Relative) -> dict[str, Any]:
    """The pose of one entity in another's axes (forward, right, down): metres, unscaled, and a quaternion xyzw."""
    world = call.world
    a = world.row(call.entity(params.name))
    b = world.row(call.entity(params.seen_from, "params.seen_from"))
    back = rotation.conjugate(world.poses.orientation[b])
    position = rotation.rotate(back, world.poses.position[a] - world.poses.position[b])
    turn = rotation.multiply(back, world.poses.orientation[a])
    return {
        "position": position.tolist(),
        "orientation": turn.tolist(),
        "rpy": rotation.rpy_from_quaternion(turn).tolist(),
        "distance": float(np.linalg.norm(position)),
    }


@methods.query
def describe(call: Call, params: Nothing) -> list[dict[str, Any]]:  # noqa: ARG001
    """Every method of this service, with a line about it and the JSON Schema of its parameters."""
    return methods.describe(call.methods)


# -- inside ------------------------------------------------------------------------------------------------------


def _rows(call: Call) -> NDArray[np.intp]:
    return call.world.rows(call.world.entities)


def _positions(call: Call, rows: NDArray[np.intp], frame: str) -> Floats:
    """World positions (n, 3) of rows in a frame."""
    world = call.world
    if frame in ("lla", "ecef", "cartesian"):
        found: Floats = getattr(locate(world, rows), frame)
        return found
    return geo.convert(world.poses.position[rows], "ned", frame, world.origin)


def _centre(call: Call, point: Vector | None, name: str | None, frame: str) -> Floats:
    """The NED position that a question is about."""
    if (point is None) == (name is None):
        raise RequestError("bad_params", "expected a point or a name, one of the two", "params.point")
    if name is not None:
        place: Floats = call.world.poses.position[call.world.row(call.entity(name))]
        return place
    if frame in ("lla", "ecef", "cartesian"):
        earth_of(call.world)
    return geo.convert(np.array(point, np.float64), frame, "ned", call.world.origin)


def _distances(call: Call, centre: Floats, without: str | None) -> tuple[NDArray[np.intp], Floats]:
    rows = _rows(call)
    if without is not None:
        rows = rows[rows != call.world.row(call.entity(without))]
    away = call.world.poses.position[rows] - centre
    return rows, np.sqrt(np.einsum("ij,ij->i", away, away))


def _named(call: Call, rows: NDArray[np.intp], distances: Floats) -> list[dict[str, Any]]:
    world = call.world
    order = np.argsort(distances, kind="stable")
    return [
        {
            "name": world.name(world.entity_at(row)),
            "distance": away,
            "position": world.poses.position[row].tolist(),
        }
        for row, away in zip(rows[order].tolist(), distances[order].tolist(), strict=True)
    ]


def _names(call: Call, rows: NDArray[np.intp]) -> list[str]:
    world = call.world
    return [world.name(world.entity_at(row)) for row in rows.tolist()]
