"""Messages as bytes: the header, the structure and the columns. Knows worlds and bytes, and no sockets.

A message is a topic, a header of 64 bytes and body frames; `docs/wire.md` describes every byte. Structure is JSON by
columns; poses and coordinates are blocks of little-endian float64, one row after the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from struct import Struct
from typing import Any, Literal

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from diorama.ecs.check import sound
from diorama.ecs.locate import refresh
from diorama.ecs.table import IDENTITY, ROW_BITS, ROW_MASK
from diorama.ecs.world import World
from diorama.geo import Ellipsoid, Origin, rotation
from diorama.schemas.errors import MessageError

PROTOCOL = 1
MAGIC = b"DIOR"
COMPLETE, UPDATE, BEAT, DATA = 1, 2, 3, 4
_HEADER = Struct("<4sBBH16sQQQqQ")
HEADER_SIZE = _HEADER.size
Frame = bytes | memoryview
Rows = NDArray[np.int32]
Block = Literal["local", "world", "geo"]
WIDTH: dict[str, int] = {"local": 10, "world": 10, "geo": 6}
VELOCITY_WIDTH = 6
MAX_ROW = 1 << 26


@dataclass(frozen=True, slots=True)
class Header:
    """What every message says of itself. `base` is the sequence number this update builds on."""

    kind: int
    run_id: bytes
    sequence: int
    epoch: int = 0
    tick: int = 0
    time_ns: int = 0
    base: int = 0


def pack_header(header: Header) -> bytes:
    """64 bytes."""
    return _HEADER.pack(
        MAGIC,
        PROTOCOL,
        header.kind,
        0,
        header.run_id,
        header.sequence,
        header.epoch,
        header.tick,
        header.time_ns,
        header.base,
    )


def unpack_header(frame: Frame) -> Header:
    """The header, or MessageError saying what was wrong with it."""
    if len(frame) != HEADER_SIZE:
        raise MessageError(f"header: expected {HEADER_SIZE} bytes, got {len(frame)}")
    magic, protocol, kind, _, run_id, sequence, epoch, tick, time_ns, base = _HEADER.unpack(frame)
    if magic != MAGIC:
        raise MessageError(f"header: expected it to begin with {MAGIC!r}, got {magic!r}")
    if protocol != PROTOCOL:
        raise MessageError(
            f"header: expected protocol version {PROTOCOL}, got {protocol}; update the older side"
        )
    if kind not in (COMPLETE, UPDATE, BEAT, DATA):
        raise MessageError(f"header: unknown kind {kind}")
    return Header(kind, run_id, sequence, epoch, tick, time_ns, base)


class Structure(msgspec.Struct, omit_defaults=True):
    """Entities that are new or changed, by columns and parents first; what is gone; resources that changed.

    `parent` is a row, -1 for a root; `components` holds the groups of those rows that have any. In a complete scene
    `resources` is everything and `removed` is empty.
    """

    row: list[int] = []
    generation: list[int] = []
    key: list[str] = []
    name: list[str] = []
    asset: list[str] = []
    parent: list[int] = []
    components: dict[str, dict[str, Any]] = {}
    moving: list[int] = []  # rows of these entities that have a velocity
    removed: list[tuple[int, int]] = []  # (row, generation)
    resources: dict[str, Any] | None = None
    origin: dict[str, float] | None = None
    has_origin: bool | None = None  # None: the origin has not changed


_structure_decoder = msgspec.json.Decoder(Structure)
NO_STRUCTURE = b""


@dataclass(frozen=True, slots=True)
class Since:
    """How far a listener has been told: the propagation and the structural change it knows."""

    version: int = -1
    epoch: int = -1


def encode_structure(
    world: World, rows: Rows, since: Since | None, removed: Sequence[int] | None = None
) -> bytes:
    """The structure of the given rows, and what else changed; with `since` None everything is told.

    `removed` are the handles to tell as gone; by default those that left the world.
    """
    table = world.table
    listed = rows.tolist()
    entities = [world.entity_at(row) for row in listed]
    carried = ((str(row), world.groups(entity)) for row, entity in zip(listed, entities, strict=True))
    structure = Structure(
        row=listed,
        generation=table.generation[rows].tolist(),
        key=[world.key(entity) for entity in entities],
        name=[world.name(entity) for entity in entities],
        asset=[world.asset(entity) for entity in entities],
        parent=table.parent[rows].tolist(),
        components={row: groups for row, groups in carried if groups},
        moving=rows[table.velocities.present[rows]].tolist(),
    )
    if since is None:
        structure.resources = dict(world.resources)
        tell_origin = True
    else:
        gone = removed_since(world, since) if removed is None else removed
        structure.removed = [(entity & ROW_MASK, entity >> ROW_BITS) for entity in gone]
        changed = {
            name: world.resource(name) for name, epoch in world.resource_epochs.items() if epoch > since.epoch
        }
        structure.resources = changed or None
        tell_origin = world.origin_epoch > since.epoch
    if tell_origin:
        structure.has_origin = world.origin is not None
        structure.origin = None if world.origin is None else json_from_origin(world.origin)
    return orjson.dumps(msgspec.to_builtins(structure))


def removed_since(world: World, since: Since) -> list[int]:
    """Handles of entities that left the world, the last one first."""
    return [entity for _, entity, _ in _recent_removals(world, since)]


def removed_keys_since(world: World, since: Since) -> list[str]:
    """Keys of entities that left the world, the last one first."""
    return [key for _, _, key in _recent_removals(world, since)]


def _recent_removals(world: World, since: Since) -> Iterator[tuple[int, int, str]]:
    return takewhile(lambda removal: removal[0] > since.epoch, reversed(world.removals))


def json_from_origin(origin: Origin) -> dict[str, float]:
    """An origin with its ellipsoid, exactly."""
    return {
        "latitude_deg": origin.latitude_deg,
        "longitude_deg": origin.longitude_deg,
        "altitude": origin.altitude,
        "equatorial_radius": origin.ellipsoid.equatorial_radius,
        "flattening": origin.ellipsoid.flattening,
    }


def origin_from_json(value: dict[str, float]) -> Origin:
    """The origin a structure carries."""
    ellipsoid = Ellipsoid(value["equatorial_radius"], value["flattening"])
    return Origin(value["latitude_deg"], value["longitude_deg"], value["altitude"], ellipsoid)


def origin_from_structure(structure: Structure) -> Origin | None:
    """The origin a structure tells of; MessageError when it is not one."""
    if not structure.has_origin:
        return None
    try:
        return origin_from_json(structure.origin or {})
    except (KeyError, ValueError) as problem:
        raise MessageError(f"origin: {problem}") from None


def decode_structure(frame: Frame) -> Structure:
    """The structure of a message; MessageError when it is not one."""
    if len(frame) == 0:
        return Structure()
    try:
        structure = _structure_decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise MessageError(f"structure: {problem}") from None
    count = len(structure.row)
    columns = (structure.generation, structure.key, structure.name, structure.asset, structure.parent)
    if any(len(column) != count for column in columns):
        raise MessageError("structure: its columns differ in length")
    numbers = [*structure.row, *(parent for parent in structure.parent if parent != -1), *structure.moving]
    if any(not 0 <= row < MAX_ROW for row in numbers):
        raise MessageError(f"structure: expected rows from 0 to {MAX_ROW - 1}")
    if any(not 0 <= generation < 1 << 31 for generation in structure.generation):
        raise MessageError("structure: expected generations from 0 to 2**31 - 1")
    return structure


def structured_rows(world: World, since: Since) -> Rows:
    """Rows whose structure changed, parents first."""
    order = world.forest.order()
    return order[:0] if world.epoch == since.epoch else order[world.table.structured[order] > since.epoch]


def moved_rows(world: World, since: Since) -> Rows:
    """Rows whose local pose changed, and new ones, ascending."""
    return _stamped_rows(world, world.table.moved, since)


def posed_rows(world: World, since: Since) -> Rows:
    """Rows whose world pose changed, and new ones, ascending; all of them when the origin did."""
    if world.origin_epoch > since.epoch:
        since = Since()
    return _stamped_rows(world, world.table.posed, since)


def velocity_rows(world: World, since: Since) -> Rows:
    """Rows whose velocity changed, and new ones that have one, ascending."""
    present = world.table.velocities.present[: world.table.high]
    if not present.any():
        return np.empty(0, np.int32)
    rows = _stamped_rows(world, world.table.velocity_moved, since)
    return rows[present[rows]]


def _stamped_rows(world: World, stamps: NDArray[np.int64], since: Since) -> Rows:
    """Living rows with a stamp later than `since`: one pass over a column, since values need no order."""
    table = world.table
    stale = stamps[: table.high] > since.version
    if world.epoch != since.epoch:
        stale |= table.structured[: table.high] > since.epoch
    stale &= table.alive[: table.high]
    return np.flatnonzero(stale).astype(np.int32)


def is_run(rows: NDArray[np.signedinteger[Any]]) -> bool:
    """Whether rows follow each other without a gap, so that their values are one block of every column."""
    return (
        len(rows) > 0 and int(rows[-1]) - int(rows[0]) + 1 == len(rows) and bool((rows[1:] > rows[:-1]).all())
    )


def gather(
    world: World, block: Block, rows: Rows, out: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """(n, width) values of some rows, into a buffer when one is given."""
    table = world.table
    if block == "geo":
        ecef, lla = refresh(world)
        values = np.empty((len(rows), 6)) if out is None else out
        np.take(ecef, rows, axis=0, out=values[:, 0:3])
        values[:, 3:6] = lla[rows]
        return values
    source = table.local if block == "local" else table.pose
    if is_run(rows):
        values = source[int(rows[0]) : int(rows[-1]) + 1]
        if out is None:
            return values.copy()
        out[:] = values
        return out
    if out is None:
        return source[rows]
    return np.take(source, rows, axis=0, out=out, mode="clip")  # rows are good; clip spares numpy a copy


def encode_blocks(
    world: World,
    block: Block,
    rows: Rows,
    moving: Rows,
    out: NDArray[np.float64] | None = None,
    *,
    doubtful: bool = False,
) -> list[Frame]:
    """Four frames: row numbers and their values, row numbers and their velocities.

    What moved has been resolved, and so is sound. `doubtful`: rows that did not move are among these.
    """
    values = gather(world, block, rows, out)
    velocities = world.velocities.block[moving]
    if doubtful:
        velocities[~np.isfinite(velocities)] = 0.0
        if block == "local":
            _mend(world, rows, values)
    return [
        bytes_of(rows),
        bytes_of(values),
        bytes_of(moving),
        bytes_of(velocities),
    ]


def _mend(world: World, rows: Rows, values: NDArray[np.float64]) -> None:
    """Local poses that cannot be resolved, such as NaN, become those that put the entities where they are shown."""
    broken = np.flatnonzero(~sound(values))
    if len(broken) == 0:
        return
    pose, parents = world.table.pose[rows[broken]], world.table.parent[rows[broken]]
    above = np.where(parents[:, None] < 0, IDENTITY, world.table.pose[parents])
    back = rotation.conjugate(above[:, 3:7])
    with np.errstate(all="ignore"):
        local = np.concatenate(
            [
                rotation.rotate(back, pose[:, 0:3] - above[:, 0:3]) / above[:, 7:10],
                rotation.multiply(back, pose[:, 3:7]),
                pose[:, 7:10] / above[:, 7:10],
            ],
            axis=1,
        )
    values[broken] = np.where(sound(local)[:, None], local, IDENTITY)


def bytes_of(values: NDArray[Any]) -> memoryview:
    """The bytes of an array, little-endian; shared with it where possible."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(little).data.cast("B") if values.size else memoryview(b"")


@dataclass(frozen=True, slots=True)
class Columns:
    """The body of a columns message: structure, values (n, width) of some rows, velocities (m, 6) of some rows."""

    structure: Structure
    rows: Rows
    values: NDArray[np.float64]
    moving: Rows
    velocities: NDArray[np.float64]


def decode_columns(frames: Sequence[Frame], width: int = 10) -> Columns:
    """The body of a columns message; its arrays are views on the frames."""
    if len(frames) != 5:
        raise MessageError(f"message: expected 5 body frames, got {len(frames)}")
    rows, moving = decode_rows(frames[1]), decode_rows(frames[3])
    return Columns(
        decode_structure(frames[0]),
        rows,
        decode_values(frames[2], len(rows), width),
        moving,
        decode_values(frames[4], len(moving), VELOCITY_WIDTH),
    )


def decode_rows(frame: Frame) -> Rows:
    """Row numbers of a message."""
    if len(frame) % 4:
        raise MessageError(f"rows: expected a multiple of 4 bytes, got {len(frame)}")
    rows = np.frombuffer(frame, "<i4")
    if len(rows) and (rows.min() < 0 or rows.max() >= MAX_ROW):
        raise MessageError(f"rows: expected numbers from 0 to {MAX_ROW - 1}")
    return rows


def decode_values(frame: Frame, count: int, width: int) -> NDArray[np.float64]:
    """(count, width) float64 of a message."""
    if len(frame) != count * width * 8:
        raise MessageError(f"values: expected {count} rows of {width * 8} bytes, got {len(frame)} bytes")
    return np.frombuffer(frame, "<f8").reshape(count, width)
