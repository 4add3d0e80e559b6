"""Changing what is there: entities, poses, components, resources, the run itself.

A command takes effect between ticks, at once and in the order of arrival; its answer names the first tick that shows
it. One that would leave the world unresolvable (an overflow, say) is undone and refused.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import orjson
from msgspec import Meta

from diorama.ecs import check
from diorama.ecs.components import RESERVED
from diorama.geo import rotation
from diorama.transport import methods
from diorama.transport.listing import Named
from diorama.transport.methods import (
    Call,
    Floats,
    Name,
    Nothing,
    Quaternion,
    RefusedError,
    RequestError,
    Vector,
    required_handler,
)

ROOM_ABOVE = 32  # levels of nesting that documents put around a value

# -- entities ----------------------------------------------------------------------------------------------------


class Spawn(msgspec.Struct, forbid_unknown_fields=True):
    """The pose is relative to the parent; `components` are JSON by group."""

    name: Annotated[str, Meta(min_length=1, max_length=1000)]
    asset: Annotated[str, Meta(max_length=4000)] = ""
    parent: Name | None = None
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)
    scale: Vector = (1.0, 1.0, 1.0)
    key: Name = ""
    components: dict[Name, Any] = {}


@methods.command
def spawn(call: Call, params: Spawn) -> dict[str, Any]:
    """Make an entity; the answer gives its key."""
    world = call.world
    parent = None if params.parent is None else call.entity(params.parent, "params.parent")

    def make() -> None:
        made = world.spawn(
            params.name,
            asset=params.asset,
            parent=parent,
            position=params.position,
            orientation=params.orientation,
            scale=params.scale,
            key=params.key,
        )
        try:
            for group, value in params.components.items():
                _set_group(call, made, group, value, f"params.components.{group}")
        except BaseException:
            world.despawn(made)
            raise

    make()
    call.settle(lambda: world.despawn(world.find(params.name)), make)
    return {"name": params.name, "key": world.key(world.find(params.name))}


class Despawn(msgspec.Struct, forbid_unknown_fields=True):
    """What happens to those below: they go too, or their grandparent gets them where they are."""

    name: Name
    children: Literal["despawn", "grandparent"] = "despawn"


@methods.command
def despawn(call: Call, params: Despawn) -> dict[str, Any]:
    """Take an entity away."""
    before = len(call.world)
    call.world.despawn(call.entity(params.name), params.children)
    call.settle(lambda: None, lambda: None)
    return {"removed": before - len(call.world)}


class Reparent(msgspec.Struct, forbid_unknown_fields=True):
    """`parent` null makes it a root; `keep` says which pose stays."""

    name: Name
    parent: Name | None = None
    keep: Literal["local", "world"] = "local"


@methods.command
def reparent(call: Call, params: Reparent) -> dict[str, Any]:
    """Hang an entity under another."""
    world = call.world
    moved = call.entity(params.name)
    parent = None if params.parent is None else call.entity(params.parent, "params.parent")
    row, old_parent = world.row(moved), world.parent(moved)
    old_pose = _local(call, row)
    world.reparent(moved, parent, params.keep)

    def undo() -> None:
        world.reparent(moved, old_parent)
        _write(call, np.array([row]), old_pose)

    call.settle(undo, lambda: world.reparent(moved, parent, params.keep))
    return {"name": params.name, "parent": params.parent}


class SetComponent(msgspec.Struct, forbid_unknown_fields=True):
    """A component as JSON under its group's name; null takes it away."""

    name: Name
    group: Name
    value: Any


@methods.command
def set_component(call: Call, params: SetComponent) -> dict[str, Any]:
    """Give an entity a component, or take it away."""
    found = call.entity(params.name)
    if params.value is None:
        call.world.remove_group(found, params.group)
    else:
        _set_group(call, found, params.group, params.value, "params.value")
    return {"name": params.name, "components": sorted(call.world.groups(found))}


# -- poses -------------------------------------------------------------------------------------------------------


class SetPose(msgspec.Struct, forbid_unknown_fields=True):
    """What is left out stays. `space` local is relative to the parent, world to the scene's NED axes."""

    name: Name
    position: Vector | None = None
    orientation: Quaternion | None = None
    scale: Vector | None = None
    space: Literal["local", "world"] = "local"


@methods.command
def set_pose(call: Call, params: SetPose) -> dict[str, Any]:
    """Put an entity somewhere."""
    world = call.world
    found = call.entity(params.name)
    row = world.row(found)
    parent = world.parent(found)
    inside = params.space == "world" and parent is not None
    pose = _pose(call, row) if inside else _local(call, row)
    for start, part in ((0, params.position), (3, params.orientation), (7, params.scale)):
        if part is not None:
            pose[0, start : start + len(part)] = part
    check.bad_row([params.name], pose)
    if inside and parent is not None:
        above = _pose(call, world.row(parent))
        if not above[0, 7:10].all():
            raise RefusedError("refused", "the parent's scale of zero has no inverse", "params.space")
        back = rotation.conjugate(above[:, 3:7])
        with np.errstate(all="ignore"):
            pose[:, 0:3] = rotation.rotate(back, pose[:, 0:3] - above[:, 0:3]) / above[:, 7:10]
            pose[:, 3:7] = rotation.multiply(back, rotation.normalize(pose[:, 3:7]))
            pose[:, 7:10] /= above[:, 7:10]
    set_rows(call, [params.name], np.array([row]), pose)
    return {"name": params.name}


class SetPoses(msgspec.Struct, forbid_unknown_fields=True):
    """Local poses as lists, or as one body of little-endian float64: a row of seven numbers (position, orientation
    xyzw) or ten (and scale) to each name.
    """

    names: list[Name]
    positions: list[Vector] | None = None
    orientations: list[Quaternion] | None = None
    scales: list[Vector] | None = None


@methods.command
def set_poses(call: Call, params: SetPoses) -> dict[str, Any]:
    """Put many entities somewhere, all or none. What is left out stays; of an entity named twice the last counts."""
    call.limit(len(params.names), "params.names")
    rows = np.array(
        [
            call.world.row(call.entity(name, f"params.names[{index}]"))
            for index, name in enumerate(params.names)
        ],
        np.intp,
    )
    poses = _local(call, rows)
    body = body_poses(call, len(rows))
    if body is not None:
        poses[:, : body.shape[1]] = body
    for start, width, what, part in (
        (0, 3, "positions", params.positions),
        (3, 4, "orientations", params.orientations),
        (7, 3, "scales", params.scales),
    ):
        if part is not None:
            if len(part) != len(rows):
                raise RequestError("bad_params", f"expected {len(rows)}, got {len(part)}", f"params.{what}")
            poses[:, start : start + width] = np.array(part, np.float64).reshape(-1, width)
    set_rows(call, params.names, rows, poses)
    return {"count": len(rows)}


def body_poses(call: Call, count: int, index: int = 0) -> Floats | None:
    """A body as poses (count, 7) or (count, 10), or None when there is none."""
    if len(call.bodies) <= index:
        return None
    raw = call.bodies[index]
    for width in (7, 10):
        if raw.nbytes == 8 * width * count:
            return np.frombuffer(raw, "<f8").astype(np.float64, copy=False).reshape(count, width)
    raise RequestError(
        "bad_body", f"expected {count} rows of 7 or 10 little-endian float64, got {raw.nbytes} bytes", "body"
    )


def set_rows(call: Call, names: list[str], rows: Any, poses: Floats) -> None:
    """Write local poses (n, 10) and resolve the world, or leave everything as it was."""
    check.bad_row(names, poses)
    before = _local(call, rows)
    _write(call, rows, poses)
    call.settle(lambda: _write(call, rows, before), lambda: _write(call, rows, poses))


# -- the whole scene and the run ---------------------------------------------------------------------------------


@methods.query
def get_resource(call: Call, params: Named) -> Any:
    """One resource of the scene, such as the weather; null when there is none."""
    return call.world.resource(params.name)


class SetResource(msgspec.Struct, forbid_unknown_fields=True):
    """Any JSON value; null takes the resource away."""

    name: Name
    value: Any


@methods.command
def set_resource(call: Call, params: SetResource) -> dict[str, Any]:
    """Set a resource of the scene."""
    _refuse_unpublishable(params.value, "params.value")
    call.world.set_resource(params.name, params.value)
    return {"resources": sorted(call.world.resources)}


class Reload(msgspec.Struct, forbid_unknown_fields=True):
    """A file inside the directory the operator named; left out, the file that was loaded."""

    path: Annotated[str, Meta(max_length=4000)] | None = None


@methods.command
def reload(call: Call, params: Reload) -> dict[str, Any]:
    """Load the scene file again, or another one; a failed load leaves the old world untouched."""
    handler = required_handler(call.handlers.reload, "reload")
    handler(None if params.path is None else confined(call.scenes, params.path))
    return {"path": params.path}


@methods.command
def pause(call: Call, params: Nothing) -> dict[str, Any]:  # noqa: ARG001
    """Stop the clock after this tick."""
    required_handler(call.handlers.pause, "pause")()
    return {}


@methods.command
def resume(call: Call, params: Nothing) -> dict[str, Any]:  # noqa: ARG001
    """Let the clock run again."""
    required_handler(call.handlers.resume, "resume")()
    return {}


class Step(msgspec.Struct, forbid_unknown_fields=True):
    """How many ticks."""

    ticks: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 1


@methods.command
def step(call: Call, params: Step) -> dict[str, Any]:
    """Run the paused clock for some ticks."""
    required_handler(call.handlers.step, "step")(params.ticks)
    return {"ticks": params.ticks}


def confined(directory: Path | None, path: str) -> Path:
    """A path that lies inside the directory, symbolic links followed; refused otherwise."""
    if directory is None:
        raise RefusedError("refused", "no directory was named that files may come from", "params.path")
    try:
        found = (directory / path).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise RefusedError("refused", f"not a path: {error}", "params.path") from None
    if not found.is_relative_to(directory.resolve()):
        raise RefusedError("refused", "expected a file inside the scenes directory", "params.path")
    return found


# -- inside ------------------------------------------------------------------------------------------------------


def _set_group(call: Call, found: int, group: str, value: Any, path: str) -> None:
    if group in RESERVED:
        raise RequestError("refused", f"the group {group!r} is diorama's own", path)
    _refuse_unpublishable(value, path)
    try:
        call.world.set_group(found, group, value)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise RequestError("bad_params", str(error), path) from None


def _refuse_unpublishable(value: Any, path: str) -> None:
    """What a client leaves in the world is published later: numbers beyond 64 bits and deep nests would fail there."""
    try:
        nested = value
        for _ in range(ROOM_ABOVE):
            nested = [nested]
        orjson.dumps(nested)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestError(
            "bad_params", f"expected a JSON value that can be published: {error}", path
        ) from None


def _local(call: Call, rows: Any) -> Floats:
    """Local poses (n, 10), copied."""
    return call.world.table.local.take(np.atleast_1d(rows), axis=0)


def _pose(call: Call, rows: Any) -> Floats:
    """World poses (n, 10), copied."""
    return call.world.table.pose.take(np.atleast_1d(rows), axis=0)


def _write(call: Call, rows: Any, poses: Floats) -> None:
    call.world.table.local[rows] = poses
