"""Pictures of a scene for reports and tests, without a browser: in perspective and from above. Needs matplotlib."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import World
from diorama.geo.rotation import rotate
from diorama.schemas.errors import missing_extra
from diorama.viewer.appearance import Appearance, appearance
from diorama.viewer.shapes import shape

try:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
except ImportError:
    missing_extra("plot", "a picture of the scene")

Floats = NDArray[np.float64]
MOST_FACES = 150_000  # beyond, everything is drawn as a box
FLAT = 0.6  # m; what is lower is ground, and is drawn first
SUN = np.array([-0.35, -0.5, -0.79])  # where light comes from, NED
SKY, GROUND = "#dbe9f6", "#dde6d8"


@dataclass(frozen=True, slots=True)
class Triangles:
    """Everything there is to draw: corners (n, 3, 3) in NED metres, colours (n, 3) from 0 to 1.

    `order` (n, 3) says what covers what: ground comes before the rest, then entities by number, then their parts.
    """

    corners: Floats
    color: Floats
    order: NDArray[np.intp]


def shot(world: World, path: str | Path, *, width: float = 14.0, height: float = 6.6, dpi: int = 110) -> None:
    """Draw a world in perspective beside a plan from above, into a picture file (inches, dots an inch)."""
    triangles = triangles_of(world)
    figure = Figure((width, height), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(1, 2, width_ratios=(1.7, 1.0))
    draw_perspective(figure.add_subplot(grid[0]), triangles)
    draw_plan(figure.add_subplot(grid[1]), triangles)
    if world.origin is not None:
        latitude, longitude, altitude = world.origin.lla
        figure.suptitle(
            f"{len(world)} entities at {latitude:.6f}°, {longitude:.6f}°, {altitude:g} m", fontsize=11
        )
    figure.savefig(path, dpi=dpi)


def triangles_of(world: World) -> Triangles:
    """All triangles of a world, or the boxes around its entities when they would be too many."""
    looks = [
        (entity, look)
        for entity in world.entities.tolist()
        if (look := appearance(world, entity)) is not None
    ]
    faces = sum(len(part.mesh.faces) for _, look in looks for part in look.shape.parts)
    corners, colors, order = [np.zeros((0, 3, 3))], [np.zeros((0, 3))], [np.zeros((0, 3), np.intp)]
    for number, (entity, look) in enumerate(looks):
        drawn = look if faces <= MOST_FACES else Appearance(shape("box"), look.size, look.center, look.color)
        pose = world.table.pose[world.row(entity)]
        stands = not (abs(drawn.size[2] * pose[9]) < FLAT and drawn.size[0] * pose[7] > 4 * FLAT)
        for index, part in enumerate(drawn.shape.parts):
            local = pose[7:10] * (np.array(drawn.center) + part.mesh.vertices * np.array(drawn.size))
            placed = pose[0:3] + rotate(pose[3:7], local)
            corners.append(placed[part.mesh.faces])
            color = np.array(drawn.color if part.color is None else part.color) / 255.0
            colors.append(np.broadcast_to(color, (len(part.mesh.faces), 3)))
            order.append(np.tile((int(stands), number, index), (len(part.mesh.faces), 1)))
    return Triangles(np.concatenate(corners), np.concatenate(colors), np.concatenate(order))


def draw_perspective(
    axes: Axes, triangles: Triangles, *, place: ArrayLike | None = None, target: ArrayLike | None = None
) -> None:
    """Draw as a camera sees it, from the south and above unless told otherwise (NED m)."""
    middle, radius = _extent(triangles.corners)
    goal = middle if target is None else np.asarray(target, np.float64)
    eye = goal + radius * np.array([-0.95, -0.5, -0.5]) if place is None else np.asarray(place, np.float64)
    ahead = (goal - eye) / np.linalg.norm(goal - eye)
    right = np.cross(ahead, (0.0, 0.0, -1.0))
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    normal = _normals(triangles.corners)
    seen = (triangles.corners - eye) @ np.stack([right, up, ahead], axis=1)
    depth = seen[..., 2]
    outside = np.einsum("ij,ij->i", normal, triangles.corners[:, 0] - eye) < 0.0
    there = (depth > 0.01 * radius).all(axis=1) & outside
    flat = seen[there, :, :2] / depth[there][..., None]
    stands, number, part = triangles.order[there].T
    near = depth[there].mean(axis=1)
    of_entity = np.bincount(number, near, len(near) + 1) / np.maximum(
        np.bincount(number, minlength=len(near) + 1), 1
    )
    order = np.lexsort((-near, part, -of_entity[number], stands))
    _fill(axes, flat[order], _lit(triangles.color[there], normal[there])[order])
    level = np.hypot(ahead[0], ahead[1])
    horizon = float(up[:2] @ ahead[:2] / level / level) if level > 1e-6 else 9.0
    axes.set(xlim=(-0.62, 0.62), ylim=(-0.42, 0.42), xticks=[], yticks=[], aspect="equal", facecolor=SKY)
    axes.axhspan(-9.0, horizon, color=GROUND, zorder=0)
    for side in axes.spines.values():
        side.set_visible(False)


def draw_plan(axes: Axes, triangles: Triangles) -> None:
    """Draw from above: east to the right, north up, metres."""
    normal = _normals(triangles.corners)
    above = normal[:, 2] < 0.0
    corners = triangles.corners[above]
    order = np.argsort(-corners[..., 2].mean(axis=1), kind="stable")
    _fill(axes, corners[order][..., [1, 0]], _lit(triangles.color[above], normal[above])[order])
    middle, radius = _extent(triangles.corners)
    axes.set(xlabel="east (m)", ylabel="north (m)", aspect="equal", facecolor=GROUND)
    axes.set(xlim=(middle[1] - radius, middle[1] + radius), ylim=(middle[0] - radius, middle[0] + radius))
    axes.grid(color="white", linewidth=0.6)
    axes.set_axisbelow(True)


def _fill(axes: Axes, polygons: Any, colors: Floats) -> None:
    axes.add_collection(
        PolyCollection(polygons, facecolors=colors, edgecolors=colors, linewidths=0.2, zorder=2)
    )


def _normals(corners: Floats) -> Floats:
    """Unit vectors (n, 3) that point out of triangles."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    unit: Floats = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    return unit


def _lit(color: Floats, normal: Floats) -> Floats:
    """Colours with light and shade."""
    facing = 0.5 + 0.5 * normal @ (SUN / np.linalg.norm(SUN))
    lit: Floats = np.clip(color * (0.5 + 0.55 * facing)[:, None], 0.0, 1.0)
    return lit


def _extent(corners: Floats) -> tuple[Floats, float]:
    """The middle of a scene and how far it reaches, without the farthest twentieth."""
    if not len(corners):
        return np.zeros(3), 10.0
    low, high = np.percentile(corners.reshape(-1, 3), [5, 95], axis=0)
    return 0.5 * (low + high), max(1.0, 0.5 * float(np.linalg.norm(high - low)))
