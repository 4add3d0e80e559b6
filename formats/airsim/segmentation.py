"""Segmentation ids: which of 256 ids, and colours, the meshes of an object get in a segmentation camera.

An id is kept in the entity's `Classification`. The automatic id is a hash of a name, as Project AirSim computes
it: the owner's (the actor a mesh belongs to) or the mesh's own (the last part of its asset path).
"""

import colorsys
import logging
import re
from collections.abc import Iterator
from pathlib import Path

from diorama.ecs import Classification, Entity, World
from diorama.formats.airsim.components import Actor
from diorama.formats.files import read_file
from diorama.schemas.errors import Problem, SceneError, StateError

log = logging.getLogger("diorama.segmentation")
Color = tuple[int, int, int]
NONE = -1  # what is said of an object without an id


def hashed_id(name: str) -> int | None:
    """The automatic id of a name, 0 to 255; None for names that get none."""
    name = name.lower()
    if not name or name.startswith("default_"):
        return None
    units = memoryview(name.encode("utf-16-le", "surrogatepass")).cast("H")
    return (5 + sum(unit for unit in units if unit >= ord("a"))) % 256


def owner_name(world: World, entity: Entity) -> str:
    """The name of the actor an entity belongs to: itself, or the nearest above that is one."""
    above: Entity | None = entity
    while above is not None:
        if world.has(above, Actor):
            return world.name(above)
        above = world.parent(above)
    return world.name(entity)


def mesh_name(world: World, entity: Entity) -> str:
    """The name of an entity's mesh: the last part of its asset path."""
    return re.split(r"[/\\]", world.asset(entity))[-1]


def initialize_ids(world: World, *, ignore_existing: bool = False, use_owner_name: bool = True) -> None:
    """Give every mesh its automatic id; ids already there stay unless `ignore_existing`. Each id is logged."""
    for entity, name in _meshes(world, use_owner_name):
        known = world.try_get(entity, Classification)
        if known is not None and known.segmentation_id is not None and not ignore_existing:
            continue
        number = hashed_id(name)
        if number is not None:
            label = known.label if known is not None else name.lower()
            world.set(entity, Classification(label, number))
            log.info("[InitSegmentationID] seg_id: %3d, seg_name: '%s'", number, name.lower())


def id_map(world: World, *, use_owner_name: bool = True) -> dict[str, int]:
    """The id of every object that has one, by name."""
    return {
        name: known.segmentation_id
        for entity, name in _meshes(world, use_owner_name)
        if (known := world.try_get(entity, Classification)) is not None and known.segmentation_id is not None
    }


def get_id(world: World, name: str, *, use_owner_name: bool = True) -> int:
    """The id of an object by name, upper or lower case; -1 when it has none."""
    known = {found.lower(): number for found, number in id_map(world, use_owner_name=use_owner_name).items()}
    return known.get(name.lower(), NONE)


def set_id(
    world: World, name: str, number: int, *, is_regex: bool = False, use_owner_name: bool = True
) -> int:
    """Give all objects of a name, or of names a regular expression matches whole, an id; returns how many meshes.

    A negative id takes the id away.
    """
    if number > 255:
        raise StateError(f"segmentation id: expected 0 to 255, or a negative number for none, got {number}")
    try:
        pattern = re.compile(name if is_regex else re.escape(name), re.IGNORECASE if is_regex else 0)
    except re.error as error:
        raise StateError(f"expected a regular expression, got {name!r}: {error}") from None
    count = 0
    for entity, found in list(_meshes(world, use_owner_name)):
        if pattern.fullmatch(found):
            known = world.try_get(entity, Classification)
            label = known.label if known is not None else found.lower()
            world.set(entity, Classification(label, number if number >= 0 else None))
            count += 1
    return count


def palette() -> tuple[Color, ...]:
    """A colour (red, green, blue; 0 to 255) for each id, all different, neighbours far apart.

    It is diorama's own. To compare with images of Project AirSim, read its table with `read_palette`.
    """
    return tuple(_color(number) for number in range(256))


def read_palette(path: str | Path) -> tuple[Color, ...]:
    """256 colours from a text with a line `id [r, g, b]` for each, as Project AirSim's documentation has them."""
    written = read_file(path).decode("utf-8", "replace")
    found = {
        int(number): (int(red), int(green), int(blue))
        for number, red, green, blue in re.findall(
            r"^\s*(\d+)\s*\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]\s*$", written, re.MULTILINE
        )
    }
    if sorted(found) != list(range(256)) or any(part > 255 for color in found.values() for part in color):
        message = f"expected the 256 lines '0 [r, g, b]' to '255 [r, g, b]', got {len(found)} of that form"
        raise SceneError(Problem(message, file=str(path)))
    return tuple(found[number] for number in range(256))


def _meshes(world: World, use_owner_name: bool) -> Iterator[tuple[Entity, str]]:
    for entity in world.entities.tolist():
        if world.asset(entity):
            yield entity, owner_name(world, entity) if use_owner_name else mesh_name(world, entity)


def _color(number: int) -> Color:
    # Turning the hue by the golden ratio keeps neighbours apart; saturation and value step against repetition.
    hue = number * 0.6180339887498949 % 1.0
    red, green, blue = colorsys.hsv_to_rgb(
        hue, (1.0, 0.7, 0.45)[number % 3], (1.0, 0.8, 0.6, 0.45)[number // 3 % 4]
    )
    return round(red * 255), round(green * 255), round(blue * 255)
