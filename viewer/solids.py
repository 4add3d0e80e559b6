"""Simple solids as triangles, in forward-right-down axes: what the shapes of the viewer are put together from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Faces = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Mesh:
    """Triangles: vertices (n, 3) in metres, faces (m, 3) counter-clockwise seen from outside."""

    vertices: Floats
    faces: Faces

    def moved(self, by: ArrayLike) -> "Mesh":
        """The same, somewhere else."""
        return Mesh(self.vertices + np.asarray(by, np.float64), self.faces)


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + np.uint32(start) for mesh, start in zip(meshes, starts[:-1], strict=True)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def box(size: ArrayLike, center: ArrayLike = (0.0, 0.0, 0.0)) -> Mesh:
    """A box, by its size along forward, right, down."""
    return frustum(size, (1.0, 1.0), center)


def band(size: ArrayLike, center: ArrayLike = (0.0, 0.0, 0.0)) -> Mesh:
    """The four sides of a box, without bottom and top."""
    whole = box(size, center)
    upright = np.ptp(whole.vertices[whole.faces][..., 2], axis=1) > 0.0
    return Mesh(whole.vertices, whole.faces[upright])


def frustum(size: ArrayLike, top: tuple[float, float], center: ArrayLike = (0.0, 0.0, 0.0)) -> Mesh:
    """A box whose top is `top` times as long and wide as its bottom, such as the cabin of a car."""
    low = np.array([(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)], np.float64)
    high = low * (*top, -1.0)
    corners = np.concatenate([low, high]) * 0.5 * np.asarray(size, np.float64)
    quads = [(3, 2, 1, 0), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
    return hull(corners, quads).moved(center)


def tube(
    sections: Sequence[tuple[float, float, float, float]],
    *,
    sides: int = 16,
    axis: int = 2,
    shift: float = 0.0,
) -> Mesh:
    """Stacked ellipses along an axis: (place on it, half width, half height, rise) each, closed at both ends.

    The half axes lie along the other two axes in the order forward, right, down; `rise` moves an ellipse along the
    last of them.
    """
    others = [other for other in range(3) if other != axis]
    angle = np.arange(sides) * 2 * np.pi / sides + shift
    rings = np.zeros((len(sections), sides, 3))
    for ring, (place, a, b, rise) in zip(rings, sections, strict=True):
        ring[:, axis] = place
        ring[:, others[0]] = a * np.cos(angle)
        ring[:, others[1]] = b * np.sin(angle) + rise
    vertices = rings.reshape(-1, 3)
    quads = []
    for level in range(len(sections) - 1):
        for side in range(sides):
            here, there = level * sides + side, level * sides + (side + 1) % sides
            quads.append((here, there, there + sides, here + sides))
    ends = [tuple(range(sides)), tuple(range(len(vertices) - sides, len(vertices)))]
    return hull(vertices, [*quads, *ends])


def cylinder(radius: float, height: float, center: ArrayLike = (0.0, 0.0, 0.0), *, sides: int = 24) -> Mesh:
    """An upright cylinder."""
    return tube([(0.5 * height, radius, radius, 0), (-0.5 * height, radius, radius, 0)], sides=sides).moved(
        center
    )


def cone(radius: float, height: float, base: ArrayLike = (0.0, 0.0, 0.0), *, sides: int = 9) -> Mesh:
    """An upright cone that stands on its base."""
    return tube([(0.0, radius, radius, 0), (-height, 0.01 * radius, 0.01 * radius, 0)], sides=sides).moved(
        base
    )


def ball(radii: ArrayLike, center: ArrayLike = (0.0, 0.0, 0.0), *, sides: int = 14, rings: int = 9) -> Mesh:
    """An ellipsoid with its poles ahead and behind."""
    a, b, c = np.asarray(radii, np.float64)
    tilt = np.linspace(-0.97, 0.97, rings) * np.pi / 2
    sections = [(a * np.sin(t), b * np.cos(t), c * np.cos(t), 0.0) for t in tilt.tolist()]
    return tube(sections, sides=sides, axis=0).moved(center)


def wing(span: float, root: float, tip: float, *, sweep: float = 0.0, thickness: float = 0.16) -> Mesh:
    """A wing from tip to tip through the origin, tapered and swept back."""
    outline = [(-0.5 * span, tip, -sweep), (0.0, root, 0.0), (0.5 * span, tip, -sweep)]
    sections = [(place, 0.5 * chord, 0.5 * thickness, 0.0) for place, chord, _ in outline]
    mesh = tube(sections, sides=10, axis=1)
    mesh.vertices[:, 0] -= sweep * np.abs(mesh.vertices[:, 1]) / (0.5 * span)
    return mesh


def hull(vertices: Floats, polygons: Sequence[tuple[int, ...]]) -> Mesh:
    """Convex polygons cut into triangles that face away from the middle of the solid."""
    faces = np.array(
        [
            (polygon[0], polygon[i], polygon[i + 1])
            for polygon in polygons
            for i in range(1, len(polygon) - 1)
        ],
        np.uint32,
    )
    first, second, third = (vertices[faces[:, i]] for i in range(3))
    normal = np.cross(second - first, third - first)
    faces = faces[np.linalg.norm(normal, axis=1) > 1e-12]
    first, second, third = (vertices[faces[:, i]] for i in range(3))
    normal = np.cross(second - first, third - first)
    inward = np.einsum("ij,ij->i", normal, (first + second + third) / 3 - vertices.mean(axis=0)) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Mesh(vertices, faces)
