"""What one record says about its entity: pose, asset and components, and how to write them back.

Fields that a tag does not have are not an error: whatever a record cannot hold is left to the caller.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diorama.ecs import Bounds, Classification, Sensor
from diorama.formats.rscene import axes
from diorama.formats.rscene.components import Appearance
from diorama.formats.rscene.document import Record
from diorama.formats.rscene.numbers import are_short

IDENTITY = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
# Where a tag keeps its position, rotation and scale, if not under these very names.
POSITION = {"terrain_region": "center", "local_fog": "center", "articulated_ik": "targetPosition"}
ROTATION = {"articulated_ik": "orientation"}
_COMPONENT_KEYS = (b"renderMeshPath", b"assetId", b"semanticClass", b"instanceId")
# What makes up the record itself rather than a parameter of its sensor.
NOT_PARAMETERS = {"path", "id", "parentGroupId", "parentObject", "parentLink", "position", "rotation", "kind"}


def pose_of(record: Record) -> list[float]:
    """Position (3), orientation xyzw (4) and scale (3) in our axes, local to the parent."""
    kind = record.kind
    assert kind is not None
    pose = list(IDENTITY)
    if kind.pose >= 0 and are_short(row := record.positional[kind.pose : kind.pose + 10]) and len(row) == 10:
        # The usual case, ten words in a row, is worth a way of its own.
        x, y, z, *turn = map(float, row[:7])
        if 0 < sum(part * part for part in turn) < np.inf:
            return [x, -y or y, -z or z, *axes.xyzw_from_file(turn), *map(float, row[7:])]
    position, rotation = pose_fields(record.tag)
    if position in kind.fields:
        x, y, z = record.get(position).tolist()
        pose[0:3] = x, -y or y, -z or z
    if record.tag == "light":
        pose[3:7] = axes.xyzw_from_direction(axes.ned_from_nwu(record.get("direction")).tolist())
    elif rotation in kind.fields:
        quaternion = record.get(rotation).tolist()
        if 0 < sum(part * part for part in quaternion) < np.inf:
            pose[3:7] = axes.xyzw_from_file(quaternion)
    if "scale" in kind.fields and kind.fields["scale"].type != "bool":
        pose[7:10] = (
            record.get("scale").tolist() if record.tag != "articulated" or "scale" in record else [1.0] * 3
        )
    return pose


def store_pose(record: Record, pose: Sequence[float], was: Sequence[float]) -> None:
    """Write the parts of a pose that changed to the fields that hold them."""
    kind = record.kind
    assert kind is not None
    position, rotation = pose_fields(record.tag)
    if record.has_room(position) and bits(pose[0:3]) != bits(was[0:3]):
        record[position] = axes.ned_from_nwu(np.array(pose[0:3]))
    if bits(pose[3:7]) != bits(was[3:7]):
        if record.has_room("direction"):
            length = float(np.linalg.norm(record.get("direction"))) or 1.0
            record["direction"] = axes.ned_from_nwu(axes.direction_from_xyzw(pose[3:7])) * length
        elif record.has_room(rotation):
            record[rotation] = np.array(axes.file_from_xyzw(pose[3:7]))
    if (
        record.has_room("scale")
        and kind.fields["scale"].type != "bool"
        and bits(pose[7:10]) != bits(was[7:10])
    ):
        record["scale"] = np.array(pose[7:10])


def bits(numbers: Sequence[float]) -> bytes:
    """Numbers as they are stored, so that 0 and -0 differ."""
    return np.array(numbers, dtype=np.float64).tobytes()


def pose_fields(tag: str) -> tuple[str, str]:
    """The names of the position and the rotation field of a tag."""
    return POSITION.get(tag, "position"), ROTATION.get(tag, "rotation")


def asset_of(record: Record, assets: Mapping[str, Record]) -> str:
    """The path of the mesh or robot an entity shows, as written."""
    for name in ("renderMeshPath", "meshPath", "sourcePath"):
        if path := record.get_written(name):
            return plain(path)
    for name in ("assetId", "resourceId"):
        if (named := record.get_written(name)) and (source := assets.get(named)) is not None:
            return plain(source.get("path"))
    return ""


def store_asset(record: Record, asset: str) -> None:
    """Write the path of the mesh or robot where the record has room for it."""
    kind = record.kind
    assert kind is not None
    for name in ("renderMeshPath", "meshPath", "sourcePath"):
        if name in record and (record.get(name) or name == "meshPath"):
            record[name] = asset
            return
    name = "renderMeshPath" if record.tag == "object" else "sourcePath"
    if name in kind.fields:
        record[name] = asset


def components_of(record: Record) -> list[object]:
    """The components a record gives its entity, the record itself not among them."""
    kind = record.kind
    assert kind is not None
    found: list[object] = []
    if record.tag in ("camera", "sensor"):
        found.append(_sensor(record))
    names = kind.fields
    if "material" in names or "visible" in names:
        found.append(
            Appearance(
                material=plain(record.get("material")) if "material" in names else "",
                contact_material=plain(record.get("contactMaterial")) if "contactMaterial" in names else "",
                visible=bool(record.get("visible")) if "visible" in names and "visible" in record else True,
            )
        )
    if label := record.get_written("semanticClass"):
        number = record.get("instanceId") if "instanceId" in record else -1
        found.append(Classification(plain(label), number if number >= 0 else None))
    size = _size(record)
    if size is not None:
        found.append(Bounds(size))
    return found


def likeness(record: Record) -> tuple[bytes | None, ...] | None:
    """All that the asset and the components of an object depend on: objects that share it share them.

    None for other records, of which there are few.
    """
    if record.tag != "object":
        return None
    positional = record.positional
    return (*positional[1:2], *positional[12:], *map(record.extra, _COMPONENT_KEYS))


def store_component(record: Record, value: object) -> None:
    """Write what a record can hold of a component."""
    kind = record.kind
    assert kind is not None
    fields: dict[str, Any] = {}
    if isinstance(value, Appearance):
        fields = {
            "material": value.material,
            "contactMaterial": value.contact_material,
            "visible": value.visible,
        }
    elif isinstance(value, Classification):
        fields = {"semanticClass": value.label}
        if value.segmentation_id is not None:
            fields["instanceId"] = value.segmentation_id
    elif isinstance(value, Sensor) and record.tag in ("camera", "sensor"):
        fields = {name: given for name, given in value.parameters.items() if name not in NOT_PARAMETERS}
        if record.tag == "sensor":
            fields["kind"] = value.type
    for name, given in fields.items():
        if name in kind.fields:
            try:
                if name not in record or json_value(record[name]) != given:
                    record[name] = np.array(given) if isinstance(given, list) else given
            except (ValueError, TypeError):
                continue  # what the format cannot hold is kept beside it


def json_value(value: Any) -> Any:
    """A typed value as JSON: arrays become lists, pairs lists of two, bytes that are no text are spelled out."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value]
    return value


def json_fields(record: Record) -> dict[str, Any]:
    """Every known field that a record holds, as JSON."""
    return {name: json_value(record.get(name)) for name in record.written()}


def plain(text: str) -> str:
    """Text that any encoder takes: bytes that were not UTF-8 are spelled as escapes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _sensor(record: Record) -> Sensor:
    parameters = {name: value for name, value in json_fields(record).items() if name not in NOT_PARAMETERS}
    name = plain(record.get("path")).rpartition("/")[2]
    return Sensor(name, plain(record.get("kind")) if record.tag == "sensor" else "camera", parameters)


def _size(record: Record) -> tuple[float, float, float] | None:
    """The box around a primitive or a volume, before scale."""
    if record.tag in ("projected_decal", "irradiance_volume") and "halfExtents" in record:
        x, y, z = (2 * record.get("halfExtents")).tolist()
        return x, y, z
    if record.tag in ("reflection_probe", "local_fog"):
        across = 2 * record.get("radius")
        return across, across, across
    if record.tag not in ("object", "compound_child"):
        return None
    shape = record.get("primitive")
    if shape in ("box", "cube"):
        x, y, z = record.get("size").tolist() if record.tag == "compound_child" else (1.0, 1.0, 1.0)
        return x, y, z
    across, height = 2 * record.get("radius"), record.get("height")
    heights = {"sphere": across, "cylinder": height, "capsule": height + across}
    return (across, across, heights[shape]) if shape in heights else None
