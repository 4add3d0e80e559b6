"""What things look like when there is no file to look in: shapes by name, in a few colours each.

A shape fills the box from -½ to ½ along forward, right, down, and is stretched to the bounds of its entity; one
without bounds gets the size the shape was made in. Which shape an entity gets is said in `appearance`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from diorama.viewer.solids import Mesh, ball, band, box, cone, cylinder, frustum, hull, joined, tube, wing

Color = tuple[int, int, int]
Parts = list[tuple[Mesh, Color | None]]

WHITE, LIGHT, GREY, DARK, GLASS = (
    (244, 246, 248),
    (214, 220, 226),
    (150, 158, 168),
    (52, 58, 66),
    (38, 62, 84),
)
WINDOWS, TRUNK, ASPHALT, PAINT = (96, 122, 148), (122, 92, 66), (90, 92, 96), (250, 250, 250)


@dataclass(frozen=True, slots=True)
class Part:
    """Triangles of one colour; None takes the colour of the entity."""

    mesh: Mesh
    color: Color | None


@dataclass(frozen=True, slots=True)
class Shape:
    """Parts in the unit box, and the size and centre (m) they were made in."""

    name: str
    parts: tuple[Part, ...]
    size: tuple[float, float, float]
    center: tuple[float, float, float]


def fitted(name: str, parts: Sequence[tuple[Mesh, Color | None]]) -> Shape:
    """A shape from parts in metres, brought into the unit box."""
    everything = np.concatenate([mesh.vertices for mesh, _ in parts])
    low, high = everything.min(axis=0), everything.max(axis=0)
    size, center = np.maximum(high - low, 1e-6), 0.5 * (low + high)
    made = tuple(Part(Mesh((mesh.vertices - center) / size, mesh.faces), color) for mesh, color in parts)
    return Shape(name, made, tuple(size.tolist()), tuple(center.tolist()))


@cache
def shape(name: str) -> Shape:
    """The shape of that name, one of SHAPES."""
    return fitted(name, SHAPES[name]())


def _box() -> Parts:
    return [(box((1.0, 1.0, 1.0)), None)]


def _evtol() -> Parts:
    body = tube(
        [
            (-4.6, 0.10, 0.12, -0.75),
            (-3.0, 0.32, 0.34, -0.55),
            (-0.9, 0.80, 0.82, -0.15),
            (1.0, 0.98, 0.98, 0.0),
            (2.6, 0.86, 0.80, 0.08),
            (3.7, 0.45, 0.42, 0.16),
            (4.1, 0.10, 0.10, 0.2),
        ],
        axis=0,
    )
    booms = [
        tube(
            [
                (-3.5, 0.08, 0.1, -1.25),
                (-2, 0.17, 0.18, -1.25),
                (2, 0.17, 0.18, -1.25),
                (3.1, 0.06, 0.08, -1.3),
            ],
            axis=0,
        ).moved((0.0, side, 0.0))
        for side in (-3.6, 3.6)
    ]
    wings = wing(9.6, 1.45, 0.85, sweep=0.35).moved((-0.1, 0.0, -0.95))
    tail = [
        wing(3.2, 0.8, 0.5, sweep=0.5, thickness=0.1).moved((-4.2, 0.0, -1.5)),
        box((0.7, 0.1, 1.1), (-4.25, 0, -1.1)),
    ]
    glass = ball((1.15, 0.80, 0.62), (2.1, 0.0, -0.36))
    skids = [box((2.6, 0.14, 0.14), (0.4, side, 1.3)) for side in (-0.8, 0.8)]
    skids += [box((0.12, 0.12, 0.6), (x, side, 1.0)) for side in (-0.8, 0.8) for x in (-0.4, 1.2)]
    return [
        (joined([body]), WHITE),
        (joined([wings, *booms, *tail]), None),
        (glass, GLASS),
        (joined(skids), DARK),
    ]


def _helicopter() -> Parts:
    cabin = ball((2.3, 1.15, 1.25), (0.9, 0.0, 0.0))
    boom = tube([(-7.3, 0.12, 0.14, -0.75), (-3.0, 0.3, 0.34, -0.45), (-0.6, 0.7, 0.75, -0.2)], axis=0)
    mast = box((0.9, 0.5, 0.9), (0.2, 0.0, -1.45))
    fin = [
        box((0.9, 0.1, 1.5), (-7.2, 0.0, -1.3)),
        wing(2.4, 0.6, 0.45, thickness=0.08).moved((-6.0, 0.0, -0.7)),
    ]
    glass = ball((1.25, 1.0, 0.95), (2.15, 0.0, -0.12))
    skids = [box((3.6, 0.14, 0.14), (0.6, side, 1.75)) for side in (-1.0, 1.0)]
    skids += [box((0.1, 0.1, 0.7), (x, side, 1.4)) for side in (-0.9, 0.9) for x in (-0.4, 1.5)]
    return [(joined([cabin, boom, *fin]), None), (joined([mast, *skids]), DARK), (glass, GLASS)]


def _rotor() -> Parts:
    blade = wing(2.0, 0.17, 0.12, thickness=0.03)
    turned = Mesh(blade.vertices[:, [1, 0, 2]] * (1.0, -1.0, 1.0), blade.faces)
    return [(joined([turned]), DARK), (cylinder(0.12, 0.12, sides=10), GREY)]


def _tail_rotor() -> Parts:
    blade = box((1.9, 0.06, 0.22))
    cross = Mesh(blade.vertices[:, [2, 1, 0]] * (1.0, 1.0, -1.0), blade.faces)
    return [(joined([blade, cross]), DARK)]


def _drone() -> Parts:
    arms = [(x, y) for x in (-0.32, 0.32) for y in (-0.32, 0.32)]
    discs = [cylinder(0.24, 0.04, (x, y, -0.1), sides=5) for x, y in arms]
    return [(joined([frustum((0.8, 0.3, 0.18), (0.6, 0.6)), *discs]), None)]


def _wheels(length: float, width: float, radius: float) -> Mesh:
    places = [(x, y) for x in (-0.31 * length, 0.31 * length) for y in (-0.46 * width, 0.46 * width)]
    wheel = tube([(-0.12, radius, radius, 0.0), (0.12, radius, radius, 0.0)], sides=12, axis=1)
    return joined([wheel.moved((x, y, -radius)) for x, y in places])


def _car() -> Parts:
    body = joined(
        [
            frustum((4.5, 1.85, 0.62), (0.97, 0.93), (0, 0, -0.66)),
            frustum((2.5, 1.6, 0.06), (1, 1), (-0.25, 0, -1.48)),
        ]
    )
    cabin = frustum((2.9, 1.7, 0.52), (0.68, 0.84), (-0.2, 0.0, -1.22))
    return [(body, None), (cabin, GLASS), (_wheels(4.5, 1.85, 0.36), DARK)]


def _truck() -> Parts:
    load = box((5.6, 2.5, 2.4), (-1.3, 0.0, -1.9))
    cab = frustum((2.0, 2.4, 2.1), (0.85, 0.95), (3.0, 0.0, -1.6))
    window = box((0.1, 2.0, 0.8), (3.95, 0.0, -2.0))
    return [(load, LIGHT), (cab, None), (window, GLASS), (_wheels(8.0, 2.5, 0.5), DARK)]


def _building() -> Parts:
    floors = [band((1.012, 1.012, 0.055), (0.0, 0.0, 0.5 - z)) for z in (0.14, 0.28, 0.42, 0.56, 0.70, 0.84)]
    roof = box((0.4, 0.35, 0.03), (0.1, 0.05, -0.505))
    return [(joined([box((1.0, 1.0, 1.0))]), None), (joined(floors), WINDOWS), (roof, GREY)]


def _hangar() -> Parts:
    angle = np.linspace(0.0, np.pi, 13)
    arch = np.column_stack([np.cos(angle) * 0.5, 0.25 - 0.75 * np.sin(angle)])
    arch = np.concatenate([[(0.5, 0.5)], arch, [(-0.5, 0.5)]])
    front = np.column_stack([np.full(len(arch), 0.5), arch])
    back = front * (-1.0, 1.0, 1.0)
    count = len(arch)
    quads = [(i, (i + 1) % count, count + (i + 1) % count, count + i) for i in range(count)]
    body = hull(np.concatenate([front, back]), [*quads, tuple(range(count)), tuple(range(count, 2 * count))])
    return [(body, None), (box((0.01, 0.66, 0.7), (0.505, 0.0, 0.15)), GREY)]


def _tower() -> Parts:
    shaft = tube([(0.0, 3.0, 3.0, 0.0), (-36.0, 2.2, 2.2, 0.0)], sides=12)
    deck = tube([(-36.0, 3.0, 3.0, 0.0), (-38.0, 5.4, 5.4, 0.0), (-39.0, 5.6, 5.6, 0.0)], sides=12)
    cab = tube([(-39.0, 4.6, 4.6, 0.0), (-43.0, 5.6, 5.6, 0.0)], sides=12)
    roof = tube([(-43.0, 6.0, 6.0, 0.0), (-44.0, 5.4, 5.4, 0.0)], sides=12)
    return [(joined([shaft, deck, roof, cylinder(0.15, 3.0, (0, 0, -45.5), sides=6)]), None), (cab, GLASS)]


def _tree() -> Parts:
    trunk = tube([(0.0, 0.28, 0.28, 0.0), (-3.2, 0.2, 0.2, 0.0)], sides=7)
    crown = [cone(3.1, 4.6, (0, 0, -2.2)), cone(2.5, 4.0, (0, 0, -4.8)), cone(1.8, 3.4, (0, 0, -7.2))]
    return [(trunk, TRUNK), (joined(crown), None)]


def _container() -> Parts:
    ribs = [box((0.12, 2.46, 2.5), (x, 0.0, 0.0)) for x in np.linspace(-5.4, 5.4, 9).tolist()]
    return [(joined([box((12.2, 2.4, 2.6)), *ribs]), None)]


def _pole() -> Parts:
    lamp = box((1.6, 0.3, 0.12), (0.7, 0.0, -8.9))
    return [(joined([cylinder(0.09, 9.0, (0, 0, -4.5), sides=6), lamp]), GREY)]


def _pad() -> Parts:
    ring = joined([_ring(0.44, 0.40, -0.52)])
    letter = joined(
        [box((0.34, 0.06, 0.05), (0, y, -0.52)) for y in (-0.11, 0.11)]
        + [box((0.06, 0.2, 0.05), (0, 0, -0.52))]
    )
    return [(cylinder(0.5, 1.0, sides=32), None), (joined([ring, letter]), PAINT)]


def _ring(outer: float, inner: float, height: float) -> Mesh:
    angle = np.arange(40) * 2 * np.pi / 40
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(40)])
    vertices = np.concatenate([circle * outer, circle * inner])
    vertices[:, 2] = height
    here = np.arange(40, dtype=np.uint32)
    there = (here + 1) % 40
    # Seen from above (down is +z), counter-clockwise runs against the angle.
    faces = np.concatenate(
        [np.column_stack([here, here + 40, there]), np.column_stack([there, here + 40, there + 40])]
    )
    return Mesh(vertices, faces.astype(np.uint32))


def _runway() -> Parts:
    dashes = [box((0.014, 0.02, 0.4), (x, 0.0, -0.4)) for x in np.linspace(-0.44, 0.44, 27).tolist()]
    stripes = [
        box((0.02, 0.05, 0.4), (x, y, -0.4))
        for x in (-0.475, 0.475)
        for y in np.linspace(-0.4, 0.4, 8).tolist()
    ]
    edges = [box((0.99, 0.012, 0.4), (0.0, y, -0.4)) for y in (-0.47, 0.47)]
    return [(box((1.0, 1.0, 1.0)), ASPHALT), (joined([*dashes, *stripes, *edges]), PAINT)]


def _road() -> Parts:
    return [(box((1.0, 1.0, 1.0)), ASPHALT)]


def _camera() -> Parts:
    lens = tube([(0.25, 0.13, 0.13, 0.0), (0.5, 0.2, 0.2, 0.0)], sides=12, axis=0)
    return [(joined([box((0.6, 0.4, 0.4))]), None), (lens, GLASS)]


def _lidar() -> Parts:
    return [
        (joined([cylinder(0.2, 0.12, (0, 0, 0.12)), cylinder(0.2, 0.12, (0, 0, -0.12))]), DARK),
        (cylinder(0.18, 0.12), None),
    ]


def _marker() -> Parts:
    """An arrow that shows which way is forward, for what nothing is known about."""
    return [
        (
            joined(
                [frustum((0.9, 0.5, 0.3), (0.6, 0.6), (-0.15, 0, 0)), ball((0.3, 0.12, 0.12), (0.45, 0, 0))]
            ),
            None,
        )
    ]


def _sphere() -> Parts:
    return [(ball((0.5, 0.5, 0.5), sides=18, rings=13), None)]


def _cylinder() -> Parts:
    return [(cylinder(0.5, 1.0), None)]


def _capsule() -> Parts:
    tilt = np.linspace(0.05, 0.5, 5) * np.pi
    cap = [(0.25 + 0.25 * np.cos(t), 0.5 * np.sin(t), 0.5 * np.sin(t), 0.0) for t in tilt.tolist()]
    return [(tube([*cap, *((-place, a, b, rise) for place, a, b, rise in reversed(cap))], sides=18), None)]


SHAPES: dict[str, Callable[[], Parts]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "evtol": _evtol,
    "helicopter": _helicopter,
    "rotor": _rotor,
    "tail_rotor": _tail_rotor,
    "drone": _drone,
    "car": _car,
    "truck": _truck,
    "building": _building,
    "hangar": _hangar,
    "tower": _tower,
    "tree": _tree,
    "container": _container,
    "pole": _pole,
    "pad": _pad,
    "runway": _runway,
    "road": _road,
    "camera": _camera,
    "lidar": _lidar,
    "marker": _marker,
}
