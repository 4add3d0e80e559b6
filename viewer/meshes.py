"""Shapes out of files: glTF, OBJ, STL and whatever else trimesh reads, when they are there. The only home of trimesh.

Files know nothing of our axes. A glTF looks along +z with y up, as its standard says; the others are taken to look
along +x with z up, as robots' meshes do.
"""

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.geo import AXES
from diorama.viewer.shapes import Color, Shape, fitted
from diorama.viewer.solids import Mesh

Floats = NDArray[np.float64]
SUFFIXES = (".glb", ".gltf", ".obj", ".stl", ".ply", ".dae", ".off")
GLTF_SUFFIXES = (".glb", ".gltf")
MOST_BYTES = 200_000_000
log = logging.getLogger("diorama.viewer")


def find_mesh(asset: str, folders: Sequence[Path]) -> Path | None:
    """The file of an asset: where its path says, or below one of the folders."""
    if not asset.lower().endswith(SUFFIXES):
        return None
    path = Path(asset)
    places = [path] if path.is_absolute() else [folder / path for folder in folders]
    return next((place for place in places if place.is_file()), None)


@lru_cache(maxsize=256)
def mesh_shape(path: Path, own_axes: bool = False) -> Shape | None:
    """The shape in a file, in forward-right-down axes (`own_axes`: as it is); None, and a warning, if unreadable."""
    try:
        import trimesh

        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"expected at most {MOST_BYTES} bytes")
        scene: Any = trimesh.load_scene(path)
        parts: list[tuple[Mesh, Color | None]] = []
        for piece in scene.dump():
            if len(getattr(piece, "faces", ())):
                vertices = np.asarray(piece.vertices, np.float64)
                if not own_axes:
                    vertices = _frd(vertices, path.suffix.lower())
                parts.append((Mesh(vertices, np.asarray(piece.faces, np.uint32)), _color(piece)))
        if not parts:
            raise ValueError("there are no triangles in it")
        return fitted(str(path), parts)
    except Exception as problem:  # trimesh and its readers raise whatever they like
        log.warning("%s: cannot be drawn: %s", path, problem)
        return None


def _frd(vertices: Floats, suffix: str) -> Floats:
    axes = AXES["gltf"] if suffix in GLTF_SUFFIXES else AXES["enu"]
    return axes.child.ned_points(vertices)


def _color(piece: object) -> Color | None:
    """The main colour of a piece; None where the file gives none, or only the reader's own grey."""
    visual = getattr(piece, "visual", None)
    if visual is None or not getattr(visual, "defined", False):
        return None
    try:
        main = getattr(visual, "main_color", None)
        if main is None:
            main = visual.material.main_color
        red, green, blue = (int(channel) for channel in main[:3])
    except (AttributeError, TypeError, ValueError):
        return None
    return red, green, blue
