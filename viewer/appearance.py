"""How an entity is drawn: which shape, how large, in which colour."""

import colorsys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from diorama.ecs import Bounds, Classification, Effector, Entity, Sensor, World
from diorama.viewer.meshes import find_mesh, mesh_shape
from diorama.viewer.shapes import Color, Shape, shape

# The first shape one of whose words stands in the asset, the sensor type, the label or the name.
WORDS: dict[str, tuple[str, ...]] = {
    "tail_rotor": ("tail_rotor", "tailrotor"),
    "rotor": ("rotor", "propeller", "blade", "prop_"),
    "camera": ("camera", "rgb", "depth_sensor"),
    "lidar": ("lidar", "laser"),
    "helicopter": ("helicopter", "rotorcraft"),
    "evtol": ("evtol", "vtol", "aircraft", "airplane", "airframe"),
    "drone": ("drone", "quadrotor", "quadcopter", "multirotor", "uav"),
    "truck": ("truck", "bus", "lorry"),
    "car": ("car", "vehicle", "taxi", "rover", "sedan"),
    "hangar": ("hangar", "warehouse"),
    "tower": ("tower",),
    "building": ("building", "house", "office", "terminal"),
    "tree": ("tree", "pine", "oak"),
    "container": ("container", "crate"),
    "pole": ("pole", "lamp", "mast"),
    "pad": ("vertipad", "helipad", "pad"),
    "runway": ("runway", "taxiway"),
    "road": ("road", "street"),
}
# The colours of each kind; an entity's name picks one.
PALETTES: dict[str, tuple[Color, ...]] = {
    "evtol": ((46, 116, 214), (240, 120, 50), (38, 166, 142), (222, 72, 88), (138, 92, 214), (240, 180, 48)),
    "helicopter": ((208, 58, 64), (44, 92, 168), (242, 180, 56)),
    "car": ((200, 62, 58), (62, 112, 180), (236, 238, 240), (58, 66, 76), (236, 184, 72), (112, 158, 140)),
    "truck": ((70, 110, 170), (196, 96, 60)),
    "building": ((226, 219, 207), (206, 212, 219), (190, 199, 208), (233, 226, 216), (212, 200, 186)),
    "hangar": ((176, 188, 200), (190, 198, 206)),
    "tower": ((230, 233, 236),),
    "tree": ((84, 140, 86), (102, 156, 92), (74, 126, 82), (122, 164, 92)),
    "container": ((196, 88, 62), (58, 112, 156), (84, 140, 108), (214, 168, 76)),
    "pad": ((112, 122, 134),),
    "drone": ((52, 96, 168), (36, 140, 150), (86, 84, 178)),
    "camera": ((40, 44, 50),),
    "lidar": ((40, 160, 220),),
    "marker": ((90, 140, 200),),
    "box": ((170, 180, 192), (186, 178, 166), (160, 176, 172)),
}
GEOM = "#geom"  # how the names of a physics model's shapes end
ENDLESS = 40.0  # m; how much is drawn of a plane that has no end
PLAIN: Color = (170, 180, 192)
GOLDEN_RATIO = 0.618033988749895


@dataclass(frozen=True, slots=True)
class Appearance:
    """A shape, the box it fills in the entity's own axes (m), and a colour."""

    shape: Shape
    size: tuple[float, float, float]
    center: tuple[float, float, float]
    color: Color


def appearance(
    world: World, entity: Entity, *, by_segmentation: bool = False, folders: Sequence[Path] | None = None
) -> Appearance | None:
    """How to draw an entity; None for one that only holds others together.

    With `folders`, the meshes of assets are looked for there; without, no file is opened.
    """
    asset, name = world.asset(entity), world.name(entity)
    sensor, bounds = world.try_get(entity, Sensor), world.try_get(entity, Bounds)
    labelled, effector = world.try_get(entity, Classification), world.try_get(entity, Effector)
    geom = world.groups(entity).get("geom") if name.endswith(GEOM) else None
    if not (asset or bounds or labelled or sensor or effector or geom):
        return None
    told = [asset, effector.path if effector else "", sensor.type if sensor else ""]
    told += [labelled.label if labelled else "", name.rpartition("/")[2]]
    found = kind_of(told) or ("box" if bounds else "marker")
    color = segmentation_color(labelled, asset) if by_segmentation else kind_color(found, name)
    if geom and not by_segmentation:
        red, green, blue = (min(255, max(0, round(255 * float(channel)))) for channel in geom["rgba"][:3])
        color = red, green, blue
    if folders is not None and (path := find_mesh(asset, folders)) is not None:
        drawn = mesh_shape(path, geom is not None)
        if drawn is not None:
            return Appearance(drawn, drawn.size, drawn.center, color)
    if geom:
        return _geom(geom, color)
    drawn = shape(found)
    size, center = (bounds.size, bounds.center) if bounds else (drawn.size, drawn.center)
    return Appearance(drawn, size, center, color)


def _geom(geom: Mapping[str, Any], color: Color) -> Appearance | None:
    """A shape of a physics model, by its half sizes, or radius and half length."""
    kind, (x, y, z) = geom["type"], (*(float(value) for value in geom["size"]), 0.0, 0.0, 0.0)[:3]
    sizes = {
        "box": ("box", (2 * x, 2 * y, 2 * z)),
        "sphere": ("sphere", (2 * x, 2 * x, 2 * x)),
        "ellipsoid": ("sphere", (2 * x, 2 * y, 2 * z)),
        "cylinder": ("cylinder", (2 * x, 2 * x, 2 * y)),
        "capsule": ("capsule", (2 * x, 2 * x, 2 * (x + y))),
        "plane": ("box", (2 * x or ENDLESS, 2 * y or ENDLESS, 0.002)),
    }
    if kind not in sizes:
        return None
    name, size = sizes[kind]
    return Appearance(shape(name), size, (0.0, 0.0, 0.0), color)


def kind_of(told: list[str]) -> str | None:
    """The first kind whose word stands in one of the texts; earlier texts count more."""
    for text in told:
        low = text.lower()
        for kind, words in WORDS.items():
            if low and any(word in low for word in words):
                return kind
    return None


def kind_color(kind: str, name: str) -> Color:
    """A colour of the kind's palette, always the same for the same name."""
    palette = PALETTES.get(kind, (PLAIN,))
    return palette[crc32(name.encode()) % len(palette)]


def segmentation_color(labelled: Classification | None, asset: str) -> Color:
    """A colour for a segmentation id: near ids get colours far apart; without one, the label or asset decides."""
    if labelled is not None and labelled.segmentation_id is not None:
        number = labelled.segmentation_id
    else:
        number = crc32((labelled.label if labelled else asset).encode()) % 4096
    hue = (0.58 + number * GOLDEN_RATIO) % 1.0
    red, green, blue = colorsys.hls_to_rgb(hue, 0.46 + 0.14 * (number % 3) / 2, 0.72)
    return round(255 * red), round(255 * green), round(255 * blue)
