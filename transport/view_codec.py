"""Views as bytes: columns with world poses, float64 or float32 about a centre, with ECEF and LLA if wished."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diorama.ecs.locate import refresh
from diorama.ecs.table import ROW_MASK
from diorama.ecs.world import World
from diorama.schemas.errors import MessageError
from diorama.schemas.view import View
from diorama.transport import codec
from diorama.transport.codec import Columns, Frame, Since

Handles = NDArray[np.int64]
CENTER_BYTES = 24


def center_of(world: World, view: View) -> NDArray[np.float64] | None:
    """The middle of a view by distance; None when it follows an entity that is not there."""
    if isinstance(view.near, str):
        entity = world.names.get(view.near)
        return None if entity is None else world.table.pose[world.row(entity), 0:3].copy()
    return None if view.near is None else np.array(view.near, np.float64)


def encode_view(
    world: World, view: View, members: Handles, entered: Handles, gone: Handles, since: Since, complete: bool
) -> list[Frame]:
    """Five frames as the columns have them, with world poses, and a sixth with ECEF and LLA for views that want it."""
    table = world.table
    rows = (members & ROW_MASK).astype(np.int32)
    new = np.isin(members, entered, assume_unique=True)
    structured = rows[new | (table.structured[rows] > since.epoch)]
    elsewhere = (
        view.geo and world.origin_epoch > since.epoch
    )  # nothing moved, and all is somewhere else on Earth
    told = rows[new | (table.posed[rows] > since.version) | elsewhere]
    moving = rows[table.velocities.present[rows] & (new | (table.velocity_moved[rows] > since.version))]
    structure: bytes = codec.NO_STRUCTURE
    if complete or len(structured) or len(gone) or world.epoch != since.epoch:
        structure = codec.encode_structure(world, structured, None if complete else since, gone.tolist())
    if complete:
        told = structured
    frames = codec.encode_blocks(world, "world", told, moving, doubtful=len(structured) > 0)
    if view.float32:
        center = center_of(world, view)
        frames[1] = _float32(table.pose[told], np.zeros(3) if center is None else center)
    if view.geo and world.origin is not None:
        ecef, lla = refresh(world)
        frames.append(codec.bytes_of(np.concatenate([ecef[told], lla[told]], axis=1)))
    return [structure, *frames]


def _float32(pose: NDArray[np.float64], center: NDArray[np.float64]) -> bytes:
    """The centre in float64, then the poses in float32 relative to it."""
    pose[:, 0:3] -= center
    return center.astype("<f8").tobytes() + pose.astype("<f4").tobytes()


def decode_view(view: View, frames: Sequence[Frame]) -> Columns:
    """The columns of a view's message: every entity a root with its world pose, in float64 whatever came."""
    if len(frames) not in (5, 6):
        raise MessageError(f"message: expected 5 or 6 body frames, got {len(frames)}")
    parts = list(frames[:5])
    if view.float32:
        parts[2] = _float64(parts[2])
    columns = codec.decode_columns(parts)
    columns.structure.parent = [-1] * len(columns.structure.row)
    return columns


def _float64(frame: Frame) -> bytes:
    if len(frame) < CENTER_BYTES or (len(frame) - CENTER_BYTES) % 40:
        raise MessageError(f"values: expected a centre of 24 bytes and rows of 40, got {len(frame)} bytes")
    center = np.frombuffer(frame[:CENTER_BYTES], "<f8")
    pose = np.frombuffer(frame[CENTER_BYTES:], "<f4").reshape(-1, 10).astype(np.float64)
    pose[:, 0:3] += center
    return pose.tobytes()
