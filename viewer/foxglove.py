"""A world as Foxglove's own messages, so that its app opens a recording as it is. The only home of its schemas.

Frames: `map` is east-north-up, as that app expects; `ned` hangs under it, turned; every entity's frame hangs under
`ned` with its world pose, since a frame has no scale to hand on.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, Velocity, World
from diorama.ecs.locate import locate
from diorama.schemas.errors import missing_extra
from diorama.viewer.appearance import appearance
from diorama.viewer.mcap_file import EncodedSchema

try:
    from foxglove_schemas_protobuf.FrameTransforms_pb2 import FrameTransforms
    from foxglove_schemas_protobuf.LocationFix_pb2 import LocationFix
    from foxglove_schemas_protobuf.SceneUpdate_pb2 import SceneUpdate
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
except ImportError:
    missing_extra("record", "recording for Foxglove")

MAP, NED = "map", "ned"
MOST_LOCATIONS = 50
TRANSFORMS_TOPIC, SCENE_TOPIC, LOCATION_TOPIC = (
    "/foxglove/transforms",
    "/foxglove/scene",
    "/foxglove/location",
)
_HALF = float(np.sqrt(0.5))
NED_IN_MAP = (_HALF, _HALF, 0.0, 0.0)  # half a turn about north-east: x and y change places, z turns over


def schema_of(message: type[Any]) -> EncodedSchema:
    """The schema of a message as MCAP wants it: its file and all files that one needs."""
    files: dict[str, Any] = {}

    def collect(descriptor: Any) -> None:
        if descriptor.name not in files:
            for needed in descriptor.dependencies:
                collect(needed)
            files[descriptor.name] = descriptor

    collect(message.DESCRIPTOR.file)
    described = FileDescriptorSet()
    for descriptor in files.values():
        descriptor.CopyToProto(described.file.add())
    return EncodedSchema(message.DESCRIPTOR.full_name, "protobuf", described.SerializeToString())


TRANSFORMS, SCENE, LOCATION = schema_of(FrameTransforms), schema_of(SceneUpdate), schema_of(LocationFix)


def frame_transforms(world: World, entities: NDArray[np.int64], time_ns: int, *, with_root: bool) -> bytes:
    """World poses of some entities; `with_root` adds how `ned` lies in `map`."""
    message = FrameTransforms()
    if with_root:
        _transform(message.transforms.add(), time_ns, MAP, NED, (0.0, 0.0, 0.0), NED_IN_MAP)
    pose = world.table.pose[world.rows(entities)].tolist()
    for entity, row in zip(entities.tolist(), pose, strict=True):
        _transform(message.transforms.add(), time_ns, NED, world.name(entity), row[0:3], row[3:7])
    return bytes(message.SerializeToString())


def scene_update(world: World, time_ns: int) -> bytes:
    """What everything looks like: a box each, that follows its frame."""
    message = SceneUpdate()
    everything = message.deletions.add()
    everything.type = 1  # all that was there before
    everything.timestamp.FromNanoseconds(time_ns)
    for entity in world.entities.tolist():
        look = appearance(world, entity)
        if look is None:
            continue
        scale = world.table.pose[world.row(entity), 7:10]
        drawn = message.entities.add(id=world.key(entity), frame_id=world.name(entity), frame_locked=True)
        drawn.timestamp.FromNanoseconds(time_ns)
        asset = world.asset(entity)
        if asset:
            drawn.metadata.add(key="asset", value=asset)
        cube = drawn.cubes.add()
        _vector(cube.pose.position, scale * np.array(look.center))
        cube.pose.orientation.w = 1.0
        _vector(cube.size, np.abs(scale) * np.array(look.size))
        cube.color.r, cube.color.g, cube.color.b = (channel / 255.0 for channel in look.color)
        cube.color.a = 1.0
    return bytes(message.SerializeToString())


def locations(world: World, time_ns: int) -> dict[str, bytes]:
    """Latitude, longitude and altitude of what moves by itself, by topic."""
    if world.origin is None:
        return {}
    movers = [entity for entity, _ in world.query(Velocity) if world.parent(entity) is None][:MOST_LOCATIONS]
    if not movers:
        return {}
    found = {}
    places = locate(world, world.rows(movers)).lla.tolist()
    for entity, (latitude, longitude, altitude) in zip(movers, places, strict=True):
        message = LocationFix(
            frame_id=world.name(entity), latitude=latitude, longitude=longitude, altitude=altitude
        )
        message.timestamp.FromNanoseconds(time_ns)
        found[_location_topic(world, entity)] = bytes(message.SerializeToString())
    return found


def _location_topic(world: World, entity: Entity) -> str:
    return f"{LOCATION_TOPIC}/{world.name(entity)}"


def _transform(into: Any, time_ns: int, parent: str, child: str, place: Any, turn: Any) -> None:
    into.timestamp.FromNanoseconds(time_ns)
    into.parent_frame_id, into.child_frame_id = parent, child
    _vector(into.translation, place)
    into.rotation.x, into.rotation.y, into.rotation.z, into.rotation.w = turn


def _vector(into: Any, values: Any) -> None:
    into.x, into.y, into.z = (float(value) for value in values)
